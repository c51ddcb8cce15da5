/* cluster_queue.c: queues of pending work, their arrivals, and their needs on each type. */
#include "sim/cluster_internal.h"

#include "base/panic.h"
#include "core/resource.h"

enum { PART_BITS = 16 };

/*
 * Von Neumann's method: it only compares uniform numbers, so there is no logarithm whose last bit
 * could differ. A falling run of odd length gives its first number as the fraction; every one of
 * even length adds one to the integer part.
 */
uint64_t rng_span(struct rng *rng, int64_t mean)
{
    if (mean <= 0 || mean > INT32_MAX) {
        panic("cluster: a mean span of %lld ms", (long long)mean);
    }
    for (uint64_t whole = 0;; whole++) {
        uint64_t first = rng_next(rng);
        uint64_t last = first;
        bool is_odd = true;
        for (uint64_t next = rng_next(rng); next < last; next = rng_next(rng)) {
            last = next;
            is_odd = !is_odd;
        }
        if (is_odd) {
            uint64_t fraction = (first >> 32) * (uint64_t)mean >> (32 - PART_BITS);
            return (whole * (uint64_t)mean << PART_BITS) + fraction;
        }
    }
}

/* ---- the ring ------------------------------------------------------------------------------- */

static struct wait_run *run_at(const struct cluster_queue *queue, size_t position)
{
    return &queue->runs[(queue->first + position) & (queue->run_capacity - 1)];
}

static void cluster_queue_make_room(struct cluster *cluster, struct cluster_queue *queue)
{
    if (queue->run_count < queue->run_capacity) {
        return;
    }
    size_t capacity = queue->run_capacity ? queue->run_capacity * 2 : 16;
    struct wait_run *runs = ARENA_ARRAY(cluster->arena, capacity, struct wait_run);
    for (size_t i = 0; i < queue->run_count; i++) {
        runs[i] = *run_at(queue, i);
    }
    queue->runs = runs;
    queue->first = 0;
    queue->run_capacity = capacity;
}

static void count_waiting(struct cluster *cluster, struct cluster_queue *queue, int64_t more)
{
    queue->waiting += more;
    cluster->waiting += more;
    cluster->load_changed = ++cluster->changes;
}

void queue_push_back(struct cluster *cluster, struct cluster_queue *queue, int64_t count)
{
    int64_t now = cluster->event_queue->now;
    if (count <= 0) {
        return;
    }
    count_waiting(cluster, queue, count);
    if (queue->run_count > 0 && run_at(queue, queue->run_count - 1)->arrived_at == now) {
        run_at(queue, queue->run_count - 1)->count += count;
        return;
    }
    cluster_queue_make_room(cluster, queue);
    *run_at(queue, queue->run_count++) = (struct wait_run){now, count};
}

void queue_push_front(struct cluster *cluster, struct cluster_queue *queue, int64_t arrived_at)
{
    count_waiting(cluster, queue, 1);
    if (queue->run_count > 0 && run_at(queue, 0)->arrived_at == arrived_at) {
        run_at(queue, 0)->count++;
        return;
    }
    cluster_queue_make_room(cluster, queue);
    queue->first = (queue->first - 1) & (queue->run_capacity - 1);
    queue->run_count++;
    *run_at(queue, 0) = (struct wait_run){arrived_at, 1};
}

int64_t queue_pop(struct cluster *cluster, struct cluster_queue *queue)
{
    struct wait_run *front = run_at(queue, 0);
    int64_t arrived_at = front->arrived_at;
    count_waiting(cluster, queue, -1);
    if (--front->count == 0) {
        queue->first = (queue->first + 1) & (queue->run_capacity - 1);
        queue->run_count--;
    }
    return arrived_at;
}

int64_t queue_oldest(const struct cluster_queue *queue)
{
    return run_at(queue, 0)->arrived_at;
}

/* ---- arrivals ------------------------------------------------------------------------------- */

