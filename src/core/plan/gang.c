/* gang.c: orders gangs, and merges requests with affinity. */
#include "core/plan/gang.h"

#include "base/require.h"
#include "core/plan/index_sort.h"

struct gang_size {
    size_t placements;
    size_t requests;
};

static int compare_gangs(const void *context, uint32_t a, uint32_t b)
{
    const struct gang_size *sizes = context;
    if (sizes[a].placements != sizes[b].placements) {
        return sizes[a].placements > sizes[b].placements ? -1 : 1;
    }
    return sizes[a].requests > sizes[b].requests ? -1 : sizes[a].requests < sizes[b].requests;
}

uint32_t *gangs_in_order(const struct gang *gangs, size_t count, struct arena *arena)
{
    struct gang_size *sizes = ARENA_ARRAY(arena, count, struct gang_size);
    uint32_t *order = ARENA_ARRAY(arena, 2 * count, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        sizes[i].requests = gangs[i].request_count;
        for (size_t j = 0; j < gangs[i].request_count; j++) {
            sizes[i].placements += gangs[i].requests[j].placement_count;
        }
    }
    index_sort(order, order + count, count, compare_gangs, sizes);
    return order;
}

static bool has_affinity(const struct request *request)
{
    return request->placement_count > 0 && request->placements[0].kind == PLACEMENT_AFFINITY;
}

static bool belong_together(const struct request *a, const struct request *b)
{
    return a->placements[0].label.key == b->placements[0].label.key &&
           a->placements[0].label.value == b->placements[0].label.value &&
           a->selector_count == b->selector_count &&
           label_selectors_same(a->selectors, b->selectors, a->selector_count);
}

/* Adds the amounts of `more` to `sum`, whose array has room for both. */
static void gang_add_amounts(const struct names *names, struct request *sum, struct amount *amounts,
                             const struct request *more)
{
    for (size_t i = 0; i < more->amount_count; i++) {
        size_t at = 0;
        while (at < sum->amount_count && amounts[at].name != more->amounts[i].name) {
            at++;
        }
        if (at == sum->amount_count) {
            amounts[sum->amount_count++] = more->amounts[i];
        } else {
            amounts[at].amount += more->amounts[i].amount;
        }
    }
    amounts_sort(names, amounts, sum->amount_count);
}

static struct request gang_sum_up(const struct names *names, const struct gang *gang, size_t first,
                                  bool *is_taken, struct arena *arena)
{
    struct request sum = gang->requests[first];
    size_t room = 0;
    for (size_t i = first; i < gang->request_count; i++) {
        room += gang->requests[i].amount_count;
    }
    struct amount *amounts = ARENA_ARRAY(arena, room, struct amount);
    sum.amounts = amounts;
    sum.amount_count = 0;
    for (size_t i = first; i < gang->request_count; i++) {
        const struct request *one = &gang->requests[i];
        if (!is_taken[i] && has_affinity(one) && belong_together(&gang->requests[first], one)) {
            gang_add_amounts(names, &sum, amounts, one);
            is_taken[i] = true;
        }
    }
    require(sum.amount_count <= room, "the amounts fit");
    require(is_taken[first], "the first request is part of the sum");
    return sum;
}

struct gang gang_combine(const struct names *names, const struct gang *gang, struct arena *arena)
{
    size_t with_affinity = 0;
    for (size_t i = 0; i < gang->request_count; i++) {
        with_affinity += has_affinity(&gang->requests[i]);
    }
    if (with_affinity == 0) {
        return *gang;
    }
    struct request *requests = ARENA_ARRAY(arena, gang->request_count, struct request);
    bool *is_taken = ARENA_ARRAY(arena, gang->request_count, bool);
    size_t count = 0;
    for (size_t i = 0; i < gang->request_count; i++) {
        if (!has_affinity(&gang->requests[i])) {
            requests[count++] = gang->requests[i];
        }
    }
    for (size_t i = 0; i < gang->request_count; i++) {
        if (!is_taken[i] && has_affinity(&gang->requests[i])) {
            requests[count++] = gang_sum_up(names, gang, i, is_taken, arena);
        }
    }
    require(count <= gang->request_count, "combining does not add requests");
    require(count >= gang->request_count - with_affinity,
            "only requests with affinity are combined");
    return (struct gang){requests, count};
}
