/*
 * cluster_fit.c: precomputes the needs of each class on each type.
 *
 * Implicit resources, of which every node has one unit without listing it, are added as columns
 * after the listed ones, so that no other code needs to handle them.
 */
#include "sim/cluster_internal.h"

#include "core/resource.h"

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
