/*
 * controller_parts.h: a controller from inside; shared by the files that make it up.
 *
 * Everything heard goes through controller_tell(); everything done comes out of the turn that
 * follows (controller.c). A turn is one step: what was heard, what the core asked for and the
 * intents of its launches are one transaction of the journal, and calls are made after it.
 */
#pragma once

#include "app/control/controller.h"
#include "app/control/pace.h"
#include "app/control/reuse.h"
#include "app/control/roster.h"

/*
 * What a call to the provider is told back with. It may be answered after the controller was
 * closed, so it lives in the session, and is used again.
 */
struct call {
    struct controller *controller; /* NULL: closed meanwhile */
    struct call *next;
    int64_t asked_at;
    uint64_t launch;
    uint32_t offering;
    uint64_t *instances; /* on the heap */
    size_t count;
    struct tag_group *tags;  /* on the heap */
    struct reuse_run *reuse; /* likewise */
};

/* A launch that was written down and has no definite answer. */
struct open_launch {
    uint64_t launch;
    int64_t unsure_until; /* an earlier call may still take effect until then; 0: none can */
};

enum news_kind {
    NEWS_STARTED,
    NEWS_SET_UP,
    NEWS_CHANGED,
    NEWS_TROUBLE,
    NEWS_DEPOSED,
    NEWS_EMPTIED
};

/* Something to be told to whoever owns the controller. */
struct news {
    struct news *next;
    enum news_kind kind;
    uint64_t instance;
    struct provider_answer answer;
    bool has_lease;
    struct cluster_lease lease;
    struct str text;
    struct arena memory; /* of lease and text */
};

struct preparer {
    provider_things_fn *done;
    void *context;
};

enum preparing { PREPARING_NOT, PREPARING_SURVEY, PREPARING_REST, PREPARING_DONE };

struct controller {
    struct controller_setup setup;
    struct loop *loop;
    struct provider *provider;
    struct journal *journal;
    struct core_settings settings;
    struct core *core;
    struct arena life;    /* as long as this lives */
    struct arena scratch; /* until the end of a turn */
    struct roster roster;
    struct call *calls; /* under way */
    struct call *spare_calls;

    /* lead.c */
    struct cluster_lease lease;
    struct arena lease_memory;
    uint64_t reign;
    int64_t reign_since; /* by our clock; before its beginning, mostly */
    struct loop_timer *lease_timer;
    int64_t lease_retry_ms;
    uint64_t take_from;
    bool is_handed_over; /* by the holder of `take_from`; true until it was tried */
    uint64_t refused_by; /* the epoch of which trouble was told */
    int64_t refused_at;
    int64_t confirmed_at;  /* when it was last surely ours, by the time of asking */
    int64_t doubted_at;    /* what was asked before says nothing */
    bool is_lease_waiting; /* the timer runs */
    bool has_started, is_over;
    provider_done_fn *released;
    void *released_context;

    /* controller.c: turns */
    bool is_playing; /* what is told was written down before */
    struct loop_task turn;
    struct loop_timer *wake;
    struct event *answers; /* to be told in the next turn; on the heap */
    size_t answer_count, answer_capacity;
    bool was_empty, has_told_waiting;

    /* records.c */
    struct arena notes_memory;
    struct journal_entry *notes;
    size_t note_count, note_capacity;
    size_t written; /* since the history was trimmed */
    struct loop_timer *note_timer;
    bool is_note_waiting; /* the timer runs */

    /* look.c */
    struct loop_timer *listing_timer;
    bool is_listing, looks_again, has_listed;
    uint32_t listings;
    uint32_t listing_failures; /* in a row */
    int64_t listed_at;         /* the last answer */
    int64_t listing_pause_ms, listing_took_ms;
    int64_t expects_until; /* something is to show up, although nothing known is on its way */

    /* launching.c */
    enum preparing preparing;
    bool is_prepare_wanted; /* beyond the survey */
    struct loop_task prepared_task;
    struct preparer *preparers; /* on the heap */
    size_t preparer_count, preparer_capacity;
    struct action *held; /* launches that wait for it; on the heap */
    size_t held_count, held_capacity;
    struct open_launch *open; /* on the heap */
    size_t open_count, open_capacity;

    /* reuse.c */
    struct reuse_claim *claims;
    size_t claim_count, claim_capacity;

    /* tags.c */
    struct loop_timer *tag_timer;
    struct tag_wish *wishes; /* on the heap */
    size_t wish_count, wish_capacity;

    /* ray: what was told last, for the history */
    int64_t load_noted_at;

    /* news.c */
    struct loop_task news_task;
    struct news *news, *last_news;
};

