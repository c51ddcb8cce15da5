/* cluster_place.c: assigns work to nodes. */
#include "sim/cluster_internal.h"

enum { WORD_BITS = 64 };

void place_init(struct cluster *cluster)
{
    size_t most = 1;
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        most = cluster->queues[i].pieces > most ? cluster->queues[i].pieces : most;
    }
    cluster->places = ARENA_ARRAY(cluster->arena, most, uint32_t);
    cluster->rooms = ARENA_ARRAY(cluster->arena, most, int64_t);
    cluster->free_run = NO_INDEX;
}

/* ---- nodes that may have room --------------------------------------------------------------- */

static size_t word_count(const struct cluster *cluster)
{
    return (cluster->node_count + WORD_BITS - 1) / WORD_BITS;
}

void place_grow(struct cluster *cluster)
{
    size_t words = word_count(cluster);
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        for (size_t tier = 0; tier < TIER_COUNT; tier++) {
            struct open_set *set = &cluster->queues[i].open[tier];
            size_t capacity = set->word_capacity;
            ARENA_GROW(cluster->arena, set->words, words, capacity);
            set->word_capacity = capacity;
        }
    }
}

static void open_node(struct cluster *cluster, uint32_t node)
{
    uint32_t type = cluster->nodes[node].type;
    size_t word = node / WORD_BITS;
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        struct cluster_queue *queue = &cluster->queues[i];
        if (queue->fits[type].is_accepted) {
            struct open_set *set = &queue->open[queue->fits[type].tier];
            set->words[word] |= UINT64_C(1) << node % WORD_BITS;
            set->first = word < set->first ? word : set->first;
        }
    }
}

/* How many pieces fit on a node, at most `most`. */
static int64_t count_room(const struct cluster *cluster, const struct cluster_queue *queue,
                          uint32_t index, int64_t most)
{
    const struct cluster_node *node = &cluster->nodes[index];
    const struct fit *fit = &queue->fits[node->type];
    if (!fit->is_accepted || !node_takes_work(node)) {
        return 0;
    }
    for (size_t i = 0; i < fit->need_count; i++) {
        const struct cluster_need *need = &fit->needs[i];
        if (node->free[need->column] < most * need->amount) {
            most = node->free[need->column] / need->amount;
        }
    }
    return most;
}

bool place_fits(const struct cluster *cluster, const struct cluster_queue *queue, uint32_t node)
{
    return count_room(cluster, queue, node, 1) > 0;
}

/*
 * Fills `places` and `rooms` with nodes that have room, oldest first: as many as there are pieces,
 * or for a packed gang until all of it fits. Returns their number.
 */
static size_t find_places(struct cluster *cluster, struct cluster_queue *queue)
{
    enum gang_rule gang = queue->work->gang;
    bool is_shared = gang == GANG_PACK || gang == GANG_SPREAD;
    int64_t most = is_shared ? (int64_t)queue->pieces : 1;
    int64_t left = (int64_t)queue->pieces;
    size_t found = 0;
    for (size_t tier = 0; tier < TIER_COUNT; tier++) {
        struct open_set *set = &queue->open[tier];
        for (size_t word = set->first; word < word_count(cluster); word++) {
            for (uint64_t bits = set->words[word]; bits != 0; bits &= bits - 1) {
                uint32_t node = (uint32_t)word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
                int64_t room = count_room(cluster, queue, node, most);
                if (room <= 0) {
                    set->words[word] &= ~(bits & -bits);
                    continue;
                }
                cluster->places[found] = node;
                cluster->rooms[found++] = room;
                left -= gang == GANG_PACK ? room : 1;
                if (left <= 0) {
                    return found;
                }
            }
            set->first += word == set->first && set->words[word] == 0;
        }
    }
    return found;
}

/* ---- starting and ending -------------------------------------------------------------------- */

static uint32_t new_run(struct cluster *cluster)
{
    if (cluster->free_run != NO_INDEX) {
        uint32_t run = cluster->free_run;
        cluster->free_run = cluster->runs[run].older;
        return run;
    }
    ARENA_GROW(cluster->arena, cluster->runs, cluster->run_count, cluster->run_capacity);
    return (uint32_t)cluster->run_count++;
}

