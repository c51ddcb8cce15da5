/* shapes.c: collects the shapes of a load and compares nodes with them. */
#include "core/plan/shapes.h"

#include "base/require.h"
#include "core/resource.h"

static bool shapes_is_shape(const struct shape *shape, const struct request *request)
{
    if (shape->amount_count != request->amount_count) {
        return false;
    }
    for (size_t i = 0; i < shape->amount_count; i++) {
        if (shape->amounts[i].name != request->amounts[i].name ||
            shape->amounts[i].amount != request->amounts[i].amount) {
            return false;
        }
    }
    return true;
}

static void shapes_add(struct shapes *shapes, const struct request *request)
{
    for (size_t i = 0; i < shapes->count; i++) {
        if (shapes_is_shape(&shapes->items[i], request)) {
            return;
        }
    }
    if (shapes->count == SHAPES_MOST || request->amount_count > SHAPE_AMOUNTS_MOST) {
        shapes->is_complete = false;
        return;
    }
    struct shape *shape = &shapes->items[shapes->count++];
    require(shapes->count <= SHAPES_MOST, "the shapes fit");
    require(request->amount_count <= SHAPE_AMOUNTS_MOST, "the amounts of a shape fit");
    shape->amount_count = request->amount_count;
    for (size_t i = 0; i < request->amount_count; i++) {
        shape->amounts[i] = request->amounts[i];
    }
}

void shapes_gather(struct shapes *shapes, const struct demand *demands, size_t demand_count,
                   const struct gang *gangs, size_t gang_count)
{
    shapes->count = 0;
    shapes->is_complete = true;
    for (size_t i = 0; i < demand_count && shapes->is_complete; i++) {
        if (demands[i].count > 0) {
            shapes_add(shapes, &demands[i].request);
        }
    }
    for (size_t i = 0; i < gang_count && shapes->is_complete; i++) {
        for (size_t j = 0; j < gangs[i].request_count && shapes->is_complete; j++) {
            shapes_add(shapes, &gangs[i].requests[j]);
        }
    }
}

bool shapes_same(const struct shapes *a, const struct shapes *b)
{
    if (a->count != b->count || a->is_complete != b->is_complete) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        struct request request = {.amounts = a->items[i].amounts,
                                  .amount_count = a->items[i].amount_count};
        if (!shapes_is_shape(&b->items[i], &request)) {
            return false;
        }
    }
    return true;
}

static int64_t free_of(const struct names *names, uint32_t name, const struct capacity *capacities,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (capacities[i].name == name) {
            return capacities[i].free;
        }
    }
    return resource_is_implicit(intern_text(names, name)) ? RESOURCE_UNIT : 0;
}

static bool shapes_fits(const struct shape *shape, const struct names *names,
                        const struct capacity *capacities, size_t capacity_count)
{
    for (size_t i = 0; i < shape->amount_count; i++) {
        const struct amount *amount = &shape->amounts[i];
        if (amount->amount > 0 &&
            amount->amount > free_of(names, amount->name, capacities, capacity_count)) {
            return false;
        }
    }
    return true;
}

bool shapes_fit_none(const struct shapes *shapes, const struct names *names,
                     const struct capacity *capacities, size_t capacity_count)
{
    if (!shapes->is_complete) {
        return false;
    }
    for (size_t i = 0; i < shapes->count; i++) {
        if (shapes_fits(&shapes->items[i], names, capacities, capacity_count)) {
            return false;
        }
    }
    return true;
}
