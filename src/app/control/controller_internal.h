/*
 * controller_internal.h: struct controller, shared by the files of this folder.
 *
 * All events enter through controller_apply(); all actions come from the turn that follows
 * (controller.c). A turn is one step: its events, actions and launch intents are one journal
 * transaction, and calls are made after it.
 */
#pragma once

#include "app/control/controller.h"
#include "app/control/machine_table.h"
#include "app/control/notify.h"
#include "app/control/reuse.h"
#include "app/control/timing.h"
#include "app/retention.h"

/* Context of a provider call. The reply may arrive after the controller was closed, so a call lives
 * in the session's memory; calls are recycled. */
struct call {
    struct controller *controller; /* NULL once the controller is closed */
    struct call *next;
    int64_t asked_at;
    uint64_t launch;
    uint32_t offering;
    uint64_t *instances; /* heap */
    size_t count;
    struct tag_group *tags;  /* heap */
    struct reuse_run *reuse; /* heap */
};

/* A journaled launch without a definite result. */
struct open_launch {
    uint64_t launch;
    int64_t unsure_until; /* an earlier call may take effect until then; 0 if none can */
};

struct preparer {
    provider_resources_fn *done;
    void *context;
};

enum preparing { PREPARING_NOT, PREPARING_PREFLIGHT, PREPARING_REST, PREPARING_DONE };

struct controller {
    struct controller_setup setup;
    struct loop *loop;
    struct provider *provider;
    struct journal *journal;
    struct core_settings settings;
    struct core *core;
    struct arena life;    /* lives as long as the controller */
    struct arena scratch; /* cleared after a turn once it is large */
    struct machine_table machine_table;
    struct call *calls; /* in flight */
    struct call *spare_calls;

    /* lease.c */
    struct cluster_lease lease;
    struct arena lease_memory;
    uint64_t sole_writer_epoch;
    int64_t sole_writer_since; /* loop clock; usually before this process started */
    struct loop_timer *lease_timer;
    int64_t lease_retry_ms;
    uint64_t take_from;
    bool is_handed_over; /* by the holder of `take_from`; true until it was tried */
    uint64_t refused_by; /* epoch of the holder that was reported in a warning */
    int64_t refused_at;
    int64_t confirmed_at;  /* start time of the last call that confirmed the lease */
    int64_t doubted_at;    /* calls started earlier do not confirm the lease */
    bool is_lease_waiting; /* the timer is running */
    bool has_started, is_over;
    provider_done_fn *released;
    void *released_context;

    /* controller.c: turns */
    enum permission launching; /* of the last turn: PERMIT_OK, or why nothing may be launched */
    bool is_replaying;         /* the journal is being replayed */
    struct loop_task turn;
    struct loop_timer *wake;
    struct event *answers; /* events for the next turn; heap */
    size_t answer_count, answer_capacity;
    bool was_empty, has_told_waiting;

    /* journaling.c */
    struct retention retention;
    int64_t time_base_ms; /* journal time minus loop clock */
    struct arena notes_memory;
    struct journal_entry *notes;
    size_t note_count, note_capacity;
    size_t written; /* entries since the history was trimmed */
    struct loop_timer *note_timer;
    bool is_note_waiting; /* the timer is running */

    /* heads.c */
    struct str head_id;     /* as recorded in the journal; empty if none */
    int64_t surplus_at;     /* when other heads were last reported or terminated; 0 if never */
    bool waits_to_end_head; /* terminate a second head once the lease is confirmed */

    /* inventory.c */
    struct loop_timer *listing_timer;
    bool is_listing, lists_again, has_listed;
    uint32_t listings;
    uint32_t listing_failures; /* consecutive */
    int64_t listed_at;         /* time of the last answer */
    int64_t listing_pause_ms, listing_took_ms;
    const struct str *config_hashes; /* hash of node_config, by type; NULL until computed */
    int64_t expects_until; /* a change is expected, although no known node is in transition */

    /* launching.c */
    enum preparing preparing;
    bool is_prepare_wanted; /* not only the preflight */
    struct loop_task prepared_task;
    struct preparer *preparers; /* heap */
    size_t preparer_count, preparer_capacity;
    struct action *held; /* launches waiting for preparation or a confirmed lease; heap */
    size_t held_count, held_capacity;
    struct open_launch *open; /* heap */
    size_t open_count, open_capacity;

    /* reuse.c */
    struct reuse_claim *claims;
    size_t claim_count, claim_capacity;

    /* tags.c */
    struct loop_timer *tag_timer;
    struct pending_tag *wishes; /* heap */
    size_t wish_count, wish_capacity;

