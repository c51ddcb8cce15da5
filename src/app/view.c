/* view.c: a node as a line of JSON. */
#include "app/view.h"

#include "core/plan/plan.h"
#include "io/json_line.h"

#include <string.h>

struct phase_row {
    const char *word; /* on the wire */
    const char *text; /* for people */
};

static const struct phase_row phases[PHASE_COUNT] = {
    [PHASE_ASKED] = {"asked", "asked for"},
    [PHASE_BOOTING] = {"booting", "booting"},
    [PHASE_CONNECTING] = {"connecting", "waiting for ssh"},
    [PHASE_COPYING] = {"copying", "copying files"},
    [PHASE_SETTING_UP] = {"setting-up", "set-up"},
    [PHASE_WAITING] = {"waiting", "waiting for the head"},
    [PHASE_STARTING] = {"starting", "starting Ray"},
    [PHASE_JOINING] = {"joining", "joining"},
    [PHASE_READY] = {"ready", "ready"},
    [PHASE_ENDING] = {"ending", "ending"},
    [PHASE_GONE] = {"gone", "gone"},
    [PHASE_FAILED] = {"failed", "failed"},
};

const char *node_phase_text(enum node_phase phase)
{
    return phases[phase].text;
}

const char *node_phase_word(enum node_phase phase)
{
    return phases[phase].word;
}

static void put_failure(json_t *json, const struct node_failure *failure)
{
    json_t *object = json_object();
    json_put_text(object, "step", failure->step);
    json_put_text(object, "command", failure->command);
    json_put_text(object, "path", failure->path);
    json_put_text(object, "said", failure->said);
    json_put_text(object, "why", failure->why);
    json_put_text(object, "next", failure->next);
    json_put_number(object, "status", failure->status);
    if (json_object_size(object) > 0) {
        json_object_set(json, "failure", object);
    }
    json_decref(object);
}

/* A number without a value has no form in JSON. */
static json_t *amount_json(double amount)
{
    json_t *json = json_real(amount);
    return json ? json : json_integer(0);
}

static void put_uses(json_t *json, const struct node_view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->use_count; i++) {
        json_t *use = json_object();
        json_put_text(use, "name", view->uses[i].name);
        json_object_set_new(use, "used", amount_json(view->uses[i].used));
        json_object_set_new(use, "total", amount_json(view->uses[i].total));
        json_array_append_new(list, use);
    }
    if (view->use_count > 0) {
        json_object_set(json, "uses", list);
    }
    json_decref(list);
}

void node_view_write(const struct node_view *view, struct buf *out)
{
    json_t *json = json_object();
    json_put_text(json, "name", view->name);
    json_put_text(json, "id", view->id);
    json_put_text(json, "type", view->type);
    json_put_text(json, "machine", view->machine);
    json_put_text(json, "zone", view->zone);
    json_put_text(json, "public_ip", view->public_ip);
    json_put_text(json, "private_ip", view->private_ip);
    json_put_flag(json, "is_head", view->is_head);
    json_put_flag(json, "is_spot", view->is_spot);
    json_put_text(json, "phase", str_from(phases[view->phase].word));
    json_put_number(json, "since_ms", view->since_ms);
    json_put_number(json, "born_ms", view->born_ms);
    if (view->price != PRICE_UNKNOWN) {
        json_object_set_new(json, "price", json_integer(view->price));
    }
    json_put_number(json, "step", (int64_t)view->step);
    json_put_number(json, "steps", (int64_t)view->steps);
    json_put_text(json, "detail", view->detail);
    json_put_text(json, "reason", view->reason);
    put_failure(json, &view->failure);
    json_put_text(json, "ray_id", view->ray_id);
    put_uses(json, view);
    json_put_number(json, "idle_since_ms", view->idle_since_ms);
    json_put_text(json, "activity", view->activity);
    json_put_flag(json, "is_draining", view->is_draining);
    json_put_out(json, false, out);
}

static bool phase_of(const json_t *json, enum node_phase *ret_phase)
{
    const char *word = json_string_value(json_object_get(json, "phase"));
    for (size_t i = 0; word && i < PHASE_COUNT; i++) {
        if (strcmp(word, phases[i].word) == 0) {
            *ret_phase = (enum node_phase)i;
            return true;
        }
    }
    return false;
}

static struct node_failure failure_of(const json_t *json, struct arena *arena)
{
    const json_t *object = json_object_get(json, "failure");
    return (struct node_failure){
        .step = json_take_text(object, "step", arena),
        .command = json_take_text(object, "command", arena),
        .path = json_take_text(object, "path", arena),
        .said = json_take_text(object, "said", arena),
        .why = json_take_text(object, "why", arena),
        .next = json_take_text(object, "next", arena),
        .status = (int)json_take_number(object, "status", 0, 255),
    };
}

static void read_uses(const json_t *json, struct arena *arena, struct node_view *view)
{
    const json_t *list = json_object_get(json, "uses");
    size_t count = json_array_size(list);
    struct insight_use *uses = ARENA_ARRAY(arena, count, struct insight_use);
    for (size_t i = 0; i < count; i++) {
        const json_t *use = json_array_get(list, i);
        uses[i] = (struct insight_use){
            .name = json_take_text(use, "name", arena),
            .used = json_number_value(json_object_get(use, "used")),
            .total = json_number_value(json_object_get(use, "total")),
        };
    }
    view->uses = uses;
    view->use_count = count;
}

bool node_view_read(struct str text, struct arena *arena, struct node_view *ret_view,
                    struct err *err)
{
    json_t *json;
    enum node_phase phase;
    if (!json_line_read(text, "a node", &json, err)) {
        return false;
    }
    if (!phase_of(json, &phase) || json_string_length(json_object_get(json, "name")) == 0) {
        json_decref(json);
        return err_set(err, ERR_PROTOCOL, "a node without a name, or in a phase that is not known");
    }
    bool has_price = json_is_integer(json_object_get(json, "price"));
    *ret_view = (struct node_view){
        .name = json_take_text(json, "name", arena),
        .id = json_take_text(json, "id", arena),
        .type = json_take_text(json, "type", arena),
        .machine = json_take_text(json, "machine", arena),
        .zone = json_take_text(json, "zone", arena),
        .public_ip = json_take_text(json, "public_ip", arena),
        .private_ip = json_take_text(json, "private_ip", arena),
        .is_head = json_take_flag(json, "is_head"),
        .is_spot = json_take_flag(json, "is_spot"),
        .phase = phase,
        .since_ms = json_take_number(json, "since_ms", 0, INT64_MAX),
        .born_ms = json_take_number(json, "born_ms", 0, INT64_MAX),
        .price = has_price ? json_take_number(json, "price", 0, INT64_MAX) : PRICE_UNKNOWN,
        .step = (size_t)json_take_number(json, "step", 0, UINT32_MAX),
        .steps = (size_t)json_take_number(json, "steps", 0, UINT32_MAX),
        .detail = json_take_text(json, "detail", arena),
        .reason = json_take_text(json, "reason", arena),
        .failure = failure_of(json, arena),
        .ray_id = json_take_text(json, "ray_id", arena),
        .idle_since_ms = json_take_number(json, "idle_since_ms", 0, INT64_MAX),
        .activity = json_take_text(json, "activity", arena),
        .is_draining = json_take_flag(json, "is_draining"),
    };
    read_uses(json, arena, ret_view);
    json_decref(json);
    return true;
}
