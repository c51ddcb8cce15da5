/* equivalence.c: hashes and compares the remaining resources of nodes. */
#include "core/plan/equivalence.h"

#include <string.h>

static uint64_t equivalence_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t kin_hash(const struct fleet_node *node, enum demand_source source)
{
    const int64_t *free = fleet_read(node, source)->free;
    uint64_t hash = equivalence_mix(node->type, (uint64_t)node->is_running << 1 | node->is_head);
    for (size_t i = 0; i < node->capacity_count; i++) {
        hash = equivalence_mix(hash, (uint64_t)free[i]);
        if (node->is_running) {
            hash = equivalence_mix(hash, (uint64_t)node->capacities[i].total);
        }
    }
    return hash;
}

static bool implicit_covers(const struct implicit_use *some, const struct implicit_use *all)
{
    for (; some; some = some->next) {
        const struct implicit_use *other = all;
        while (other && other->name != some->name) {
            other = other->next;
        }
        if (!other || other->left != some->left) {
            return false;
        }
    }
    return true;
}

static bool added_covers(const struct added_label *some, const struct fleet_node *all)
{
    for (; some; some = some->next) {
        if (fleet_label(all, some->label.key) != some->label.value) {
            return false;
        }
    }
    return true;
}

static bool amounts_same(const struct fleet_node *a, const struct fleet_node *b,
                         enum demand_source source)
{
    return a->capacity_count == b->capacity_count &&
           memcmp(fleet_read(a, source)->free, fleet_read(b, source)->free,
                  a->capacity_count * sizeof(int64_t)) == 0;
}

static bool waiting_same(const struct fleet_node *a, const struct fleet_node *b,
                         enum demand_source source)
{
    const struct ledger *one = fleet_read(a, source);
    const struct ledger *other = fleet_read(b, source);
    return implicit_covers(one->implicit, other->implicit) &&
           implicit_covers(other->implicit, one->implicit) && added_covers(a->added, b) &&
           added_covers(b->added, a);
}

/* Resources that are not requested are compared by amount only: "node:10.0.0.7" is like any
 * other. */
static bool capacities_same(const struct batch *batch, const struct fleet_node *a,
                            const struct fleet_node *b, uint32_t gpu)
{
    if (a->capacities == b->capacities) {
        return true;
    }
    for (size_t i = 0; i < a->capacity_count; i++) {
        const struct capacity *one = &a->capacities[i];
        const struct capacity *other = &b->capacities[i];
        bool is_read = batch->column_of[one->name] != COLUMN_NONE ||
                       batch->column_of[other->name] != COLUMN_NONE || one->name == gpu ||
                       other->name == gpu;
        if (one->total != other->total || (is_read && one->name != other->name)) {
            return false;
        }
    }
    return true;
}

static bool label_sets_same(struct label_set a, struct label_set b)
{
    if (a.count != b.count) {
        return false;
    }
    for (size_t i = 0; a.items != b.items && i < a.count; i++) {
        if (a.items[i].key != b.items[i].key || a.items[i].value != b.items[i].value) {
            return false;
        }
    }
    return true;
}

static bool equivalence_is_plain(const struct fleet_node *node, enum demand_source source)
{
    return !node->added && !fleet_read(node, source)->implicit &&
           !fleet_read(node, source)->selectors;
}

bool kin_same_history(const struct fleet_node *a, const struct fleet_node *b,
                      enum demand_source source)
{
    const struct ledger *one = fleet_read(a, source);
    const struct ledger *other = fleet_read(b, source);
    return one->has_gpu_requests == other->has_gpu_requests && one->selectors == other->selectors &&
           memcmp(one->used, other->used, a->capacity_count) == 0;
}

bool kin_same(const struct batch *batch, const struct fleet_node *a, const struct fleet_node *b,
              enum demand_source source, uint32_t gpu)
{
    if (a->type != b->type || a->is_running != b->is_running || a->is_head != b->is_head ||
        !amounts_same(a, b, source)) {
        return false;
    }
    if (!a->is_running) {
        return waiting_same(a, b, source);
    }
    return equivalence_is_plain(a, source) && equivalence_is_plain(b, source) &&
           kin_same_history(a, b, source) && capacities_same(batch, a, b, gpu) &&
           (!batch->has_labels || label_sets_same(a->labels, b->labels));
}