static void expect_at(struct cluster *cluster, struct cluster_queue *queue, int64_t at)
{
    const struct work_class *work = queue->work;
    if (work->arrival != ARRIVAL_ONCE && at > work->last_at) {
        queue->next_at = NEVER;
        return;
    }
    queue->next_at = at;
    queue->next_count = rng_between(&queue->arrivals, work->count_least, work->count_most);
    event_queue_add(cluster->event_queue, at, EVENT_QUEUE_ARRIVAL,
                    (uint32_t)(queue - cluster->queues), 0, 0);
}

/* Carries the fraction over, so that the mean is exact even for short intervals. */
static int64_t after_random_span(struct cluster_queue *queue, int64_t from)
{
    uint64_t parts = rng_span(&queue->arrivals, queue->work->every) + queue->next_part;
    queue->next_part = parts & ((UINT64_C(1) << PART_BITS) - 1);
    return from + (int64_t)(parts >> PART_BITS);
}

void queue_init(struct cluster *cluster, uint32_t class, struct rng *seeds)
{
    struct cluster_queue *queue = &cluster->queues[class];
    const struct work_class *work = &cluster->workload->classes[class];
    bool is_gang = work->gang != GANG_NONE;
    if ((is_gang && work->bundles < 1) || (work->arrival != ARRIVAL_ONCE && work->every < 1)) {
        panic("cluster: class %u of the workload is invalid", (unsigned)class);
    }
    queue->work = work;
    queue->bundles = is_gang ? work->bundles : 1;
    queue->pieces = work->gang == GANG_STRICT_PACK ? 1 : (size_t)queue->bundles;
    queue->arrivals.state = rng_next(seeds);
    queue->durations.state = rng_next(seeds);
    int64_t first_at = work->first_at;
    if (work->arrival == ARRIVAL_RANDOM) {
        first_at = after_random_span(queue, first_at);
    }
    expect_at(cluster, queue, first_at);
}

void queue_arrive(struct cluster *cluster, uint32_t class)
{
    struct cluster_queue *queue = &cluster->queues[class];
    cluster->figures[class].arrived += queue->next_count;
    queue_push_back(cluster, queue, queue->next_count);
    switch (queue->work->arrival) {
    case ARRIVAL_ONCE:
        queue->next_at = NEVER;
        break;
    case ARRIVAL_STEADY:
        expect_at(cluster, queue, queue->next_at + queue->work->every);
        break;
    case ARRIVAL_RANDOM:
        expect_at(cluster, queue, after_random_span(queue, queue->next_at));
        break;
    }
}

/* ---- what fits where ---- */

/* Implicit resources, of which every node has one unit without listing it, are added as columns
 * after the listed ones, so that no other code needs to handle them. */

static const struct capacity *cluster_fit_find_capacity(const struct plan_type *type, uint32_t name)
{
    for (size_t i = 0; i < type->capacity_count; i++) {
        if (type->capacities[i].name == name) {
            return &type->capacities[i];
        }
    }
    return NULL;
}

static bool selector_accepts(const struct label_selector *selector, struct label_set labels)
{
    for (size_t i = 0; i < selector->rule_count; i++) {
        const struct label_rule *rule = &selector->rules[i];
        if (!label_rule_accepts(rule, label_value(labels, rule->key))) {
            return false;
        }
    }
    return true;
}

/* The first selector that the labels satisfy, or their count if none is. */
static size_t selector_choice(const struct request *request, struct label_set labels)
{
    size_t choice = 0;
    while (choice < request->selector_count &&
           !selector_accepts(&request->selectors[choice], labels)) {
        choice++;
    }
    return choice;
}

static bool wastes_gpu(const struct cluster *cluster, const struct request *request,
                       const struct plan_type *type)
{
    uint32_t gpu = intern_find(cluster->names, STR("GPU"));
    const struct capacity *offered = gpu == NAME_NONE ? NULL : cluster_fit_find_capacity(type, gpu);
    for (size_t i = 0; i < request->amount_count; i++) {
        if (request->amounts[i].name == gpu && request->amounts[i].amount > 0) {
            return false;
        }
    }
    return offered && offered->total > 0;
}

