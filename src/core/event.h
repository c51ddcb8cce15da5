/*
 * event.h: the events that the core handles.
 *
 * Small records of one fact each, which can be stored and replayed. A cloud listing is one event
 * and states whether it is complete; instances missing from an incomplete one may still exist.
 *
 * An instance number is assigned by the shell when it first sees the machine's id, and is never
 * reused. A launch is numbered by the core; the shell derives the idempotency token only from the
 * cluster's uid and that number, so that the cloud recognizes a repeated launch.
 */
#pragma once

#include "base/arena.h"
#include "core/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTANCE_NONE 0

/* A launch number for "%u.%u": the epoch of its lease, and a counter. */
#define LAUNCH_ARG(launch) (unsigned)((launch) >> 32), (unsigned)((launch)&UINT32_MAX)

enum event_kind {
    EVENT_START,           /* the shell is running; records, then facts follow */
    EVENT_GOAL,            /* the user's goal for the cluster */
    EVENT_LEASE,           /* until when this controller may act exclusively */
    EVENT_INTENT,          /* a launch was recorded, before any call */
    EVENT_LAUNCHED,        /* the reply to a launch contains this instance */
    EVENT_LAUNCH_REPLY,    /* the end of the reply to a launch */
    EVENT_RECORDS_END,     /* all records of earlier runs were replayed */
    EVENT_LISTING,         /* the cloud's instances, as of the time of the request */
    EVENT_TERMINATE_REPLY, /* the reply to a terminate call */
    EVENT_SETUP_REPLY,     /* progress of the setup of a node */
    EVENT_DRAIN_REPLY,     /* the raylet's reply to a drain */
    EVENT_NOTICE,          /* the cloud will interrupt this instance */
    EVENT_RAY_NODE,        /* a node in Ray's view; only on change */
    EVENT_RAY_LOAD,        /* all pending demand; only on change */
    EVENT_RAY_SEEN,        /* the events above are Ray's complete state, as of the request */
    EVENT_TICK,            /* time to decide */
    EVENT_RAY_RESTARTED,   /* Ray restarted and may have lost state: no terminations for now */
    EVENT_HEAD,            /* whether workers can join the head */
    EVENT_PRICES,          /* the prices in the settings have changed */
    EVENT_KIND_COUNT,
};

enum goal { GOAL_RUN, GOAL_DOWN };

/* The outcome of a call to the cloud. */
enum outcome {
    OUTCOME_DONE,
    OUTCOME_UNKNOWN,   /* timeout, reset, 5xx: the call may have taken effect */
    OUTCOME_THROTTLED, /* no effect; retry later */
    OUTCOME_CAPACITY,  /* no effect; the offering has no capacity */
    OUTCOME_QUOTA,     /* no effect; the account's limit is reached */
    OUTCOME_DENIED,    /* no effect; not authorized or not authenticated */
    OUTCOME_INVALID,   /* no effect; the request is invalid */
    OUTCOME_MISMATCH,  /* the token was used with other parameters: another controller acts */
    OUTCOME_NOT_FOUND, /* reply to a terminate; inconclusive soon after a launch */
    OUTCOME_NO_LEASE,  /* no effect; not sent, because the lease was lost */
    OUTCOME_COUNT,
};

enum cloud_state { CLOUD_PENDING, CLOUD_RUNNING, CLOUD_ENDING, CLOUD_GONE, CLOUD_STATE_COUNT };

enum setup_news {
    SETUP_CONTACT, /* ssh answers, the first step is running */
    SETUP_DONE,    /* ray start succeeded */
    SETUP_FAILED,
    SETUP_BLOCKED, /* failed, and so will another node: the type waits */
    SETUP_NEWS_COUNT,
};

enum head_state {
    HEAD_UP, /* also if unknown */
    HEAD_SETTING_UP,
    HEAD_FAILED, /* its setup failed, and Ray does not run there */
};

enum drain_answer {
    DRAIN_ACCEPTED, /* the raylet accepts no more work */
    DRAIN_REFUSED,  /* the node is no longer idle */
    DRAIN_UNKNOWN,  /* no reply: inconclusive */
    DRAIN_ANSWER_COUNT,
};

enum ray_status {
    RAY_ABSENT, /* absent from Ray's view */
    RAY_ALIVE,
    RAY_DRAINING,
    RAY_DEAD,
    RAY_STATUS_COUNT,
};

/* The offering of an instance whose node type is no longer in the file. */
#define OFFERING_GONE UINT32_MAX

/* One instance with our uid in a listing. The listing contains all of them: an instance that the
 * file does not describe counts and costs like any other. */
struct listed {
    uint64_t instance;
    uint64_t launch;
    uint32_t offering; /* or OFFERING_GONE */
    enum cloud_state state;
    bool is_outdated; /* launched with a node_config that differs from its type's current one */
    int64_t price;    /* for outdated instances, micro-dollars per hour; or PRICE_UNKNOWN */
};

/* The shell owns the array; the core reads it only during the step. */
struct listing {
    int64_t asked_at;
    bool is_complete; /* all pages were received and parsed */
    const struct listed *items;
    size_t count;
};

#define NOT_IDLE (-1)

/*
 * The shell owns the arrays and must not change them until the instance is reported again; the core
 * keeps the pointers.
 */
struct ray_node {
    uint64_t instance;
    enum ray_status status;
    int64_t idle_since; /* on the core's clock, or NOT_IDLE */
    const struct capacity *capacities;
    size_t capacity_count;
    struct label_set labels;
};

/* Also owned by the shell, unchanged until the next load. */
struct ray_load {
    const struct demand *demands;
    size_t demand_count;
    const struct gang *gangs;
    size_t gang_count;
    const struct demand *constraint;
    size_t constraint_count;
    /* Work on departing nodes that requests its new place itself, in `demands`. */
    const struct demand *moving;
    size_t moving_count;
};

struct event {
    enum event_kind kind;
    int64_t at; /* monotonic milliseconds */
    union {
        enum goal goal;
        struct {
            uint64_t epoch;
            int64_t until; /* 0 if lost */
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
            int64_t sent_at; /* when the last call of the launch was sent; 0 if none was */
        } launch_reply;
        struct {
            /* The first epoch since which no other controller has acted. */
            uint64_t sole_writer_epoch;
            int64_t since; /* start of that epoch */
        } records;         /* records_end */
        struct listing listing;
        int64_t asked_at; /* ray_seen */
        struct {
            uint64_t instance;
            enum outcome outcome;
        } terminate_reply;
        struct {
            uint64_t instance;
            enum setup_news news;
            bool is_unused; /* failed before Ray was ever started there: nothing runs on it */
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
        enum head_state head;
    };
};

struct core_settings;

/*
 * One line for users, without a newline: "12.500 launch 7.3 answered: no capacity". Lives in
 * `arena`. The settings provide the names of offerings, resources and labels.
 */
struct str event_text(const struct event *event, const struct core_settings *settings,
                      struct arena *arena);

/* "no capacity", "not found", ... */
const char *outcome_text(enum outcome outcome);
