/* node_record.c: a view, field by field. */
#include "cli/node_record.h"

#include "cli/record.h"
#include "provider/price.h"

static void add_price(struct arena *arena, struct value *record, int64_t price)
{
    enum { MICRO = 1000000 };
    if (price == PRICE_UNKNOWN) {
        record_null(arena, record, "dollars_per_hour");
    } else {
        record_number(arena, record, "dollars_per_hour", (double)price / MICRO);
    }
}

static struct value *failure_record(struct arena *arena, const struct node_failure *failure)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "step", failure->step);
    record_text(arena, record, "command", failure->command);
    record_text(arena, record, "path", failure->path);
    record_text(arena, record, "said", failure->said);
    record_text(arena, record, "why", failure->why);
    record_text(arena, record, "next", failure->next);
    record_int(arena, record, "exit_status", failure->status);
    return record;
}

/* What Ray says of it. */
static void add_ray(struct arena *arena, struct value *record, const struct node_view *view)
{
    struct value *uses = record_new(arena);
    for (size_t i = 0; i < view->use_count; i++) {
        struct value *use = record_new(arena);
        const char *name = arena_str(arena, view->uses[i].name).ptr;
        record_number(arena, use, "used", view->uses[i].used);
        record_number(arena, use, "total", view->uses[i].total);
        value_map_set_c(arena, uses, name, use);
    }
    record_text(arena, record, "ray_id", view->ray_id);
    value_map_set_c(arena, record, "uses", uses);
    record_int(arena, record, "idle_since_ms", view->idle_since_ms);
    record_text(arena, record, "activity", view->activity);
    record_flag(arena, record, "draining", view->is_draining);
}

struct value *node_record(struct arena *arena, const struct node_view *view)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "name", view->name);
    record_flag(arena, record, "head", view->is_head);
    record_text(arena, record, "id", view->id);
    record_text(arena, record, "type", view->type);
    record_text(arena, record, "machine", view->machine);
    record_text(arena, record, "zone", view->zone);
    record_flag(arena, record, "spot", view->is_spot);
    record_text(arena, record, "public_ip", view->public_ip);
    record_text(arena, record, "private_ip", view->private_ip);
    record_text(arena, record, "phase", str_from(node_phase_word(view->phase)));
    record_int(arena, record, "since_ms", view->since_ms);
    record_int(arena, record, "born_ms", view->born_ms);
    record_int(arena, record, "step", (int64_t)view->step);
    record_int(arena, record, "steps", (int64_t)view->steps);
    record_text(arena, record, "detail", view->detail);
    record_text(arena, record, "reason", view->reason);
    add_price(arena, record, view->price);
    add_ray(arena, record, view);
    if (view->phase == PHASE_FAILED) {
        value_map_set_c(arena, record, "failure", failure_record(arena, &view->failure));
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
