/* train_json.c: writes jobs with jansson, which also reads them. */
#include "cli/train/train_json.h"

#include "io/json_line.h"

static void put_text(json_t *object, const char *name, struct str text)
{
    json_object_set_new(object, name, json_stringn(text.ptr ? text.ptr : "", text.len));
}

static void put_number(json_t *object, const char *name, int64_t number)
{
    json_object_set_new(object, name, json_integer(number));
}

static void put_real(json_t *object, const char *name, double number)
{
    json_object_set_new(object, name, json_real(number));
}

static json_t *slots_of(const struct train_view *view)
{
    static const char *const states[] = {"", "pending", "preparing", "ready", "training", "ended"};
    json_t *list = json_array();
    for (size_t i = 0; i < view->slot_count && view->is_running; i++) {
        const struct train_view_slot *slot = &view->slots[i];
        json_t *row = json_object();
        put_number(row, "slot", slot->id);
        put_text(row, "state", str_from(states[slot->state]));
        json_object_set_new(row, "rank", slot->rank >= 0 ? json_integer(slot->rank) : json_null());
        put_text(row, "node", slot->node);
        put_text(row, "host", slot->host);
        put_number(row, "checkpoint", slot->checkpoint);
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *job_of(const struct train_view *view)
{
    json_t *job = json_object();
    bool is_training = view->is_running && view->phase == TRAIN_RUNNING;
    put_text(job, "job", view->name);
    put_text(job, "phase", str_from(train_view_phase(view)));
    put_text(job, "why", view->why);
    put_real(job, "since", view->since);
    put_number(job, "generation", view->generation);
    put_number(job, "replicas", is_training ? view->replicas : 0);
    put_number(job, "min", view->min);
    put_number(job, "max", view->max);
    put_number(job, "step", view->step);
    put_real(job, "steps_per_s", is_training ? view->rate : 0);
    json_object_set_new(job, "samples_per_s",
                        is_training && view->samples > 0 ? json_real(view->samples) : json_null());
    json_object_set_new(job, "dollars_per_hour",
                        is_training && view->dollars_per_hour > 0
                            ? json_real(view->dollars_per_hour)
                            : json_null());
    put_number(job, "checkpoint", view->checkpoint);
    json_object_set_new(job, "checkpoint_step",
                        view->checkpoint_step >= 0 ? json_integer(view->checkpoint_step)
                                                   : json_null());
    put_number(job, "stored", view->stored);
    json_object_set_new(job, "slots", slots_of(view));
    return job;
}

void train_json_list(struct buf *out, const struct train_view *views, size_t count)
{
    json_t *list = json_array();
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, job_of(&views[i]));
    }
    json_object_set_new(object, "jobs", list);
    json_put_out(object, true, out);
}

static void put_parts(json_t *object, const struct pause_parts *parts)
{
    put_real(object, "save_s", parts->save);
    put_real(object, "transfer_s", parts->transfer);
    put_real(object, "start_s", parts->start);
    put_real(object, "rendezvous_s", parts->rendezvous);
    put_real(object, "load_s", parts->load);
}

static json_t *event_of(const struct history_event *event)
{
    static const char *const names[] = {"run", "generation", "rate", "message", "end"};
    json_t *row = json_object();
    put_real(row, "time", event->time);
    put_text(row, "event", str_from(names[event->kind]));
    put_text(row, event->kind == HISTORY_MESSAGE ? "message" : "cause", event->text);
    put_number(row, "generation", event->generation);
    put_number(row, "step", event->step);
    if (event->kind == HISTORY_GENERATION) {
        put_number(row, "replicas", event->replicas);
        put_number(row, "replicas_before", event->replicas_before);
        put_number(row, "steps_repeated", event->repeated);
        put_real(row, "pause_s", event->pause.total);
        put_parts(row, &event->pause);
    } else if (event->kind == HISTORY_RATE) {
        put_number(row, "replicas", event->replicas);
        put_real(row, "steps_per_s", event->rate);
    }
    return row;
}

void train_json_status(struct buf *out, const struct train_view *view,
                       const struct train_history *history)
{
    struct history_sums sums = train_history_sums(history);
    json_t *job = job_of(view);
    json_t *pauses = json_object();
    json_t *events = json_array();
    put_number(pauses, "count", sums.pauses);
    put_real(pauses, "total_s", sums.parts.total);
    put_parts(pauses, &sums.parts);
    put_number(pauses, "steps_repeated", sums.repeated);
    json_object_set_new(job, "pauses", pauses);
    for (size_t i = 0; i < history->count; i++) {
        json_array_append_new(events, event_of(&history->events[i]));
    }
    json_object_set_new(job, "events", events);
    json_put_out(job, true, out);
}