static void drop_run(struct cluster *cluster, uint32_t index)
{
    struct cluster_run *run = &cluster->runs[index];
    run->use++;
    run->older = cluster->free_run;
    cluster->free_run = index;
}

static void take_room(struct cluster *cluster, uint32_t index)
{
    struct cluster_run *run = &cluster->runs[index];
    struct cluster_node *node = &cluster->nodes[run->node];
    const struct fit *fit = &cluster->queues[run->class].fits[node->type];
    for (size_t i = 0; i < fit->need_count; i++) {
        node->free[fit->needs[i].column] -= fit->needs[i].amount;
    }
    run->newer = NO_INDEX;
    run->older = node->newest_run;
    if (run->older != NO_INDEX) {
        cluster->runs[run->older].newer = index;
    }
    node->newest_run = index;
    if (node->running++ == 0) {
        node_set_busy(cluster, run->node, true);
    }
    node_touch(cluster, run->node);
}

/* The last reported state of a dead node stays unchanged. */
static void cluster_place_give_back(struct cluster *cluster, uint32_t index)
{
    struct cluster_run *run = &cluster->runs[index];
    struct cluster_node *node = &cluster->nodes[run->node];
    const struct fit *fit = &cluster->queues[run->class].fits[node->type];
    if (run->newer != NO_INDEX) {
        cluster->runs[run->newer].older = run->older;
    } else {
        node->newest_run = run->older;
    }
    if (run->older != NO_INDEX) {
        cluster->runs[run->older].newer = run->newer;
    }
    node->running--;
    if (!node->is_alive) {
        return;
    }
    for (size_t i = 0; i < fit->need_count; i++) {
        node->free[fit->needs[i].column] += fit->needs[i].amount;
    }
    if (node->running == 0) {
        node_set_busy(cluster, run->node, false);
    }
    node_touch(cluster, run->node);
}

static void note_wait(struct cluster *cluster, uint32_t class, int64_t wait)
{
    struct class_figures *figures = &cluster->figures[class];
    ARENA_PUSH(cluster->arena, figures->waits, figures->wait_count, figures->wait_capacity) = wait;
    figures->started++;
}

/* Starts the first of the queue with its pieces on these nodes. */
static void cluster_place_start(struct cluster *cluster, struct cluster_queue *queue,
                                const uint32_t *places)
{
    uint32_t class = (uint32_t)(queue - cluster->queues);
    int64_t arrived_at = queue_pop(cluster, queue);
    uint32_t first = NO_INDEX;
    uint32_t last = NO_INDEX;
    for (size_t i = 0; i < queue->pieces; i++) {
        uint32_t index = new_run(cluster);
        first = i == 0 ? index : first;
        struct cluster_run *run = &cluster->runs[index];
        *run = (struct cluster_run){.class = class,
                                    .node = places[i],
                                    .next_in_gang = first,
                                    .use = run->use,
                                    .arrived_at = arrived_at};
        if (i > 0) {
            cluster->runs[last].next_in_gang = index;
        }
        last = index;
        take_room(cluster, index);
    }
    int64_t now = cluster->event_queue->now;
    int64_t duration = rng_between(&queue->durations, queue->work->duration_least,
                                   queue->work->duration_most);
    note_wait(cluster, class, now - arrived_at);
    event_queue_add(cluster->event_queue, now + duration, EVENT_QUEUE_TASK_END, class, first,
                    cluster->runs[first].use);
}

void place_on(struct cluster *cluster, struct cluster_queue *queue, uint32_t node)
{
    cluster_place_start(cluster, queue, &node);
}

/* ---- scheduling ----------------------------------------------------------------------------- */

/* Expands the nodes found to one node per piece; false if they are not enough. */
static bool share_out(struct cluster *cluster, const struct cluster_queue *queue, size_t found)
{
    int64_t room = 0;
    for (size_t i = 0; i < found; i++) {
        room += cluster->rooms[i];
    }
    if (room < (int64_t)queue->pieces) {
        return false;
    }
    for (size_t i = 0; i < found; i++) {
        cluster->rooms[i]--; /* every node found takes one, which is in `places` already */
    }
    bool in_turns = queue->work->gang == GANG_SPREAD;
    for (size_t at = 0, placed = found; placed < queue->pieces;) {
        bool has_room = cluster->rooms[at] > 0;
        if (has_room) {
            cluster->rooms[at]--;
            cluster->places[placed++] = cluster->places[at];
        }
        if (!has_room || in_turns) {
            at = (at + 1) % found;
        }
    }
    return true;
}

