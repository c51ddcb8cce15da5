/* step_event.c: reads and writes step events. */
#include "remote/step_event.h"

#include "base/utf8.h"
#include "io/json_line.h"

#include <string.h>

static const char *const words[STEP_EVENT_KIND_COUNT] = {
    [STEP_BUNDLE_BEGAN] = "bundle-began",
    [STEP_BEGAN] = "began",
    [STEP_SKIPPED] = "skipped",
    [STEP_DONE] = "done",
    [STEP_FAILED] = "failed",
    [STEP_BUNDLE_DONE] = "bundle-done",
    [STEP_BUNDLE_FAILED] = "bundle-failed",
    [STEP_AGAIN] = "again",
    [STEP_SAID] = "said",
};

const char *step_event_word(enum step_event_kind kind)
{
    return words[kind];
}

/* Output of commands may be any bytes; invalid UTF-8 is replaced so that JSON can hold it. */
static void step_event_set_text(json_t *json, const char *name, struct str value)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, 64 * 1024);
    utf8_add_visible(&visible, value, true);
    if (value.len > 0) {
        json_object_set_new(json, name, json_stringn(visible.ptr, visible.len));
    }
}

void step_event_write(const struct step_event *event, struct buf *out)
{
    json_t *json = json_object();
    json_object_set_new(json, "what", json_string(words[event->kind]));
    json_object_set_new(json, "at", json_integer(event->wall_ms));
    step_event_set_text(json, "key", event->key);
    step_event_set_text(json, "run", event->run);
    json_put_number(json, "count", (int64_t)event->count);
    json_put_number(json, "step", (int64_t)event->step);
    step_event_set_text(json, "name", event->name);
    json_put_number(json, "took_ms", event->took_ms);
    json_put_number(json, "status", event->status);
    json_put_number(json, "signal", event->signal);
    json_put_number(json, "late", event->is_late);
    step_event_set_text(json, "tail", event->tail);
    json_put_out(json, true, out);
}

/* ---- reading ---- */

static struct str step_event_text_of(const json_t *json, const char *name, struct arena *arena)
{
    const json_t *value = json_object_get(json, name);
    struct str text = {json_string_value(value), json_string_length(value)};
    AUTO_BUF struct buf visible;
    buf_init(&visible, 64 * 1024);
    if (text.len > 0) { /* the node is not trusted */
        utf8_add_visible(&visible, text, true);
    }
    return arena_str(arena, buf_str(&visible));
}

static int64_t step_event_number_of(const json_t *json, const char *name, int64_t most)
{
    int64_t value = json_integer_value(json_object_get(json, name));
    return value >= 0 && value <= most ? value : 0;
}

bool step_event_read(struct str line, struct arena *arena, struct step_event *ret_event,
                     struct err *err)
{
    json_t *json = json_loadb(line.ptr ? line.ptr : "", line.len, JSON_REJECT_DUPLICATES, NULL);
    const char *what = json_string_value(json_object_get(json, "what"));
    size_t kind = 0;
    while (what && kind < STEP_EVENT_KIND_COUNT && strcmp(what, words[kind]) != 0) {
        kind++;
    }
    if (!what || kind == STEP_EVENT_KIND_COUNT) {
        json_decref(json);
        return err_set(err, ERR_PROTOCOL, "invalid line from the node");
    }
    *ret_event = (struct step_event){
        .kind = (enum step_event_kind)kind,
        .wall_ms = step_event_number_of(json, "at", INT64_MAX),
        .key = step_event_text_of(json, "key", arena),
        .run = step_event_text_of(json, "run", arena),
        .count = (size_t)step_event_number_of(json, "count", UINT32_MAX),
        .step = (size_t)step_event_number_of(json, "step", UINT32_MAX),
        .name = step_event_text_of(json, "name", arena),
        .took_ms = step_event_number_of(json, "took_ms", INT64_MAX),
        .status = (int)step_event_number_of(json, "status", 255),
        .signal = (int)step_event_number_of(json, "signal", 255),
        .is_late = step_event_number_of(json, "late", 1) == 1,
        .tail = step_event_text_of(json, "tail", arena),
    };
    json_decref(json);
    return true;
}
