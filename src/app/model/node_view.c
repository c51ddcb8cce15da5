/* model/node_view.c: the fields of a node, its phases, and its JSON. */
#include "app/model/node_view.h"

#include "core/plan.h"
#include "io/json_line.h"

#include <string.h>

static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_REQUESTED] = "requested",   [PHASE_BOOTING] = "booting",
    [PHASE_CONNECTING] = "connecting", [PHASE_COPYING] = "copying",
    [PHASE_SETTING_UP] = "setting-up", [PHASE_WAITING] = "waiting",
    [PHASE_STARTING] = "starting",     [PHASE_JOINING] = "joining",
    [PHASE_READY] = "ready",           [PHASE_TERMINATING] = "terminating",
    [PHASE_TERMINATED] = "terminated", [PHASE_FAILED] = "failed",
};

static const char *const phase_texts[PHASE_COUNT] = {
    [PHASE_REQUESTED] = "requested",
    [PHASE_BOOTING] = "booting",
    [PHASE_CONNECTING] = "waiting for ssh",
    [PHASE_COPYING] = "copying files",
    [PHASE_SETTING_UP] = "setup",
    [PHASE_WAITING] = "waiting for the head",
    [PHASE_STARTING] = "starting Ray",
    [PHASE_JOINING] = "joining",
    [PHASE_READY] = "ready",
    [PHASE_TERMINATING] = "terminating",
    [PHASE_TERMINATED] = "terminated",
    [PHASE_FAILED] = "failed",
};

static const struct field failure_fields[] = {
    FIELD(struct node_failure, step, "step", FIELD_TEXT),
    FIELD(struct node_failure, command, "command", FIELD_TEXT),
    FIELD(struct node_failure, path, "config_path", FIELD_TEXT),
    FIELD(struct node_failure, said, "output", FIELD_TEXT),
    FIELD(struct node_failure, why, "cause", FIELD_TEXT),
    FIELD(struct node_failure, next, "hint", FIELD_TEXT),
    FIELD(struct node_failure, status, "exit_status", FIELD_NUMBER),
};
const struct field_table node_failure_table = FIELD_TABLE(failure_fields);

/* PHASE_COUNT as the default: a phase that this version does not know is an error. */
static const struct field view_fields[] = {
    FIELD(struct node_view, name, "name", FIELD_TEXT),
    FIELD(struct node_view, is_head, "head", FIELD_FLAG),
    FIELD(struct node_view, id, "id", FIELD_TEXT),
    FIELD(struct node_view, type, "type", FIELD_TEXT),
    FIELD(struct node_view, machine, "instance_type", FIELD_TEXT),
    FIELD(struct node_view, zone, "zone", FIELD_TEXT),
    FIELD(struct node_view, is_spot, "spot", FIELD_FLAG),
    FIELD(struct node_view, public_ip, "public_ip", FIELD_TEXT),
    FIELD(struct node_view, private_ip, "private_ip", FIELD_TEXT),
    FIELD_OF_CHOICE(struct node_view, phase, "phase", phase_names, PHASE_COUNT),
    FIELD(struct node_view, since_ms, "since_ms", FIELD_NUMBER),
    FIELD(struct node_view, requested_ms, "requested_ms", FIELD_NUMBER),
    FIELD(struct node_view, kept_until_ms, "kept_until_ms", FIELD_NUMBER),
    FIELD(struct node_view, step, "step", FIELD_SIZE),
    FIELD(struct node_view, steps, "steps", FIELD_SIZE),
    FIELD(struct node_view, detail, "detail", FIELD_TEXT),
    FIELD(struct node_view, reason, "reason", FIELD_TEXT),
    FIELD(struct node_view, price, "dollars_per_hour", FIELD_DOLLARS),
    FIELD(struct node_view, ray_id, "ray_id", FIELD_TEXT),
    FIELD(struct node_view, idle_since_ms, "idle_since_ms", FIELD_NUMBER),
    FIELD(struct node_view, activity, "activity", FIELD_TEXT),
    FIELD(struct node_view, is_draining, "draining", FIELD_FLAG),
    FIELD(struct node_view, is_outdated, "outdated", FIELD_FLAG),
};
const struct field_table node_view_table = FIELD_TABLE(view_fields);

_Static_assert(PRICE_UNKNOWN == -1, "FIELD_DOLLARS writes -1 as null");

const char *node_phase_text(enum node_phase phase)
{
    return phase_texts[phase];
}

const char *node_phase_name(enum node_phase phase)
{
    return phase_names[phase];
}

/* ---- writing ---- */

static void node_view_put_failure(json_t *json, const struct node_failure *failure)
{
    json_t *object = json_object();
    fields_write(&node_failure_table, failure, object);
    if (json_object_size(object) > 0) {
        json_object_set(json, "failure", object);
    }
    json_decref(object);
}

/* NaN and infinity have no form in JSON. */
static json_t *node_view_amount(double amount)
{
    json_t *json = json_real(amount);
    return json ? json : json_integer(0);
}

static void node_view_put_uses(json_t *json, const struct node_view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->use_count; i++) {
        json_t *use = json_object();
        json_put_text(use, "name", view->uses[i].name);
        json_object_set_new(use, "used", node_view_amount(view->uses[i].used));
        json_object_set_new(use, "total", node_view_amount(view->uses[i].total));
        json_array_append_new(list, use);
    }
    if (view->use_count > 0) {
        json_object_set(json, "uses", list);
    }
    json_decref(list);
}

json_t *node_view_json(const struct node_view *view)
{
    json_t *json = json_object();
    fields_write(&node_view_table, view, json);
    node_view_put_failure(json, &view->failure);
    node_view_put_uses(json, view);
    return json;
}

/* ---- reading ---- */

static void node_view_read_uses(const json_t *json, struct arena *arena, struct node_view *view)
{
    const json_t *list = json_object_get(json, "uses");
    size_t count = json_array_size(list);
    struct resource_usage *uses = ARENA_ARRAY(arena, count, struct resource_usage);
    for (size_t i = 0; i < count; i++) {
        const json_t *use = json_array_get(list, i);
        uses[i] = (struct resource_usage){
            .name = json_take_text(use, "name", arena),
            .used = json_number_value(json_object_get(use, "used")),
            .total = json_number_value(json_object_get(use, "total")),
        };
    }
    view->uses = uses;
    view->use_count = count;
}

bool node_view_read(const json_t *json, struct arena *arena, struct node_view *ret_view,
                    struct err *err)
{
    struct node_view view = {0};
    const json_t *failure = json_object_get(json, "failure");
    if (!fields_read(&node_view_table, json, arena, &view) ||
        (failure && !fields_read(&node_failure_table, failure, arena, &view.failure))) {
        return err_set(err, ERR_PROTOCOL, "a node has a field of the wrong type");
    }
    if (view.name.len == 0 || view.phase == PHASE_COUNT) {
        return err_set(err, ERR_PROTOCOL, "a node has no name or an unknown phase");
    }
    node_view_read_uses(json, arena, &view);
    *ret_view = view;
    return true;
}

struct node_view node_view_copy(struct arena *arena, const struct node_view *view)
{
    struct node_view copy = *view;
    struct resource_usage *uses = ARENA_ARRAY(arena, view->use_count, struct resource_usage);
    fields_copy(&node_view_table, arena, &copy);
    fields_copy(&node_failure_table, arena, &copy.failure);
    for (size_t i = 0; i < view->use_count; i++) {
        uses[i] = view->uses[i];
        uses[i].name = arena_str(arena, view->uses[i].name);
    }
    copy.uses = uses;
    return copy;
}