/* ---- controller.c ---- */

static inline int64_t controller_now(const struct controller *controller)
{
    return loop_now_ms(controller->loop);
}

int64_t controller_wall(const struct controller *controller);
struct event controller_event(const struct controller *controller, enum event_kind kind);

/* Hands it to the core; a turn follows. */
void controller_tell(struct controller *controller, const struct event *event);
/* The same in the next turn, for answers that are known at once. */
void controller_tell_later(struct controller *controller, const struct event *event);

/* For an operation of the provider, with the controller in it; every done begins with call_end(),
 * which gives NULL when the controller was closed. */
struct call *call_begin(struct controller *controller);
struct controller *call_end(struct call *call);
void call_free(struct call *call);

/* Room for one more in an array on the heap. */
void heap_grow(void **items, size_t count, size_t *capacity, size_t size);

/* ---- act.c ---- */

/* Carries out what the core asked for: writes it down first. */
void act_on(struct controller *controller, const struct action *actions, size_t count);
/* Too late, or not possible: the core hears that nothing was done. */
void act_decline(struct controller *controller, const struct action *action);

/* ---- lead.c ---- */

void lead_init(struct controller *controller);
void lead_start(struct controller *controller);
void lead_stop(struct controller *controller);
/* Was it ours a moment ago? Who broke a lease acts at once, while the other may not know yet. */
bool lead_is_sure(const struct controller *controller);
/* Somebody else seems to act: looks at once. */
void lead_doubt(struct controller *controller);

/* ---- records.c ---- */

/* Something for the history; on disk with the next transaction. */
void records_note_event(struct controller *controller, const struct event *event);
void records_note_action(struct controller *controller, const struct action *action);

/* One transaction: what was noted, and whatever `more` writes; it may be NULL. False: trouble was
 * told, and nothing of it is written. */
typedef bool records_fn(struct controller *controller, void *context, struct err *err);
bool records_write(struct controller *controller, records_fn *more, void *context) MUST_USE;
/* What was noted, some time soon and all at once: a disk takes its time for each. */
void records_write_later(struct controller *controller);
void records_init(struct controller *controller);
void records_clear(struct controller *controller);

/* The epoch of a lease of ours and what follows for the reign, and the cluster's uid. */
bool records_lease(struct controller *controller, const struct cluster_lease *lease) MUST_USE;
/* Nothing is left of what anybody has launched: who begins anew need not wait for it. */
void records_emptied(struct controller *controller);
/* Was that holder us, in an earlier process? */
bool records_know_holder(struct controller *controller, struct str holder);
bool records_add_holder(struct controller *controller) MUST_USE;
/* renumber.c: brings what was written down to the numbers of this file's offerings. */
bool records_renumber(struct controller *controller, struct err *err) MUST_USE;
/* Tells the core all launches that were written down. */
bool records_play(struct controller *controller) MUST_USE;

/* ---- look.c ---- */

void look_init(struct controller *controller);
void look_now(struct controller *controller);
/* The pace of listings begins anew: machines come or go. */
void look_soon(struct controller *controller);
/* When the next one is due; asked after every turn. */
void look_plan(struct controller *controller);
/* Gives numbers to machines and keeps them; told as changes. The launch that they are the answer
 * to is settled with it; 0: none. */
bool look_keep(struct controller *controller, const struct machine *machines, size_t count,
               uint64_t launch, uint64_t *ret_instances) MUST_USE;

/* ---- launching.c ---- */

void launching_init(struct controller *controller);
void launching_send(struct controller *controller, const struct action *actions, size_t count);
void launching_open(struct controller *controller, uint64_t launch, int64_t unsure_until);
void launching_prepare(struct controller *controller);
/* The lease is sure again: what waited for that goes on; or it is not: it is declined. */
void launching_go_on(struct controller *controller);
void launching_decline(struct controller *controller);
void launching_clear(struct controller *controller);

/* ---- tags.c ---- */

void tags_init(struct controller *controller);
void tags_flush(struct controller *controller);
void tags_clear(struct controller *controller);
void tag_group_free(struct tag_group *group);

/* ---- news.c ---- */

void news_changed(struct controller *controller, uint64_t instance);
void news_set_up(struct controller *controller, uint64_t instance);
void news_started(struct controller *controller);
void news_emptied(struct controller *controller);
void news_deposed(struct controller *controller, const struct cluster_lease *lease);
void news_trouble(struct controller *controller, const struct provider_answer *answer,
                  const char *fmt, ...) PRINTF_LIKE(3, 4);
void news_init(struct controller *controller);
void news_clear(struct controller *controller);
