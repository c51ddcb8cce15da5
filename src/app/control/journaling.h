/* journaling.h: one transaction per step, and the replay of the journal at start. */
#pragma once

#include "app/control/controller.h"
#include "app/control/notify.h"
#include "app/control/reuse.h"
#include "app/retention.h"

struct journaling {
    /* Set by the owner. */
    struct controller *controller;
    const struct controller_setup *setup;
    const struct core_settings *settings;
    struct loop *loop;
    struct journal *journal;
    struct notifier *notifier;
    struct reuser *reuser;
    struct arena *scratch; /* as that of the controller */
    /* Read by others. */
    uint64_t sole_writer_epoch;
    int64_t sole_writer_since; /* loop clock; usually before this process started */
    int64_t time_base_ms;      /* journal time minus loop clock */
    /* Its own: records for the history. */
    struct retention retention;
    struct arena notes_memory;
    struct journal_entry *notes;
    size_t note_count, note_capacity;
    size_t written; /* entries since the history was trimmed */
    struct loop_timer *timer;
    bool is_waiting; /* the timer is running */
};

/* Records for the history; written with the next transaction. */
void journaling_add_event(struct journaling *journaling, const struct event *event);
void journaling_add_action(struct journaling *journaling, const struct action *action);

/* Writes the pending records and whatever `more` (may be NULL) writes, in one transaction. On
 * false, nothing was written and the owner was warned. */
typedef bool journaling_fn(struct controller *controller, void *context, struct err *err);
bool journaling_write(struct journaling *journaling, journaling_fn *more, void *context) MUST_USE;
/* Writes the pending records soon, in one batch. */
void journaling_write_later(struct journaling *journaling);
void journaling_init(struct journaling *journaling);
void journaling_clear(struct journaling *journaling);

/* False: this journal's cluster has another uid, and instances of it may still appear; the owner
 * was notified. Call it before journaling_record_lease(), which forgets the previous cluster. */
bool journaling_accepts_uid(struct journaling *journaling, struct str uid) MUST_USE;
/* Records the lease's epoch and the cluster's uid, and updates the sole-writer epoch. */
bool journaling_record_lease(struct journaling *journaling,
                             const struct cluster_lease *lease) MUST_USE;
/* Records that no machine is left, so that a later controller need not wait for late launches. */
void journaling_record_empty(struct journaling *journaling);
/* Was that holder an earlier process of ours? */
bool journaling_knows_holder(struct journaling *journaling, struct str holder);
bool journaling_add_holder(struct journaling *journaling) MUST_USE;
/* Replays all journaled launches into the core. */
bool journaling_replay(struct journaling *journaling) MUST_USE;