    /* controller.c: rate limit of load records */
    int64_t load_noted_at;

    /* notify.c */
    struct loop_task notify_task;
    struct news *news, *last_notification;
};

/* ---- controller.c ---- */

static inline int64_t controller_now(const struct controller *controller)
{
    return loop_now_ms(controller->loop);
}

struct event controller_event(const struct controller *controller, enum event_kind kind);

/* Passes the event to the core and schedules a turn. */
void controller_apply(struct controller *controller, const struct event *event);
/* The same in the next turn, for results that are known immediately. */
void controller_apply_later(struct controller *controller, const struct event *event);

/* Context for a provider operation. Every completion callback starts with call_end(), which returns
 * NULL if the controller was closed. */
struct call *call_begin(struct controller *controller);
struct controller *call_end(struct call *call);
void call_free(struct call *call);

/* Makes room for one more item in a heap array. */
void heap_grow(void **items, size_t count, size_t *capacity, size_t size);

/* ---- execute.c ---- */

/* Executes the core's actions, after journaling them. */
void execute_actions(struct controller *controller, const struct action *actions, size_t count);
/* Reports to the core that the action was not done: it is too late or not possible. */
void execute_decline(struct controller *controller, const struct action *action);

/* ---- lease.c ---- */

void lease_init(struct controller *controller);
void lease_start(struct controller *controller);
/* Was the lease confirmed within CONFIRM_MS? A process that breaks it acts immediately, before the
 * old holder notices. */
bool lease_is_confirmed(const struct controller *controller);
/* Discards the confirmation and renews now: another process may be acting. */
void lease_recheck(struct controller *controller);

/* ---- journaling.c ---- */

/* Records for the history; written with the next transaction. */
void journaling_add_event(struct controller *controller, const struct event *event);
void journaling_add_action(struct controller *controller, const struct action *action);

/* Writes the pending records and whatever `more` (may be NULL) writes, in one transaction. On
 * false, nothing was written and the owner was warned. */
typedef bool journaling_fn(struct controller *controller, void *context, struct err *err);
bool journaling_write(struct controller *controller, journaling_fn *more, void *context) MUST_USE;
/* Writes the pending records soon, in one batch. */
void journaling_write_later(struct controller *controller);
void journaling_init(struct controller *controller);
void journaling_clear(struct controller *controller);

/* False: this journal's cluster has another uid, and instances of it may still appear; the owner
 * was notified. Call it before journaling_record_lease(), which forgets the previous cluster. */
bool journaling_accepts_uid(struct controller *controller, struct str uid) MUST_USE;
/* Records the lease's epoch and the cluster's uid, and updates the sole-writer epoch. */
bool journaling_record_lease(struct controller *controller,
                             const struct cluster_lease *lease) MUST_USE;
/* Records that no machine is left, so that a later controller need not wait for late launches. */
void journaling_record_empty(struct controller *controller);
/* Was that holder an earlier process of ours? */
bool journaling_knows_holder(struct controller *controller, struct str holder);
bool journaling_add_holder(struct controller *controller) MUST_USE;
/* offering_migrate.c: renumbers journaled intents to the offerings of the current file. */
bool journaling_migrate_offerings(struct controller *controller, struct err *err) MUST_USE;
/* Replays all journaled launches into the core. */
bool journaling_replay(struct controller *controller) MUST_USE;

/* ---- inventory.c ---- */

void inventory_init(struct controller *controller);
void inventory_refresh(struct controller *controller);
/* Resets the listing interval to its shortest: machines are starting or terminating. */
void inventory_expedite(struct controller *controller);
/* Schedules the next listing; called after every turn. */
void inventory_schedule(struct controller *controller);
/* Numbers new machines, updates the table and notifies changes. If `launch` is not 0, the machines
 * are its result and it is settled in the same transaction. */
bool inventory_ingest(struct controller *controller, const struct machine *machines, size_t count,
                      uint64_t launch, uint64_t *ret_instances) MUST_USE;

/* ---- launching.c ---- */

void launching_init(struct controller *controller);
void launching_send(struct controller *controller, const struct action *actions, size_t count);
void launching_open(struct controller *controller, uint64_t launch, int64_t unsure_until);
void launching_prepare(struct controller *controller);
/* The lease is confirmed: sends the held launches. launching_decline() declines them instead. */
void launching_go_on(struct controller *controller);
void launching_decline(struct controller *controller);
void launching_clear(struct controller *controller);

/* ---- tags.c ---- */

void tags_init(struct controller *controller);
void tags_flush(struct controller *controller);
void tags_clear(struct controller *controller);
void tag_group_free(struct tag_group *group);
