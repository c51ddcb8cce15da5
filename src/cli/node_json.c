/* node_json.c: writes a node view field by field. */
#include "cli/node_json.h"

#include "cli/json_object.h"
#include "provider/price.h"

static struct value *node_json_uses(struct arena *arena, const struct node_view *view)
{
    struct value *uses = record_new(arena);
    for (size_t i = 0; i < view->use_count; i++) {
        struct value *use = record_new(arena);
        const char *name = arena_str(arena, view->uses[i].name).ptr;
        record_number(arena, use, "used", view->uses[i].used);
        record_number(arena, use, "total", view->uses[i].total);
        value_map_set_c(arena, uses, name, use);
    }
    return uses;
}

static struct value *node_record(struct arena *arena, const struct node_view *view)
{
    struct value *record = record_new(arena);
    record_fields(arena, record, &node_view_table, view);
    value_map_set_c(arena, record, "uses", node_json_uses(arena, view));
    if (view->phase == PHASE_FAILED) {
        struct value *failure = record_new(arena);
        record_fields(arena, failure, &node_failure_table, &view->failure);
        value_map_set_c(arena, record, "failure", failure);
    } else {
        record_null(arena, record, "failure");
    }
    return record;
}

struct value *node_records(struct arena *arena, const struct node_view *views, size_t count)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < count; i++) {
        value_list_add(arena, list, node_record(arena, &views[i]));
    }
    return list;
}

struct value *event_record(struct arena *arena, const struct cluster_event *event)
{
    struct value *record = record_new(arena);
    record_fields(arena, record, &cluster_event_table, event);
    return record;
}
