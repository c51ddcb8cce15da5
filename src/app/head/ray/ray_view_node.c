/* ray_view_node.c: reads a node for the core when its mark has changed. */
#include "app/head/ray/ray_view_internal.h"
#include "base/buf.h"

enum { ACTIVITY_BYTES_MOST = 160 };

void ray_view_node_free(struct ray_view_node *node)
{
    free(node->facts);
    free(node->fresh);
    free(node->activity);
    free(node);
}

/* ---- reading ---- */

/* Maps have no order. Only "node:..." resources may share a name, and then each is kept. */
static struct capacity *ray_view_node_find_capacity(struct capacity *items, size_t count,
                                                    uint32_t name)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].name == name) {
            return &items[i];
        }
    }
    return NULL;
}

static void insert_capacity(struct capacity *items, size_t count, struct capacity one)
{
    size_t at = count;
    while (at > 0 && items[at - 1].name > one.name) {
        items[at] = items[at - 1];
        at--;
    }
    items[at] = one;
}

static int64_t available_of(const struct ray_node_detail *detail, struct str name)
{
    for (size_t i = 0; i < detail->available_count; i++) {
        if (str_eq(detail->available[i].name, name)) {
            return ray_view_amount(detail->available[i].amount);
        }
    }
    return CAPACITY_ABSENT;
}

static size_t read_capacities(const struct ray_node_detail *detail, struct ray_view_names *names,
                              struct capacity *items)
{
    size_t count = 0;
    for (size_t i = 0; i < detail->total_count; i++) {
        const struct ray_quantity *total = &detail->totals[i];
        uint32_t name = ray_view_names_of_resource(names, total->name);
        if (name == NAME_NONE ||
            (name != names->own_node && ray_view_node_find_capacity(items, count, name))) {
            continue;
        }
        insert_capacity(items, count++,
                        (struct capacity){name, ray_view_amount(total->amount),
                                          available_of(detail, total->name)});
    }
    for (size_t i = 0; i < detail->available_count; i++) {
        const struct ray_quantity *free = &detail->available[i];
        uint32_t name = ray_view_names_of_resource(names, free->name);
        if (name != NAME_NONE && !ray_view_node_find_capacity(items, count, name)) {
            insert_capacity(
                items, count++,
                (struct capacity){name, CAPACITY_ABSENT, ray_view_amount(free->amount)});
        }
    }
    return count;
}

/* Only requested keys. A value that is not requested is `other`. */
static size_t read_labels(const struct ray_node_detail *detail, const struct ray_view_names *names,
                          struct label *items)
{
    size_t count = 0;
    for (size_t i = 0; i < detail->label_count; i++) {
        uint32_t key = ray_view_names_find(names, detail->labels[i].key);
        if (key == NAME_NONE) {
            continue;
        }
        uint32_t value = ray_view_names_find(names, detail->labels[i].value);
        struct label one = {key, value != NAME_NONE ? value : names->other};
        size_t at = count;
        while (at > 0 && items[at - 1].key > key) {
            items[at] = items[at - 1];
            at--;
        }
        items[at] = one;
        count++;
    }
    return count;
}

static struct ray_view_facts *make_facts(const struct ray_node_detail *detail,
                                         struct ray_view_names *names, struct arena *scratch)
{
    struct capacity *capacities = ARENA_ARRAY(
        scratch, detail->total_count + detail->available_count, struct capacity);
    struct label *labels = ARENA_ARRAY(scratch, detail->label_count, struct label);
    size_t capacity_count = read_capacities(detail, names, capacities);
    size_t label_count = read_labels(detail, names, labels);
    size_t capacity_bytes = capacity_count * sizeof(*capacities);
    struct ray_view_facts *facts = heap_zeroed(sizeof(*facts) + capacity_bytes +
                                               label_count * sizeof(*labels));
    struct label *kept = (struct label *)(facts->capacities + capacity_count);
    memcpy(facts->capacities, capacities, capacity_bytes);
    memcpy(kept, labels, label_count * sizeof(*labels));
    facts->capacity_count = (uint32_t)capacity_count;
    facts->label_count = (uint32_t)label_count;
    facts->labels = kept;
    return facts;
}

/* ---- comparison ---- */

static bool facts_same(const struct ray_view_facts *a, const struct ray_view_facts *b,
                       uint32_t passed_over)
{
    if (a->capacity_count != b->capacity_count || a->label_count != b->label_count) {
        return false;
    }
    for (size_t i = 0; i < a->capacity_count; i++) {
        const struct capacity *one = &a->capacities[i];
        const struct capacity *other = &b->capacities[i];
        if (one->name != other->name || one->total != other->total ||
            (one->free != other->free && one->name != passed_over)) {
            return false;
        }
    }
    for (size_t i = 0; i < a->label_count; i++) {
        if (a->labels[i].key != b->labels[i].key || a->labels[i].value != b->labels[i].value) {
            return false;
        }
    }
    return true;
}

/* ---- node ---- */

static void keep_activity(struct ray_view_node *node, const struct ray_node_detail *detail,
                          enum ray_node_status status)
{
    AUTO_BUF struct buf text;
    buf_init(&text, ACTIVITY_BYTES_MOST);
    for (size_t i = 0; status != RAY_NODE_IDLE && i < detail->activity_count; i++) {
        buf_add_c(&text, i > 0 ? " " : "");
        buf_add(&text, detail->activities[i]);
    }
    free(node->activity);
    node->activity = NULL;
    if (text.len > 0) {
        node->activity = heap_zeroed(text.len + 1);
        memcpy(node->activity, text.ptr, text.len);
    }
}

bool ray_view_node_read(struct ray_view_node *node, const struct ray_node_summary *glance,
                        struct ray_view_names *names, bool is_store_asked, struct arena *scratch,
                        struct err *err)
{
    struct ray_node_detail detail = {0};
    if (glance->status == RAY_NODE_DEAD) {
        return true;
    }
    if (!ray_node_read(glance->bytes, scratch, &detail, err)) {
        return err_wrap(err, "a Ray node");
    }
    struct ray_view_facts *facts = make_facts(&detail, names, scratch);
    uint32_t passed_over = is_store_asked ? NAME_NONE
                                          : intern_find(names->all, STR("object_store_memory"));
    free(node->fresh);
    node->fresh = NULL;
    if (node->facts && facts_same(node->facts, facts, passed_over)) {
        free(facts);
    } else {
        node->fresh = facts;
    }
    node->store_free = available_of(&detail, STR("object_store_memory"));
    node->is_head = detail.is_head;
    keep_activity(node, &detail, glance->status);
    return true;
}
