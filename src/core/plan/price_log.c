/* price_log.c: converts the packer's wins to lists of classes. */
#include "core/plan/price_log.h"

#include "base/require.h"
#include "core/plan/pack.h"

void price_log_init(struct price_log *log, struct arena *arena)
{
    *log = (struct price_log){.arena = arena};
}

static uint64_t price_log_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t price_log_hash_of(const struct request *request, enum launch_cause cause)
{
    uint64_t hash = price_log_mix(cause, request->amount_count * 64 + request->selector_count);
    for (size_t i = 0; i < request->amount_count; i++) {
        hash = price_log_mix(price_log_mix(hash, request->amounts[i].name),
                             (uint64_t)request->amounts[i].amount);
    }
    for (size_t i = 0; i < request->placement_count; i++) {
        hash = price_log_mix(hash, request->placements[i].label.key);
    }
    return hash;
}

/* A request looking for its class. */
struct price_log_seeker {
    const struct price_log *log;
    const struct request *request;
    enum launch_cause cause;
};

static bool is_of_class(const void *context, size_t position)
{
    const struct price_log_seeker *seeker = context;
    const struct logged_class *class = &seeker->log->classes[position];
    return class->cause == seeker->cause && request_same(class->request, seeker->request);
}

static uint32_t class_of(struct price_log *log, const struct request *request,
                         enum launch_cause cause)
{
    struct price_log_seeker seeker = {log, request, cause};
    uint64_t hash = price_log_hash_of(request, cause);
    size_t found = table_find(&log->index, hash, is_of_class, &seeker);
    if (found != TABLE_NONE) {
        return (uint32_t)found;
    }
    ARENA_GROW(log->arena, log->classes, log->class_count, log->class_capacity);
    log->classes[log->class_count] = (struct logged_class){request, cause};
    table_add(&log->index, log->arena, hash, log->class_count);
    return (uint32_t)log->class_count++;
}

static void price_log_add_place(struct price_log *log, struct logged_place place)
{
    ARENA_PUSH(log->arena, log->places, log->place_count, log->place_capacity) = place;
}

static uint32_t price_log_add_parts(struct price_log *log, const struct packer *packer,
                                    const struct win *win, enum launch_cause cause)
{
    uint32_t first = (uint32_t)log->part_count;
    for (size_t i = 0; i < win->placed_count; i++) {
        const struct placed *placed = &packer->win_placed[win->placed_first + i];
        require(placed->run < packer->batch.run_count, "a run of this batch");
        uint32_t *class = &log->class_of_run[placed->run];
        if (*class == NOWHERE) {
            *class = class_of(log, packer->batch.runs[placed->run].request, cause);
        }
        ARENA_PUSH(log->arena, log->parts, log->part_count,
                   log->part_capacity) = (struct cover_part){*class, placed->count};
    }
    return first;
}

static void forget_runs(struct price_log *log, size_t count)
{
    if (count > log->run_capacity) {
        log->run_capacity = 2 * count;
        log->class_of_run = ARENA_ARRAY(log->arena, log->run_capacity, uint32_t);
    }
    for (size_t i = 0; i < count; i++) {
        log->class_of_run[i] = NOWHERE;
    }
}

void price_log_batch(struct price_log *log, const struct packer *packer, enum launch_cause cause)
{
    const struct fleet *fleet = packer->fleet;
    uint32_t next_node = (uint32_t)fleet->node_count; /* the packer launches in this order */
    /* Equivalent nodes win in a row and share their list. */
    uint32_t shared = NOWHERE;
    uint32_t part_first = 0;
    forget_runs(log, packer->batch.run_count);
    for (size_t i = 0; i < packer->win_count; i++) {
        const struct win *win = &packer->wins[i];
        require(win->count > 0, "a win is of at least one node");
        require(win->placed_first + win->placed_count <= packer->win_placed_count,
                "the requests of a win are in the list");
        if (win->placed_first != shared) {
            part_first = price_log_add_parts(log, packer, win, cause);
            shared = win->placed_first;
        }
        struct logged_place place = {.node = NOWHERE,
                                     .type = win->type,
                                     .times = win->count,
                                     .part_first = part_first,
                                     .part_count = win->placed_count};
        if (win->position != NOWHERE) {
            require(win->position < fleet->order_count, "a position in the order of the fleet");
            place.node = fleet->order[win->position];
            place.type = fleet->nodes[place.node].type;
            price_log_add_place(log, place);
        } else if (packer->is_last) {
            price_log_add_place(log, place);
        } else {
            place.times = 1;
            for (int64_t j = 0; j < win->count; j++) {
                place.node = next_node++;
                price_log_add_place(log, place);
            }
        }
    }
}
