/* cluster.c: the lifecycle of Ray nodes, and the GCS that reports them. */
#include "sim/cluster.h"

#include "base/panic.h"
#include "sim/cluster_internal.h"

enum {
    REGISTER_LEAST = 1000, /* until a raylet finds a GCS that was down */
    REGISTER_MOST = 40000,
    MISS_LEAST = 10000, /* until the GCS declares a machine dead */
    MISS_MOST = 60000,
    EXIT_LEAST = 1000, /* until a drained raylet exits */
    EXIT_MOST = 5000,
    RAYLET_LOST_PERMILLE = 10, /* raylets that do not register again with an empty GCS */
};

/* ---- bookkeeping ---------------------------------------------------------------------------- */

void cluster_account(struct cluster *cluster)
{
    int64_t span = cluster->event_queue->now - cluster->accounted_at;
    cluster->busy_ms += cluster->busy * span;
    cluster->alive_ms += cluster->alive * span;
    cluster->accounted_at = cluster->event_queue->now;
}

static bool is_counted(const struct cluster *cluster, uint32_t node)
{
    return cluster->nodes[node].instance != cluster->head;
}

static void count_busy(struct cluster *cluster, uint32_t node, int64_t more)
{
    if (is_counted(cluster, node)) {
        cluster_account(cluster);
        cluster->busy += more;
    }
}

static void count_alive(struct cluster *cluster, uint32_t node, int64_t more)
{
    if (is_counted(cluster, node)) {
        cluster_account(cluster);
        cluster->alive += more;
    }
}

/* Removes a node from the list of changes. */
static void unlink_change(struct cluster *cluster, uint32_t index)
{
    struct cluster_node *node = &cluster->nodes[index];
    if (node->newer != NO_INDEX) {
        cluster->nodes[node->newer].older = node->older;
    } else {
        cluster->newest_node = node->older;
    }
    if (node->older != NO_INDEX) {
        cluster->nodes[node->older].newer = node->newer;
    }
}

static void link_change(struct cluster *cluster, uint32_t index)
{
    struct cluster_node *node = &cluster->nodes[index];
    node->newer = NO_INDEX;
    node->older = cluster->newest_node;
    if (node->older != NO_INDEX) {
        cluster->nodes[node->older].newer = index;
    }
    cluster->newest_node = index;
}

void node_touch(struct cluster *cluster, uint32_t index)
{
    cluster->nodes[index].changed = ++cluster->changes;
    if (cluster->newest_node != index) {
        unlink_change(cluster, index);
        link_change(cluster, index);
    }
}

static void set_status(struct cluster *cluster, uint32_t index, enum ray_status status)
{
    if (cluster->nodes[index].status != status) {
        cluster->nodes[index].status = status;
        node_touch(cluster, index);
    }
}

static void add_later(struct cluster *cluster, int64_t least, int64_t most,
                      enum event_queue_kind kind, const struct cluster_node *node)
{
    int64_t at = cluster->event_queue->now + rng_between(&cluster->rng, least, most);
    event_queue_add(cluster->event_queue, at, kind, 0, node->instance, node->life);
}

struct cluster_sought {
    const struct cluster *cluster;
    uint64_t instance;
};

static bool is_sought(const void *context, size_t position)
{
    const struct cluster_sought *sought = context;
    return sought->cluster->nodes[position].instance == sought->instance;
}

static uint32_t cluster_find_node(const struct cluster *cluster, uint64_t instance)
{
    struct cluster_sought sought = {cluster, instance};
    size_t position = table_find(&cluster->index, instance, is_sought, &sought);
    return position == TABLE_NONE ? NO_INDEX : (uint32_t)position;
}

const struct cluster_node *cluster_find(const struct cluster *cluster, uint64_t instance)
{
    uint32_t index = cluster_find_node(cluster, instance);
    return index == NO_INDEX ? NULL : &cluster->nodes[index];
}

/* ---- joining and dying ---------------------------------------------------------------------- */

