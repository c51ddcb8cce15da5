/* batch.c: sorts requests into runs, and finds the next run that fits with a tree. */
#include "core/plan/batch.h"

#include "base/require.h"
#include "core/plan/index_sort.h"
#include "core/resource.h"

#include <string.h>

static const struct request *request_at(const struct batch_source *source, size_t index)
{
    return source->demands ? &source->demands[index].request : &source->requests[index];
}

static int compare_requests(const void *context, uint32_t a, uint32_t b)
{
    const struct batch *batch = context;
    return request_compare(batch->names, batch->runs[a].request, batch->runs[b].request);
}

static uint32_t column_for(struct batch *batch, uint32_t name)
{
    require(name < batch->names->count, "the resource name is valid");
    if (batch->column_of[name] != COLUMN_NONE) {
        return batch->column_of[name];
    }
    uint32_t column = (uint32_t)batch->column_count++;
    require(column < batch->need_capacity, "there is at most one column per need");
    batch->column_of[name] = column;
    batch->column_names[column] = name;
    bool is_implicit = resource_is_implicit(intern_text(batch->names, name));
    batch->column_default[column] = is_implicit ? RESOURCE_UNIT : 0;
    return column;
}

static void describe_run(struct batch *batch, struct run *run)
{
    const struct request *request = run->request;
    run->need_first = (uint32_t)batch->need_count;
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *amount = &request->amounts[i];
        run->asks_gpu = run->asks_gpu || amount->name == batch->gpu;
        if (amount->amount > 0) {
            uint32_t column = column_for(batch, amount->name);
            batch->needs[batch->need_count++] = (struct need){column, amount->amount};
        }
    }
    run->need_count = (uint32_t)batch->need_count - run->need_first;
    require(batch->need_count <= batch->need_capacity, "the needs fit");
    require(run->need_count <= request->amount_count, "at most one need for each amount");
    for (size_t i = 0; i < request->placement_count; i++) {
        if (request->placements[i].kind == PLACEMENT_ANTI_AFFINITY) {
            run->has_anti_affinity = true;
        }
    }
    batch->has_selectors = batch->has_selectors || request->selector_count > 0;
    batch->has_labels = batch->has_labels || batch->has_selectors || run->has_anti_affinity;
}

static void batch_make_room(struct batch *batch, size_t run_count, size_t need_count)
{
    if (run_count > batch->run_capacity) {
        batch->run_capacity = run_count * 2;
        batch->runs = ARENA_ARRAY(batch->arena, batch->run_capacity * 2, struct run);
        batch->sorted = ARENA_ARRAY(batch->arena, batch->run_capacity * 2, uint32_t);
    }
    if (need_count > batch->need_capacity) {
        batch->need_capacity = need_count * 2;
        batch->needs = ARENA_ARRAY(batch->arena, batch->need_capacity, struct need);
        batch->column_names = ARENA_ARRAY(batch->arena, batch->need_capacity, uint32_t);
        batch->column_default = ARENA_ARRAY(batch->arena, batch->need_capacity, int64_t);
    }
}

void batch_init(struct batch *batch, const struct names *names, struct arena *arena)
{
    *batch = (struct batch){.arena = arena, .names = names};
    batch->gpu = intern_find(names, STR("GPU"));
    batch->column_of = ARENA_ARRAY(arena, names->count, uint32_t);
    for (size_t i = 0; i < names->count; i++) {
        batch->column_of[i] = COLUMN_NONE;
    }
    batch_make_room(batch, 1, 1);
}

static void forget_columns(struct batch *batch)
{
    for (size_t i = 0; i < batch->column_count; i++) {
        batch->column_of[batch->column_names[i]] = COLUMN_NONE;
    }
    batch->column_count = 0;
    batch->need_count = 0;
    batch->has_selectors = false;
    batch->has_labels = false;
    batch->left = 0;
}

/* The unsorted requests are in the upper half of `runs`; the sorted runs go to the lower half. */
static void sort_into_runs(struct batch *batch, size_t given)
{
    require(given <= batch->run_capacity, "the requests fit into the upper half");
    uint32_t *sorted = batch->sorted;
    for (size_t i = 0; i < given; i++) {
        sorted[i] = (uint32_t)(batch->run_capacity + i);
    }
    index_sort(sorted, sorted + batch->run_capacity, given, compare_requests, batch);
    batch->run_count = 0;
    for (size_t i = 0; i < given; i++) {
        struct run *next = &batch->runs[sorted[i]];
        struct run *last = batch->run_count > 0 ? &batch->runs[batch->run_count - 1] : NULL;
        batch->left += next->left;
        if (last && request_same(last->request, next->request)) {
            last->left += next->left;
        } else {
            batch->runs[batch->run_count++] = *next;
        }
    }
}

static int64_t *tree_at(const struct batch *batch, size_t at)
{
    return batch->tree + at * batch->dimension_count;
}

