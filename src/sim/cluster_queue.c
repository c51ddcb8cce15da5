/* cluster_queue.c: work on its way: when it arrives, and who is first. */
#include "sim/cluster_parts.h"

#include "base/panic.h"

enum { PART_BITS = 16 };

/*
 * Von Neumann's way: comparisons of uniform numbers and nothing else, so there is no logarithm
 * whose last bit could differ. A run of falling numbers of odd length gives its first number as
 * the fraction; every one of even length adds one to the whole part.
 */
uint64_t dice_span(struct dice *dice, int64_t mean)
{
    if (mean <= 0 || mean > INT32_MAX) {
        panic("cluster: a mean span of %lld ms", (long long)mean);
    }
    for (uint64_t whole = 0;; whole++) {
        uint64_t first = dice_next(dice);
        uint64_t last = first;
        bool is_odd = true;
        for (uint64_t next = dice_next(dice); next < last; next = dice_next(dice)) {
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

static void make_room(struct cluster *cluster, struct cluster_queue *queue)
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
    int64_t now = cluster->agenda->now;
    if (count <= 0) {
        return;
    }
    count_waiting(cluster, queue, count);
    if (queue->run_count > 0 && run_at(queue, queue->run_count - 1)->arrived_at == now) {
        run_at(queue, queue->run_count - 1)->count += count;
        return;
    }
    make_room(cluster, queue);
    *run_at(queue, queue->run_count++) = (struct wait_run){now, count};
}

void queue_push_front(struct cluster *cluster, struct cluster_queue *queue, int64_t arrived_at)
{
    count_waiting(cluster, queue, 1);
    if (queue->run_count > 0 && run_at(queue, 0)->arrived_at == arrived_at) {
        run_at(queue, 0)->count++;
        return;
    }
    make_room(cluster, queue);
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
    queue->next_count = dice_between(&queue->arrivals, work->count_least, work->count_most);
    agenda_add(cluster->agenda, at, AGENDA_ARRIVAL, (uint32_t)(queue - cluster->queues), 0, 0);
}

/* The fraction is carried on, so that the mean stays the mean however short the spans are. */
static int64_t after_random_span(struct cluster_queue *queue, int64_t from)
{
    uint64_t parts = dice_span(&queue->arrivals, queue->work->every) + queue->next_part;
    queue->next_part = parts & ((UINT64_C(1) << PART_BITS) - 1);
    return from + (int64_t)(parts >> PART_BITS);
}

void queue_init(struct cluster *cluster, uint32_t class, struct dice *seeds)
{
    struct cluster_queue *queue = &cluster->queues[class];
    const struct work_class *work = &cluster->workload->classes[class];
    bool is_gang = work->gang != GANG_NONE;
    if ((is_gang && work->bundles < 1) || (work->arrival != ARRIVAL_ONCE && work->every < 1)) {
        panic("cluster: class %u of the workload makes no sense", (unsigned)class);
    }
    queue->work = work;
    queue->bundles = is_gang ? work->bundles : 1;
    queue->pieces = work->gang == GANG_STRICT_PACK ? 1 : (size_t)queue->bundles;
    queue->arrivals.state = dice_next(seeds);
    queue->durations.state = dice_next(seeds);
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