static uint32_t cluster_add_node(struct cluster *cluster, uint64_t instance, uint32_t type)
{
    if (type >= cluster->type_count || cluster->node_count >= NO_INDEX) {
        panic("cluster: node of type %u", (unsigned)type);
    }
    place_grow(cluster);
    ARENA_GROW(cluster->arena, cluster->nodes, cluster->node_count, cluster->node_capacity);
    uint32_t index = (uint32_t)cluster->node_count++;
    table_add(&cluster->index, cluster->arena, instance, index);
    cluster->nodes[index] = (struct cluster_node){
        .instance = instance,
        .type = type,
        .total = cluster->totals[type],
        .free = ARENA_ARRAY(cluster->arena, cluster->total_counts[type], int64_t),
        .changed = ++cluster->changes, /* the list is ordered by it, so every node needs one */
        .newest_run = NO_INDEX};
    link_change(cluster, index);
    return index;
}

static void cluster_enter(struct cluster *cluster, uint32_t index)
{
    struct cluster_node *node = &cluster->nodes[index];
    set_status(cluster, index, node->is_draining ? RAY_DRAINING : RAY_ALIVE);
    place_offer(cluster, index);
}

void cluster_join(struct cluster *cluster, uint64_t instance, uint32_t type)
{
    uint32_t index = cluster_find_node(cluster, instance);
    if (index == NO_INDEX) {
        index = cluster_add_node(cluster, instance, type);
    }
    struct cluster_node *node = &cluster->nodes[index];
    if (node->is_alive) {
        return;
    }
    node->is_alive = true;
    node->is_draining = false;
    node->accepted_idle_drain = false;
    node->drain_until = 0;
    node->has_worked = false;
    node->idle_since = cluster->event_queue->now;
    node->life++;
    for (size_t i = 0; i < cluster->total_counts[node->type]; i++) {
        node->free[i] = node->total[i];
    }
    count_alive(cluster, index, 1);
    if (cluster->is_gcs_up) {
        node_touch(cluster, index); /* the GCS may still list the previous raylet as alive */
        cluster_enter(cluster, index);
    } else {
        set_status(cluster, index, RAY_ABSENT);
    }
}

/* The raylet has exited; the GCS may not know that yet. */
static void end_raylet(struct cluster *cluster, uint32_t index)
{
    struct cluster_node *node = &cluster->nodes[index];
    if (node->running > 0) {
        count_busy(cluster, index, -1);
    }
    count_alive(cluster, index, -1);
    node->is_alive = false;
    place_throw_back(cluster, index);
    place_all(cluster);
}

void cluster_lose(struct cluster *cluster, uint64_t instance)
{
    uint32_t index = cluster_find_node(cluster, instance);
    if (index == NO_INDEX || !cluster->nodes[index].is_alive) {
        return;
    }
    end_raylet(cluster, index);
    add_later(cluster, MISS_LEAST, MISS_MOST, EVENT_QUEUE_DEATH_SEEN, &cluster->nodes[index]);
}

static void see_death(struct cluster *cluster, uint32_t index)
{
    struct cluster_node *node = &cluster->nodes[index];
    if (node->is_alive || node->status == RAY_ABSENT) {
        return;
    }
    if (cluster->is_gcs_up) {
        set_status(cluster, index, RAY_DEAD);
    } else {
        add_later(cluster, MISS_LEAST, MISS_MOST, EVENT_QUEUE_DEATH_SEEN, node);
    }
}

/* ---- work and drains ------------------------------------------------------------------------ */

static void exit_if_drained(struct cluster *cluster, const struct cluster_node *node)
{
    if (node->is_draining && node->running == 0) {
        add_later(cluster, EXIT_LEAST, EXIT_MOST, EVENT_QUEUE_RAYLET_EXIT, node);
    }
}

void node_set_busy(struct cluster *cluster, uint32_t index, bool is_busy)
{
    struct cluster_node *node = &cluster->nodes[index];
    count_busy(cluster, index, is_busy ? 1 : -1);
    node->has_worked |= is_busy;
    node->idle_since = is_busy ? NOT_IDLE : cluster->event_queue->now;
    exit_if_drained(cluster, node);
}