static void combine(const struct batch *batch, size_t at)
{
    int64_t *parent = tree_at(batch, at);
    const int64_t *left = tree_at(batch, 2 * at);
    const int64_t *right = tree_at(batch, 2 * at + 1);
    for (size_t i = 0; i < batch->dimension_count; i++) {
        parent[i] = left[i] < right[i] ? left[i] : right[i];
    }
}

static void plant_tree(struct batch *batch)
{
    batch->leaf_count = 1;
    while (batch->leaf_count < batch->run_count) {
        batch->leaf_count *= 2;
    }
    batch->dimension_count = batch->column_count < BATCH_DIMENSIONS_MAX ? batch->column_count
                                                                        : BATCH_DIMENSIONS_MAX;
    if (batch->dimension_count == 0) {
        batch->dimension_count = 1; /* needed to tell empty runs from others */
    }
    size_t size = 2 * batch->leaf_count * batch->dimension_count;
    require(batch->leaf_count >= batch->run_count, "the tree has a leaf for each run");
    require(batch->dimension_count <= BATCH_DIMENSIONS_MAX,
            "the tree has at most the maximum number of dimensions");
    if (size > batch->tree_capacity) {
        batch->tree_capacity = size * 2;
        batch->tree = ARENA_ARRAY(batch->arena, batch->tree_capacity, int64_t);
    }
    for (size_t i = 0; i < batch->leaf_count; i++) {
        int64_t *leaf = tree_at(batch, batch->leaf_count + i);
        bool is_dead = i >= batch->run_count || batch->runs[i].left <= 0;
        for (size_t j = 0; j < batch->dimension_count; j++) {
            leaf[j] = is_dead ? INT64_MAX : 0;
        }
        for (size_t j = 0; !is_dead && j < batch->runs[i].need_count; j++) {
            const struct need *need = &batch->needs[batch->runs[i].need_first + j];
            if (need->column < batch->dimension_count) {
                leaf[need->column] = need->amount;
            }
        }
    }
    for (size_t i = batch->leaf_count - 1; i > 0; i--) {
        combine(batch, i);
    }
}

void batch_fill(struct batch *batch, struct batch_source source)
{
    size_t need_count = 0;
    for (size_t i = 0; i < source.count; i++) {
        need_count += request_at(&source, i)->amount_count;
    }
    forget_columns(batch);
    batch_make_room(batch, source.count, need_count);
    for (size_t i = 0; i < source.count; i++) {
        batch->runs[batch->run_capacity + i] = (struct run){
            .request = request_at(&source, i),
            .source = (uint32_t)i,
            .left = source.demands ? source.demands[i].count : 1};
    }
    sort_into_runs(batch, source.count);
    require(batch->run_count <= source.count, "there are at most as many runs as requests");
    for (size_t i = 0; i < batch->run_count; i++) {
        describe_run(batch, &batch->runs[i]);
    }
    plant_tree(batch);
}

static bool may_fit(const struct batch *batch, size_t at, const int64_t *amounts)
{
    const int64_t *smallest = tree_at(batch, at);
    for (size_t i = 0; i < batch->dimension_count; i++) {
        if (smallest[i] > amounts[i]) {
            return false;
        }
    }
    return true;
}

static bool batch_fits(const struct batch *batch, const struct run *run, const int64_t *amounts)
{
    for (size_t i = 0; i < run->need_count; i++) {
        const struct need *need = &batch->needs[run->need_first + i];
        if (need->amount > amounts[need->column]) {
            return false;
        }
    }
    return true;
}

size_t batch_next_fit(const struct batch *batch, size_t from, const int64_t *amounts)
{
    if (from >= batch->run_count) {
        return SIZE_MAX;
    }
    bool is_exact = batch->column_count <= BATCH_DIMENSIONS_MAX;
    size_t at = batch->leaf_count + from;
    while (at > 0) {
        if (may_fit(batch, at, amounts)) {
            if (at < batch->leaf_count) {
                at *= 2;
                continue;
            }
            if (is_exact || batch_fits(batch, &batch->runs[at - batch->leaf_count], amounts)) {
                return at - batch->leaf_count;
            }
        }
        /* Move to the next subtree on the right: up while this is a right child, then across. */
        while (at & 1) {
            at >>= 1;
        }
        at = at > 0 ? at + 1 : 0;
    }
    return SIZE_MAX;
}

void batch_take(struct batch *batch, size_t run, int64_t count)
{
    require(run < batch->run_count, "the run is in this batch");
    require(count > 0 && count <= batch->runs[run].left, "no more requests are taken than remain");
    require(batch->left >= batch->runs[run].left, "a run is part of the batch");
    batch->left -= count;
    batch->runs[run].left -= count;
    if (batch->runs[run].left > 0) {
        return;
    }
    size_t at = batch->leaf_count + run;
    for (size_t i = 0; i < batch->dimension_count; i++) {
        tree_at(batch, at)[i] = INT64_MAX;
    }
    for (at /= 2; at > 0; at /= 2) {
        combine(batch, at);
    }
}
