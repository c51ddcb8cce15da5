/* train_text.c: formats jobs for people. */
#include "cli/train/train_text.h"

#include "cli/columns.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { NAME_WIDTH = 20, EVENTS_SHOWN = 8, LIVE_BYTES = 1024 };

/* ---- parts ---- */

static void add_age(struct buf *out, double since, double now)
{
    columns_add_age(out, since > 0 && now > since ? (int64_t)((now - since) * 1000) : 0);
}

static void add_rate(struct buf *out, const struct train_view *view)
{
    if (view->phase != TRAIN_RUNNING || view->rate <= 0) {
        buf_add_c(out, "-");
        return;
    }
    buf_addf(out, view->rate < 1 ? "%.2f steps/s" : "%.1f steps/s", view->rate);
    if (view->samples > 0) {
        buf_addf(out, "  %.*f samples/s", view->samples < 10 ? 1 : 0, view->samples);
    }
}

/* What follows a sub-command: the cluster file, if one was named, and the job. */
static void add_job_words(struct buf *out, const struct train_view *view)
{
    buf_addf(out, "%.*s%s%.*s", STR_ARG(view->file), view->file.len > 0 ? " " : "",
             STR_ARG(view->name));
}

/* A job that is not training has no replicas, even if its last generation had some. */
static int64_t replicas_of(const struct train_view *view)
{
    return view->is_running && view->phase == TRAIN_RUNNING ? view->replicas : 0;
}

/* ---- the list ---- */

void train_text_list(struct buf *out, const struct train_view *views, size_t count, double now)
{
    columns_add_padded(out, STR("job"), NAME_WIDTH);
    buf_add_c(out, "  phase        replicas      step  since\n");
    for (size_t i = 0; i < count; i++) {
        const struct train_view *view = &views[i];
        columns_add_padded(out, view->name, NAME_WIDTH);
        buf_addf(out, "  %-11s  %8" PRId64 "  %8" PRId64 "  ", train_view_phase(view),
                 replicas_of(view), view->step);
        add_age(out, view->since, now);
        buf_add_char(out, '\n');
    }
}

/* ---- the status ---- */

static void add_slots(struct buf *out, const struct train_view *view)
{
    static const char *const states[] = {"", "pending", "preparing", "ready", "training", "ended"};
    for (size_t i = 0; i < view->slot_count && view->is_running; i++) {
        const struct train_view_slot *slot = &view->slots[i];
        buf_addf(out, "  slot %-4u %-10s", slot->id, states[slot->state]);
        if (slot->rank >= 0) {
            buf_addf(out, " rank %-3" PRId64, slot->rank);
        } else {
            buf_add_c(out, "         ");
        }
        if (slot->host.len > 0) {
            buf_addf(out, "  %.*s (node %.*s)", STR_ARG(slot->host),
                     STR_ARG(str_sub(slot->node, 0, 8)));
        }
        if (slot->checkpoint > 0) {
            buf_addf(out, "  checkpoint %" PRId64, slot->checkpoint);
        }
        buf_add_char(out, '\n');
    }
}

static void add_checkpoint(struct buf *out, const struct train_view *view, const char *folder)
{
    size_t holders = 0;
    for (size_t i = 0; i < view->slot_count && view->is_running; i++) {
        holders += view->slots[i].checkpoint == view->checkpoint;
    }
    if (view->checkpoint == 0) {
        buf_add_c(out, "none yet\n");
        return;
    }
    buf_addf(out, "%" PRId64, view->checkpoint);
    if (view->checkpoint_step >= 0) {
        buf_addf(out, " of step %" PRId64, view->checkpoint_step);
    }
    if (view->stored == view->checkpoint) {
        buf_addf(out, ", in %s/kept/%" PRId64 "\n", folder, view->stored);
    } else if (holders > 0) {
        buf_addf(out, ", on %zu slot%s; shoal train fetch ", holders, holders == 1 ? "" : "s");
        add_job_words(out, view);
        buf_add_c(out, " copies it\n");
    } else {
        buf_add_c(out, ", only on the nodes\n");
    }
}

static void add_pauses(struct buf *out, const struct history_sums *sums)
{
    if (sums->pauses == 0) {
        buf_add_c(out, "none\n");
        return;
    }
    buf_addf(out,
             "%" PRId64 ", %.2f s in all: save %.2f, transfer %.2f, start %.2f, rendezvous %.2f, "
             "load and first step %.2f; %" PRId64 " step%s repeated\n",
             sums->pauses, sums->parts.total, sums->parts.save, sums->parts.transfer,
             sums->parts.start, sums->parts.rendezvous, sums->parts.load, sums->repeated,
             sums->repeated == 1 ? "" : "s");
}