/* Deregisters the node; while the GCS is down, its death is noticed later. */
static void exit_raylet(struct cluster *cluster, uint32_t index)
{
    if (!cluster->nodes[index].is_alive) {
        return;
    }
    end_raylet(cluster, index);
    see_death(cluster, index);
}

/*
 * A task of the next arrival comes early and is placed here. Pending work cannot be used: it would
 * have started on an idle node already.
 */
static void bring_work_forward(struct cluster *cluster, uint32_t index)
{
    size_t count = cluster->workload->class_count;
    size_t from = (size_t)rng_below(&cluster->rng, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        size_t class = (from + i) % count;
        struct cluster_queue *queue = &cluster->queues[class];
        if (queue->work->gang == GANG_NONE && queue->next_at != NEVER && queue->next_count > 0 &&
            cluster->figures[class].arrived > 0 && queue->waiting == 0 &&
            place_fits(cluster, queue, index)) {
            queue->next_count--;
            cluster->figures[class].arrived++;
            queue_push_back(cluster, queue, 1);
            place_on(cluster, queue, index);
            return;
        }
    }
}

enum drain_answer cluster_drain(struct cluster *cluster, uint64_t instance, bool is_rejectable,
                                int64_t until)
{
    uint32_t index = cluster_find_node(cluster, instance);
    if (!cluster->is_gcs_up) {
        return DRAIN_UNKNOWN;
    }
    if (index == NO_INDEX || !cluster->nodes[index].is_alive ||
        cluster->nodes[index].status == RAY_ABSENT) {
        return DRAIN_REFUSED;
    }
    if (is_rejectable && fault_strikes(cluster->faults, FAULT_drain_race, &cluster->rng)) {
        bring_work_forward(cluster, index);
    }
    struct cluster_node *node = &cluster->nodes[index];
    if (is_rejectable && node->running > 0) {
        return DRAIN_REFUSED;
    }
    bool was_draining = node->is_draining;
    node->is_draining = true;
    if (is_rejectable) {
        node->accepted_idle_drain = true;
    } else {
        node->drain_until = until;
    }
    set_status(cluster, index, RAY_DRAINING);
    if (!was_draining) {
        exit_if_drained(cluster, node);
    }
    return DRAIN_ACCEPTED;
}

/* ---- the GCS -------------------------------------------------------------------------------- */

static void plan_trouble(struct cluster *cluster, enum fault fault)
{
    if (cluster->faults->is_on[fault] && cluster->faults->span[fault] > 0) {
        uint64_t span = rng_span(&cluster->rng, cluster->faults->span[fault]) >> 16;
        event_queue_add(cluster->event_queue, cluster->event_queue->now + (int64_t)span,
                        EVENT_QUEUE_GCS_CHANGE, (uint32_t)fault, false, 0);
    }
}

static void go_away(struct cluster *cluster, enum fault fault)
{
    int64_t mean = cluster->faults->length[fault];
    if (!cluster->is_gcs_up || !cluster->faults->is_on[fault]) {
        plan_trouble(cluster, fault);
        return;
    }
    cluster->is_gcs_up = false;
    int64_t length = rng_between(&cluster->rng, mean / 2, mean + mean / 2);
    event_queue_add(cluster->event_queue, cluster->event_queue->now + length,
                    EVENT_QUEUE_GCS_CHANGE, (uint32_t)fault, true, 0);
}

/* `who` of the queue entry is set if the raylet does not survive it. */
static void register_again(struct cluster *cluster, uint32_t index, bool is_restart)
{
    const struct cluster_node *node = &cluster->nodes[index];
    bool is_lost = is_restart && node->instance != cluster->head &&
                   cluster->faults->is_on[FAULT_gcs_restart] &&
                   rng_chance(&cluster->rng, RAYLET_LOST_PERMILLE);
    int64_t wait = rng_between(&cluster->rng, REGISTER_LEAST, REGISTER_MOST);
    event_queue_add(cluster->event_queue, cluster->event_queue->now + wait, EVENT_QUEUE_REJOIN,
                    is_lost, node->instance, node->life);
}

