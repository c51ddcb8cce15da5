/* ray_view_status.c: nodes and demand for users. */
#include "app/head/ray/ray_view_internal.h"
#include "base/encode.h"
#include "core/format.h"
#include "core/resource.h"

enum {
    KINDS_SHOWN = 6,
    VALUES_SHOWN = 6,
    TEXT_BYTES_MOST = 2000,
};

/* ---- nodes ---- */

static double units(int64_t amount)
{
    return (double)amount / RESOURCE_UNIT;
}

/* Sorted by name, so that all nodes have the same order. */
static void insert_use(struct resource_usage *uses, size_t count, struct resource_usage one)
{
    size_t at = count;
    while (at > 0 && str_cmp(uses[at - 1].name, one.name) > 0) {
        uses[at] = uses[at - 1];
        at--;
    }
    uses[at] = one;
}

static void show_uses(const struct ray_view *mirror, const struct ray_view_node *node,
                      struct arena *arena, struct node_usage *shown)
{
    const struct ray_view_facts *facts = node->facts;
    uint32_t store = intern_find(mirror->names.all, STR("object_store_memory"));
    struct resource_usage *uses = ARENA_ARRAY(arena, facts->capacity_count, struct resource_usage);
    size_t count = 0;
    for (size_t i = 0; i < facts->capacity_count; i++) {
        const struct capacity *one = &facts->capacities[i];
        struct str name = ray_view_names_text(&mirror->names, one->name);
        int64_t free = one->name == store ? node->store_free : one->free;
        if (one->total == CAPACITY_ABSENT || str_starts(name, "node:")) {
            continue;
        }
        free = free > 0 ? free : 0;
        insert_use(uses, count++,
                   (struct resource_usage){.name = arena_str(arena, name),
                                           .used = units(free < one->total ? one->total - free : 0),
                                           .total = units(one->total)});
    }
    shown->uses = uses;
    shown->use_count = count;
}

static void ray_view_status_show_node(const struct ray_view *mirror,
                                      const struct ray_view_node *node, struct arena *arena,
                                      struct node_usage *shown)
{
    char *id = arena_alloc(arena, 2 * RAY_ID_BYTES + 1);
    encode_hex_to(id, node->id, RAY_ID_BYTES);
    *shown = (struct node_usage){.instance = node->instance,
                                 .ray_id = {id, 2 * RAY_ID_BYTES},
                                 .idle_ms = -1,
                                 .is_draining = node->status == RAY_NODE_DRAINING,
                                 .is_dead = !ray_view_is_alive(node)};
    if (node->idle_since != NOT_IDLE) {
        int64_t idle = mirror->asked_at_ms - node->idle_since;
        shown->idle_ms = idle > 0 ? idle : 0;
    }
    if (node->activity && shown->idle_ms < 0) {
        shown->activity = format_plain(str_from(node->activity), arena);
    }
    if (node->facts) {
        show_uses(mirror, node, arena, shown);
    }
}

/* The node that represents its machine, and living nodes that were started by hand. */
static bool ray_view_status_is_shown(const struct ray_view *mirror,
                                     const struct ray_view_node *node)
{
    const struct ray_view_machine *seat = ray_view_machine_find(mirror, node->instance);
    return seat ? seat->best == node : ray_view_is_alive(node);
}

void ray_view_nodes(const struct ray_view *mirror, struct arena *arena,
                    const struct node_usage **ret_nodes, size_t *ret_count)
{
    struct node_usage *nodes = ARENA_ARRAY(arena, mirror->node_count, struct node_usage);
    size_t count = 0;
    for (size_t i = 0; i < mirror->node_count; i++) {
        if (ray_view_status_is_shown(mirror, mirror->nodes[i])) {
            ray_view_status_show_node(mirror, mirror->nodes[i], arena, &nodes[count++]);
        }
    }
    *ret_nodes = nodes;
    *ret_count = count;
}

/* ---- shapes ---- */

/* "{CPU: 4, GPU: 1}" */
static void add_shape(const struct ray_view *mirror, const struct request *request,
                      struct arena *arena, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *one = &request->amounts[i];
        struct str name = format_plain(ray_view_names_text(&mirror->names, one->name), arena);
        struct str amount = format_amount(name, one->amount, arena);
        buf_addf(out, "%s%.*s: %.*s", i > 0 ? ", " : "", STR_ARG(name), STR_ARG(amount));
    }
    buf_add_char(out, '}');
}

static bool is_like(const struct request *a, const struct request *b)
{
    if (a->amount_count != b->amount_count) {
        return false;
    }
    for (size_t i = 0; i < a->amount_count; i++) {
        if (a->amounts[i].name != b->amounts[i].name ||
            a->amounts[i].amount != b->amounts[i].amount) {
            return false;
        }
    }
    return true;
}