static void add_event(struct buf *out, const struct history_event *event)
{
    time_t at = (time_t)event->time;
    struct tm parts = {0};
    localtime_r(&at, &parts);
    buf_addf(out, "  %02d:%02d:%02d  ", parts.tm_hour, parts.tm_min, parts.tm_sec);
    switch (event->kind) {
    case HISTORY_RUN:
        buf_add_c(out, "the trainer started");
        break;
    case HISTORY_GENERATION:
        if (event->generation == 1 || event->replicas_before == 0) {
            buf_addf(out, "training with %" PRId64 " replica%s", event->replicas,
                     event->replicas == 1 ? "" : "s");
        } else {
            buf_addf(out, "%" PRId64 " -> %" PRId64 " replicas: %.*s; %.2f s without a step",
                     event->replicas_before, event->replicas, STR_ARG(event->text),
                     event->pause.total);
        }
        break;
    case HISTORY_MESSAGE:
        columns_add(out, event->text, 200);
        break;
    case HISTORY_END:
        buf_addf(out, "the job ended: %.*s", STR_ARG(event->text));
        break;
    case HISTORY_RATE:
    case HISTORY_KIND_COUNT:
        break;
    }
    buf_add_char(out, '\n');
}

static void add_events(struct buf *out, const struct train_history *history)
{
    size_t left = 0;
    for (size_t i = 0; i < history->count; i++) {
        left += history->events[i].kind != HISTORY_RATE;
    }
    if (left > 0) {
        buf_add_c(out, "\nlast events:\n");
    }
    for (size_t i = 0; i < history->count; i++) {
        if (history->events[i].kind == HISTORY_RATE) {
            continue;
        }
        if (left-- <= EVENTS_SHOWN) {
            add_event(out, &history->events[i]);
        }
    }
}

static const char *status_advice(const struct train_view *view)
{
    return view->phase == TRAIN_SUCCEEDED || view->is_running ? NULL
           : view->phase < TRAIN_SUCCEEDED
               ? "The trainer of this job is gone. Its replicas continue for ten minutes without "
                 "it, and their nodes keep the newest checkpoint for a day. To continue"
               : "To continue";
}

void train_text_status(struct buf *out, const struct train_view *view,
                       const struct train_history *history, const char *folder, double now)
{
    struct history_sums sums = train_history_sums(history);
    buf_addf(out, "%.*s: %s for ", STR_ARG(view->name), train_view_phase(view));
    add_age(out, view->since, now);
    if (view->why.len > 0 && (view->phase != TRAIN_RUNNING || !view->is_running)) {
        buf_addf(out, " (%.*s)", STR_ARG(view->why));
    }
    buf_addf(out, "\n\n  replicas    %" PRId64 " (from %" PRId64 " to %" PRId64 ")\n",
             replicas_of(view), view->min, view->max);
    buf_addf(out, "  generation  %" PRId64 "\n  step        %" PRId64, view->generation,
             view->step);
    if (view->is_running && view->phase == TRAIN_RUNNING && view->rate > 0) {
        buf_add_c(out, ", ");
        add_rate(out, view);
    }
    if (view->is_running && view->phase == TRAIN_RUNNING && view->dollars_per_hour > 0) {
        buf_addf(out, "\n  price       $%.2f/h", view->dollars_per_hour);
    }
    buf_add_c(out, "\n  checkpoint  ");
    add_checkpoint(out, view, folder);
    buf_add_c(out, "  pauses      ");
    add_pauses(out, &sums);
    if (view->is_running && view->slot_count > 0) {
        buf_add_char(out, '\n');
    }
    add_slots(out, view);
    add_events(out, history);
    if (status_advice(view)) {
        buf_addf(out, "\n%s: shoal train resume ", status_advice(view));
        add_job_words(out, view);
        buf_add_char(out, '\n');
    }
}

/* ---- the live line ---- */

void train_text_live(struct buf *out, const struct train_view *view, size_t columns)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LIVE_BYTES);
    buf_addf(&line, "%s  step %" PRId64 "  ", train_view_phase(view), view->step);
    add_rate(&line, view);
    buf_addf(&line, "  %" PRId64 " of %" PRId64 " replicas  generation %" PRId64, replicas_of(view),
             view->max, view->generation);
    if (view->checkpoint > 0 && view->checkpoint_step >= 0) {
        buf_addf(&line, "  checkpoint of step %" PRId64, view->checkpoint_step);
    }
    if (view->stalled >= 2) {
        buf_addf(&line, "  %.0f s without a step", view->stalled);
    }
    if (view->dollars_per_hour > 0) {
        buf_addf(&line, "  $%.2f/h", view->dollars_per_hour);
    }
    columns_add(out, buf_str(&line), columns);
}