static void cluster_come_back(struct cluster *cluster, enum fault fault)
{
    bool is_restart = fault == FAULT_gcs_restart;
    cluster->is_gcs_up = true;
    cluster->session += is_restart;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (is_restart) {
            set_status(cluster, i, RAY_ABSENT);
        }
        if (cluster->nodes[i].is_alive && cluster->nodes[i].status == RAY_ABSENT) {
            register_again(cluster, i, is_restart);
        }
    }
    place_all(cluster);
    plan_trouble(cluster, fault);
}

static void rejoin(struct cluster *cluster, uint32_t index, bool is_lost)
{
    struct cluster_node *node = &cluster->nodes[index];
    if (!node->is_alive || node->status != RAY_ABSENT) {
        return;
    }
    if (is_lost) {
        end_raylet(cluster, index);
    } else if (cluster->is_gcs_up) {
        cluster_enter(cluster, index);
    }
}

/* ---- the event queue ------------------------------------------------------------------------ */

void cluster_init(struct cluster *cluster, struct event_queue *event_queue, struct faults *faults,
                  const struct plan_type *types, size_t type_count, const struct names *names,
                  const struct workload *workload, uint64_t seed, struct arena *arena)
{
    struct rng seeds = {seed};
    *cluster = (struct cluster){.arena = arena,
                                .event_queue = event_queue,
                                .faults = faults,
                                .rng = {rng_next(&seeds)},
                                .types = types,
                                .type_count = type_count,
                                .workload = workload,
                                .names = names,
                                .is_gcs_up = true,
                                .session = 1,
                                .newest_node = NO_INDEX,
                                .accounted_at = event_queue->now};
    cluster->queues = ARENA_ARRAY(arena, workload->class_count, struct cluster_queue);
    cluster->figures = ARENA_ARRAY(arena, workload->class_count, struct class_figures);
    for (uint32_t i = 0; i < workload->class_count; i++) {
        if (gang_is_strict(workload->classes[i].gang) && workload->gang_label_count == 0) {
            panic("cluster: a workload with strict gangs but without labels for them");
        }
        queue_init(cluster, i, &seeds);
    }
    fit_init(cluster);
    place_init(cluster);
    plan_trouble(cluster, FAULT_gcs_away);
    plan_trouble(cluster, FAULT_gcs_restart);
}

static void cluster_on_node(struct cluster *cluster, const struct event_queue_entry *entry)
{
    uint32_t index = cluster_find_node(cluster, entry->what);
    if (index == NO_INDEX || cluster->nodes[index].life != entry->extra) {
        return; /* that raylet has exited */
    }
    if (entry->kind == EVENT_QUEUE_REJOIN) {
        rejoin(cluster, index, entry->who != 0);
    } else if (entry->kind == EVENT_QUEUE_RAYLET_EXIT) {
        exit_raylet(cluster, index);
    } else {
        see_death(cluster, index);
    }
}

static void on_arrival(struct cluster *cluster, uint32_t class)
{
    struct cluster_queue *queue = &cluster->queues[class];
    bool was_empty = queue->waiting == 0;
    queue_arrive(cluster, class);
    if (was_empty) {
        place_queue(cluster, queue);
    }
}

void cluster_on(struct cluster *cluster, const struct event_queue_entry *entry)
{
    switch (entry->kind) {
    case EVENT_QUEUE_TASK_END:
        place_end(cluster, (uint32_t)entry->what, entry->extra);
        break;
    case EVENT_QUEUE_ARRIVAL:
        on_arrival(cluster, entry->who);
        break;
    case EVENT_QUEUE_GCS_CHANGE:
        if (entry->what) {
            cluster_come_back(cluster, (enum fault)entry->who);
        } else {
            go_away(cluster, (enum fault)entry->who);
        }
        break;
    case EVENT_QUEUE_REJOIN:
    case EVENT_QUEUE_RAYLET_EXIT:
    case EVENT_QUEUE_DEATH_SEEN:
        cluster_on_node(cluster, entry);
        break;
    default:
        panic("cluster: unexpected entry of kind %u", (unsigned)entry->kind);
    }
}

int64_t cluster_pending(const struct cluster *cluster)
{
    int64_t pending = 0;
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        pending += cluster->queues[i].waiting * cluster->queues[i].bundles;
    }
    return pending;
}