/* Starts the first of the queue if all of it fits. */
static bool start_first(struct cluster *cluster, struct cluster_queue *queue)
{
    if (queue->work->gang != GANG_NONE && !cluster->is_gcs_up) {
        return false;
    }
    size_t found = find_places(cluster, queue);
    bool is_shared = queue->work->gang == GANG_PACK || queue->work->gang == GANG_SPREAD;
    bool is_enough = is_shared ? share_out(cluster, queue, found) : found == queue->pieces;
    if (is_enough) {
        cluster_place_start(cluster, queue, cluster->places);
    }
    return is_enough;
}

void place_queue(struct cluster *cluster, struct cluster_queue *queue)
{
    while (queue->waiting > 0 && start_first(cluster, queue)) {
    }
}

/* Gangs first: they need the most, and small pieces would never leave them enough room. */
void place_all(struct cluster *cluster)
{
    for (int are_tasks = 0; are_tasks <= 1; are_tasks++) {
        for (size_t i = 0; i < cluster->workload->class_count; i++) {
            struct cluster_queue *queue = &cluster->queues[i];
            if ((queue->work->gang == GANG_NONE) == (are_tasks == 1)) {
                place_queue(cluster, queue);
            }
        }
    }
}

/* The class with the longest-waiting first task, among those that fit on the node. */
static struct cluster_queue *next_for(struct cluster *cluster, uint32_t node)
{
    struct cluster_queue *next = NULL;
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        struct cluster_queue *queue = &cluster->queues[i];
        if (queue->waiting > 0 && queue->work->gang == GANG_NONE &&
            (!next || queue_oldest(queue) < queue_oldest(next)) &&
            place_fits(cluster, queue, node)) {
            next = queue;
        }
    }
    return next;
}

void place_offer(struct cluster *cluster, uint32_t node)
{
    if (!node_takes_work(&cluster->nodes[node])) {
        return;
    }
    open_node(cluster, node);
    if (cluster->waiting == 0) {
        return;
    }
    for (size_t i = 0; i < cluster->workload->class_count; i++) {
        struct cluster_queue *queue = &cluster->queues[i];
        while (queue->waiting > 0 && queue->work->gang != GANG_NONE &&
               place_fits(cluster, queue, node) && start_first(cluster, queue)) {
        }
    }
    for (struct cluster_queue *queue = next_for(cluster, node); queue;
         queue = next_for(cluster, node)) {
        place_on(cluster, queue, node);
    }
}

void place_end(struct cluster *cluster, uint32_t first, uint64_t use)
{
    if (cluster->runs[first].use != use) {
        return; /* the work was requeued before */
    }
    cluster->figures[cluster->runs[first].class].finished++;
    uint32_t run = first;
    do {
        cluster_place_give_back(cluster, run);
        run = cluster->runs[run].next_in_gang;
    } while (run != first);
    do {
        uint32_t next = cluster->runs[run].next_in_gang;
        uint32_t node = cluster->runs[run].node;
        drop_run(cluster, run);
        place_offer(cluster, node);
        run = next;
    } while (run != first);
}

static void throw_back(struct cluster *cluster, uint32_t first)
{
    uint32_t class = cluster->runs[first].class;
    int64_t arrived_at = cluster->runs[first].arrived_at;
    uint32_t run = first;
    do {
        uint32_t next = cluster->runs[run].next_in_gang;
        uint32_t node = cluster->runs[run].node;
        cluster_place_give_back(cluster, run);
        drop_run(cluster, run);
        if (node_takes_work(&cluster->nodes[node])) {
            open_node(cluster, node);
        }
        run = next;
    } while (run != first);
    cluster->figures[class].lost++;
    queue_push_front(cluster, &cluster->queues[class], arrived_at);
}

/* Requeues the latest first, so that the oldest ends up in front. */
void place_throw_back(struct cluster *cluster, uint32_t node)
{
    while (cluster->nodes[node].newest_run != NO_INDEX) {
        throw_back(cluster, cluster->nodes[node].newest_run);
    }
}
