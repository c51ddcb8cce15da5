/*
 * event.h: everything the core can hear.
 *
 * Small records, one fact each, so that they can be written down and played again. A listing of
 * the cloud comes as a whole and says whether it is complete; what an incomplete one does not show
 * may still be there.
 *
 * An instance is a number that the shell gives to a machine when it first hears its id and never
 * gives to another one. A launch is numbered by the core; the shell makes the idempotency token
 * from the cluster's uid and that number and from nothing else, so that a repeated launch is the
 * same launch to the cloud.
 */
#pragma once

#include "base/arena.h"
#include "core/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTANCE_NONE 0

/* A launch's number for "%u.%u": the epoch of the lease under which it was made, and a count. */
#define LAUNCH_ARG(launch) (unsigned)((launch) >> 32), (unsigned)((launch)&UINT32_MAX)

enum event_kind {
    EVENT_START,           /* the shell is up; records, then facts follow */
    EVENT_GOAL,            /* what the user wants of the cluster as a whole */
    EVENT_LEASE,           /* this controller alone may act until then */
    EVENT_INTENT,          /* a launch was written down, before any call */
    EVENT_LAUNCHED,        /* the cloud's answer to a launch names this instance */
    EVENT_LAUNCH_REPLY,    /* the end of an answer to a launch */
    EVENT_RECORDS_END,     /* everything written down by earlier runs was played */
    EVENT_LISTING,         /* what the cloud says it has, as of when it was asked */
    EVENT_TERMINATE_REPLY, /* the answer to a terminate call */
    EVENT_SETUP_REPLY,     /* news from the set-up of a node */
    EVENT_DRAIN_REPLY,     /* the raylet's answer to a drain */
    EVENT_NOTICE,          /* the cloud will take this instance away */
    EVENT_RAY_NODE,        /* a node as Ray sees it; only when something changed */
    EVENT_RAY_LOAD,        /* all pending demand; only when something changed */
    EVENT_RAY_SEEN,        /* everything above is Ray's state as of when it was asked */
    EVENT_TICK,            /* time to decide */
    EVENT_RAY_ANEW,        /* Ray began anew and may know less than before: nothing ends for now */
    EVENT_KIND_COUNT,
};

enum goal { GOAL_RUN, GOAL_DOWN };

/* What became of a call to the cloud. */
enum outcome {
    OUTCOME_DONE,
    OUTCOME_UNKNOWN,   /* timeout, reset, 5xx: it may have taken effect */
    OUTCOME_THROTTLED, /* no effect; try later */
    OUTCOME_CAPACITY,  /* no effect; this offering has none left */
    OUTCOME_QUOTA,     /* no effect; the account may not have more */
    OUTCOME_DENIED,    /* no effect; not allowed or not signed in */
    OUTCOME_INVALID,   /* no effect; the request itself is wrong */
    OUTCOME_MISMATCH,  /* the token was used with other parameters: somebody else acts */
    OUTCOME_NOT_FOUND, /* of a terminate; soon after a launch it means nothing */
    OUTCOME_COUNT,
};

enum cloud_state { CLOUD_PENDING, CLOUD_RUNNING, CLOUD_ENDING, CLOUD_GONE, CLOUD_STATE_COUNT };

enum setup_news {
    SETUP_CONTACT, /* ssh answers, the first step runs */
    SETUP_DONE,    /* ray start succeeded */
    SETUP_FAILED,
    SETUP_NEWS_COUNT,
};

enum drain_answer {
    DRAIN_ACCEPTED, /* the raylet takes no more work */
    DRAIN_REFUSED,  /* it is not idle any more */
    DRAIN_UNKNOWN,  /* no answer: nothing may be concluded */
    DRAIN_ANSWER_COUNT,
};

enum ray_status {
    RAY_ABSENT, /* not in Ray's view */
    RAY_ALIVE,
    RAY_DRAINING,
    RAY_DEAD,
    RAY_STATUS_COUNT,
};

/* One instance that carries our uid, as a listing shows it. */
struct listed {
    uint64_t instance;
    uint64_t launch;
    uint32_t offering;
    enum cloud_state state;
};

/* The array belongs to the shell and is looked at in the step only. */
struct listing {
    int64_t asked_at;
    bool is_complete; /* every page came and was understood */
    const struct listed *items;
    size_t count;
};

#define NOT_IDLE (-1)

/*
 * The arrays belong to the shell and must stay as they are until the same instance is reported
 * again; the core keeps the pointers.
 */
struct ray_node {
    uint64_t instance;
    enum ray_status status;
    int64_t idle_since; /* on the core's clock, or NOT_IDLE */
    const struct capacity *capacities;
    size_t capacity_count;
    struct label_set labels;
};

/* Belongs to the shell as well and stays until the next load. */
struct ray_load {
    const struct demand *demands;
    size_t demand_count;
    const struct gang *gangs;
    size_t gang_count;
    const struct demand *constraint;
    size_t constraint_count;
};

struct event {
    enum event_kind kind;
    int64_t at; /* milliseconds on a clock that only goes forward */
    union {
        enum goal goal;
        struct {
            uint64_t epoch;
            int64_t until; /* 0: lost */
        } lease;
        struct {
            uint64_t launch;
            uint32_t offering;
            int64_t count;
        } intent;
        struct {
            uint64_t launch;
            uint64_t instance;
        } launched;
        struct {
            uint64_t launch;
            enum outcome outcome;
        } launch_reply;
        struct {
            uint64_t reign; /* the first epoch since which nobody else has acted */
            int64_t since;  /* when that began */
        } records;          /* records_end */
        struct listing listing;
        int64_t asked_at; /* ray_seen */
        struct {
            uint64_t instance;
            enum outcome outcome;
        } terminate_reply;
        struct {
            uint64_t instance;
            enum setup_news news;
        } setup_reply;
        struct {
            uint64_t instance;
            enum drain_answer answer;
        } drain_reply;
        struct {
            uint64_t instance;
            int64_t until;
        } notice;
        struct ray_node ray_node;
        struct ray_load ray_load;
    };
};

struct core_settings;

/*
 * One line for people, without a line end: "12.500 launch 7.3 answered: no capacity". Lives in
 * `arena`. The settings give names to offerings, resources and labels.
 */
struct str event_text(const struct event *event, const struct core_settings *settings,
                      struct arena *arena);

/* "no capacity", "not found", ... */
const char *outcome_text(enum outcome outcome);

/*
 * The form in which events are stored: the same bytes on every machine, and only those bytes for
 * that event (record/frame.h). Names are stored as numbers, enums as they count: new kinds and
 * values go to the end.
 *
 * event_encode() returns the bytes in `arena`; the empty view when the event has a value outside
 * its enum, a demand with a negative count, or passes a limit of record/frame.h.
 *
 * event_decode() takes one event off the front of `*bytes`, its arrays in `arena`. When it returns
 * false it has either moved `*bytes` past a whole event of a kind that it does not know, which a
 * reader may pass over; or it has left `*bytes` alone, because they are damaged, end too early
 * or are of another format.
 */
struct str event_encode(const struct event *event, struct arena *arena);
bool event_decode(struct str *bytes, struct arena *arena, struct event *ret_event) MUST_USE;