/* The column of an implicit resource, after those that the type lists. */
static uint32_t find_column(const struct plan_type *type, const uint32_t *implicit,
                            size_t implicit_count, uint32_t name)
{
    const struct capacity *listed = cluster_fit_find_capacity(type, name);
    if (listed) {
        return (uint32_t)(listed - type->capacities);
    }
    for (size_t i = 0; i < implicit_count; i++) {
        if (implicit[i] == name) {
            return (uint32_t)(type->capacity_count + i);
        }
    }
    return NO_INDEX;
}

static void make_fit(struct cluster *cluster, struct cluster_queue *queue, size_t type_index,
                     const uint32_t *implicit, size_t implicit_count)
{
    const struct request *request = &queue->work->request;
    const struct plan_type *type = &cluster->types[type_index];
    struct fit *fit = &queue->fits[type_index];
    struct cluster_need *needs = ARENA_ARRAY(cluster->arena, request->amount_count,
                                             struct cluster_need);
    size_t choice = selector_choice(request, type->labels);
    fit->needs = needs;
    fit->is_accepted = request->selector_count == 0 || choice < request->selector_count;
    fit->tier = choice > 0 || wastes_gpu(cluster, request, type);
    for (size_t i = 0; i < request->amount_count; i++) {
        int64_t amount = request->amounts[i].amount;
        uint32_t column = find_column(type, implicit, implicit_count, request->amounts[i].name);
        if (amount <= 0) {
            continue;
        }
        if (queue->work->gang == GANG_STRICT_PACK) {
            amount *= queue->bundles;
        }
        if (column == NO_INDEX || cluster->totals[type_index][column] < amount) {
            fit->is_accepted = false;
            return;
        }
        needs[fit->need_count++] = (struct cluster_need){column, amount};
    }
}

/* The distinct implicit resources that the workload requests. */
static size_t gather_implicit(const struct cluster *cluster, uint32_t *ret_names)
{
    const struct workload *workload = cluster->workload;
    size_t count = 0;
    for (size_t i = 0; i < workload->class_count; i++) {
        const struct request *request = &workload->classes[i].request;
        for (size_t j = 0; j < request->amount_count; j++) {
            uint32_t name = request->amounts[j].name;
            size_t at = 0;
            while (at < count && ret_names[at] != name) {
                at++;
            }
            if (at == count && resource_is_implicit(intern_text(cluster->names, name))) {
                ret_names[count++] = name;
            }
        }
    }
    return count;
}

static void make_totals(struct cluster *cluster, size_t implicit_count)
{
    cluster->totals = ARENA_ARRAY(cluster->arena, cluster->type_count, const int64_t *);
    cluster->total_counts = ARENA_ARRAY(cluster->arena, cluster->type_count, size_t);
    for (size_t i = 0; i < cluster->type_count; i++) {
        const struct plan_type *type = &cluster->types[i];
        size_t count = type->capacity_count + implicit_count;
        int64_t *total = ARENA_ARRAY(cluster->arena, count, int64_t);
        for (size_t j = 0; j < count; j++) {
            total[j] = j < type->capacity_count ? type->capacities[j].total : RESOURCE_UNIT;
        }
        cluster->totals[i] = total;
        cluster->total_counts[i] = count;
    }
}

void fit_init(struct cluster *cluster)
{
    const struct workload *workload = cluster->workload;
    size_t amount_count = 0;
    for (size_t i = 0; i < workload->class_count; i++) {
        amount_count += workload->classes[i].request.amount_count;
    }
    uint32_t *implicit = ARENA_ARRAY(cluster->arena, amount_count, uint32_t);
    size_t implicit_count = gather_implicit(cluster, implicit);
    make_totals(cluster, implicit_count);
    for (size_t i = 0; i < workload->class_count; i++) {
        struct cluster_queue *queue = &cluster->queues[i];
        queue->fits = ARENA_ARRAY(cluster->arena, cluster->type_count, struct fit);
        for (size_t j = 0; j < cluster->type_count; j++) {
            make_fit(cluster, queue, j, implicit, implicit_count);
        }
    }
}