/* "{CPU: 1} * 3, {GPU: 1} * 1 (PACK)": grouped as in `ray status`. */
static void add_gang(const struct ray_view *mirror, const struct ray_view_waiting *gang,
                     struct arena *arena, struct buf *out)
{
    const struct request *kinds[KINDS_SHOWN];
    size_t counts[KINDS_SHOWN] = {0};
    size_t kind_count = 0;
    size_t others = 0;
    for (size_t i = 0; i < gang->request_count; i++) {
        size_t at = 0;
        while (at < kind_count && !is_like(kinds[at], &gang->requests[i])) {
            at++;
        }
        if (at == KINDS_SHOWN) {
            others++;
            continue;
        }
        kinds[at] = &gang->requests[i];
        counts[at]++;
        kind_count += at == kind_count;
    }
    for (size_t i = 0; i < kind_count; i++) {
        buf_add_c(out, i > 0 ? ", " : "");
        add_shape(mirror, kinds[i], arena, out);
        buf_addf(out, " * %zu", counts[i]);
    }
    if (others > 0) {
        buf_addf(out, ", %zu more", others);
    }
    if (gang->strategy.len > 0) {
        struct str strategy = format_plain(gang->strategy, arena);
        buf_addf(out, " (%.*s)", STR_ARG(strategy));
    }
}

/* ---- labels ---- */

/* "zone=a", "zone in (a, b)", "zone not in (a)" */
static void add_rule(const struct ray_view *mirror, const struct label_rule *rule,
                     struct arena *arena, struct buf *out)
{
    static const char *const operators[] = {
        [LABEL_IN] = "in",
        [LABEL_NOT_IN] = "not in",
        [LABEL_NEVER] = "with an unknown operator and the values"};
    struct str key = format_plain(ray_view_names_text(&mirror->names, rule->key), arena);
    bool is_equal = rule->op == LABEL_IN && rule->value_count == 1;
    buf_add(out, key);
    if (is_equal) {
        buf_add_char(out, '=');
    } else {
        buf_addf(out, " %s (", operators[rule->op]);
    }
    for (size_t i = 0; i < rule->value_count && i < VALUES_SHOWN; i++) {
        struct str value = format_plain(ray_view_names_text(&mirror->names, rule->values[i]),
                                        arena);
        buf_add_c(out, i > 0 ? ", " : "");
        buf_add(out, value);
    }
    if (rule->value_count > VALUES_SHOWN) {
        buf_addf(out, ", %zu more", rule->value_count - VALUES_SHOWN);
    }
    buf_add_c(out, is_equal ? "" : ")");
}

/* "zone=a and market=spot, or zone=b" */
static void add_selectors(const struct ray_view *mirror, const struct request *request,
                          struct arena *arena, struct buf *out)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        buf_add_c(out, i > 0 ? ", or " : "");
        for (size_t j = 0; j < selector->rule_count; j++) {
            buf_add_c(out, j > 0 ? " and " : "");
            add_rule(mirror, &selector->rules[j], arena, out);
        }
        buf_add_c(out, selector->rule_count == 0 ? "any" : "");
    }
}

static bool has_same_selectors(const struct request *a, const struct request *b)
{
    return a->selector_count == b->selector_count &&
           label_selectors_same(a->selectors, b->selectors, a->selector_count);
}

/* For a group: the first selector of its bundles, and whether others differ. */
static void ray_view_status_add_labels(const struct ray_view *mirror,
                                       const struct ray_view_waiting *item, struct arena *arena,
                                       struct buf *out)
{
    const struct request *first = NULL;
    bool is_mixed = false;
    for (size_t i = 0; i < item->request_count; i++) {
        const struct request *one = &item->requests[i];
        first = !first && one->selector_count > 0 ? one : first;
        is_mixed = is_mixed || !has_same_selectors(&item->requests[0], one);
    }
    if (first) {
        add_selectors(mirror, first, arena, out);
        buf_add_c(out, is_mixed ? " (not all of its bundles)" : "");
    }
}

/* ---- demand ---- */

static struct str ray_view_status_save(struct arena *arena, struct buf *text)
{
    struct str kept = arena_str(arena, buf_str(text));
    buf_clear(text);
    return kept;
}

void ray_view_demands(const struct ray_view *mirror, struct arena *arena,
                      struct pending_demand **ret_demands, size_t *ret_count)
{
    const struct ray_view_load *load = &mirror->load;
    struct pending_demand *demands = ARENA_ARRAY(arena, load->count, struct pending_demand);
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MOST);
    for (size_t i = 0; i < load->count; i++) {
        const struct ray_view_waiting *item = &load->items[i];
        if (item->source == DEMAND_PLACEMENT_GROUP) {
            add_gang(mirror, item, arena, &text);
        } else {
            add_shape(mirror, item->requests, arena, &text);
        }
        demands[i] = (struct pending_demand){.source = item->source,
                                             .shape = ray_view_status_save(arena, &text),
                                             .job = arena_str(arena, item->job),
                                             .count = item->count,
                                             .since_ms = item->since_ms,
                                             .bytes = arena_str(arena, item->bytes)};
        ray_view_status_add_labels(mirror, item, arena, &text);
        demands[i].labels = ray_view_status_save(arena, &text);
    }
    *ret_demands = demands;
    *ret_count = load->count;
}
