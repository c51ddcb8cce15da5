/* cluster_queue.c: queues of pending work, and arrivals. */
#include "sim/cluster_internal.h"

#include "base/panic.h"

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
