/*
 * aws_client_internal.h: the client's private types. aws_client.c owns the client and its queues,
 * aws_call.c the life cycle of a call, aws_call_send.c the encoding, credentials.c the keys. Only
 * these files include it.
 */
#pragma once

#include "base/buf.h"
#include "base/rng.h"
#include "io/xalloc.h"
#include "provider/aws/client/aws_bucket.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/client/credentials.h"
#include "provider/server_clock.h"

/* ---- the client (aws_client.c) ---- */

/* Each has its own token bucket. */
enum aws_pace { PACE_READ, PACE_CHANGE, PACE_LAUNCH, PACE_COUNT };

/* The queue of one service, region and pace. */
struct aws_lane {
    struct aws_client *client;
    enum aws_service service;
    enum aws_pace pace;
    struct str region;
    struct aws_lane *next; /* next lane in the client's list */
    struct aws_bucket bucket;
    struct loop_timer *timer;
    struct aws_call *first, *last;
};

struct aws_client {
    struct aws_client_setup setup; /* strings in `arena` */
    struct arena arena;            /* secret: contains the shared files */
    struct aws_profiles profiles;
    struct str region;
    const char *ca_file; /* NULL: default of http.h */
    struct rng rng;
    struct server_clock time;
    bool has_warned_of_clock;
    struct aws_lease lease; /* ends_ms is 0 if none is held */
    struct credentials *credentials;
    struct aws_lane *lanes;                     /* created on demand */
    struct aws_bucket again[AWS_SERVICE_COUNT]; /* for retries */
    struct aws_call *calls;                     /* all of them */
    struct aws_client_counts counts;
};

/* Reads the shared files and selects the profile. Strings are allocated in `arena`. */
bool aws_client_load_profiles(const struct aws_client_setup *setup, struct arena *arena,
                              struct aws_profiles *ret_profiles, struct err *err) MUST_USE;

/* Expands "~/x" and "$NAME/x"; the result is NUL-terminated. */
struct str aws_client_expand(aws_environ env, struct str path, struct arena *arena);

/* Returns the queue, created if necessary. */
struct aws_lane *aws_lane_of(struct aws_client *client, enum aws_service service, struct str region,
                             enum aws_pace pace);

/* Queues the call; its turn comes immediately or later. */
void aws_lane_join(struct aws_lane *lane, struct aws_call *call);
void aws_lane_leave(struct aws_lane *lane, struct aws_call *call);

/* ---- a call (aws_call.c) ---- */

enum aws_auth {
    AUTH_OWN,  /* sign with the client's credentials */
    AUTH_KEYS, /* sign with other credentials, to assume a role */
    AUTH_NONE, /* unsigned */
};

/* Additional parameters for calls that fetch credentials. */
struct aws_call_way {
    enum aws_auth auth;
    const struct aws_credentials *keys; /* copied */
    /* For services with neither Query nor JSON protocol: */
    const char *method;        /* NULL: default of the protocol */
    struct str path;           /* path with query; empty: "/" */
    struct http_header header; /* extra header; empty: none */
    const char *content_type;  /* of `body` */
};

enum aws_call_state {
    CALL_STARTS,    /* task is scheduled */
    CALL_NEEDS_KEY, /* waiting for credentials */
    CALL_QUEUED,    /* waits in its lane */
    CALL_SENT,
    CALL_PAUSES, /* waiting for the next try */
    CALL_ENDED,
};

struct aws_call {
    struct aws_call *next, *before;           /* in the client's list */
    struct aws_call *lane_next, *lane_before; /* in the queue */
    struct aws_client *client;
    struct arena arena; /* secret */
    struct aws_request request;
    struct aws_call_way way;
    struct aws_endpoint endpoint;
    struct aws_lane *lane;
    enum aws_call_state state;
    struct loop_task start;
    struct loop_timer *timer; /* deadline while waiting, or end of a pause */
    int64_t ends_ms;          /* monotonic */
    struct waiter wait;
    struct http_call *http;
    int64_t sent_ms;     /* last try, on the loop's clock */
    int64_t signed_ms;   /* signing time, ms since 1970 */
    bool creates;        /* requires the lease */
    unsigned key_number; /* number of the credentials used */
    unsigned tries;
    bool has_begun;     /* part of the reply of this try was passed to `bytes` */
    bool is_too_large;  /* body exceeded body_max */
    bool in_doubt;      /* an earlier try may have taken effect */
    bool was_resigned;  /* because of the clock; done once */
    bool was_refreshed; /* done once */
    size_t streamed;
    bool *is_gone;      /* set if the call is freed inside a callback of the caller */
    struct err bad;     /* why the call cannot be sent at all */
    struct buf refusal; /* body of an error reply, if `bytes` receives successes */
    struct aws_reply last;
};

struct aws_call *aws_call_start_way(struct aws_client *client, const struct aws_request *request,
                                    const struct aws_call_way *way);

/* Called when it is the call's turn. */
void aws_call_take_turn(struct aws_call *call);

/* ---- encoding (aws_call_send.c) ---- */

/* Sets endpoint, queue, and the request's action and body. Called once per call. */
bool aws_call_prepare(struct aws_call *call, struct err *err) MUST_USE;

/* Signs the request and starts it. `keys` is NULL for AUTH_NONE. */
void aws_call_send(struct aws_call *call, const struct aws_credentials *keys, http_bytes_fn *bytes,
                   http_done_fn *done);

/* Checks the body of a success against the service's protocol. */
bool aws_call_check(const struct aws_call *call, struct str body, struct err *err) MUST_USE;
