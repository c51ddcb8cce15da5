/*
 * aws_client_parts.h: the client inside. aws_client.c owns the client and the turns of its calls,
 * aws_call.c the life of one call, aws_call_send.c what is sent, credentials.c the keys. Nobody
 * above includes this.
 */
#pragma once

#include "base/buf.h"
#include "base/dice.h"
#include "io/heap.h"
#include "provider/aws/client/aws_bucket.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/client/credentials.h"

/* ---- the client (aws_client.c) ---- */

/* Each has its own bucket at AWS. */
enum aws_pace { PACE_READ, PACE_CHANGE, PACE_LAUNCH, PACE_COUNT };

/* Calls of one service, region and pace, waiting for their turn in order. */
struct aws_lane {
    struct aws_client *client;
    enum aws_service service;
    enum aws_pace pace;
    struct str region;
    struct aws_lane *next; /* of the client's */
    struct aws_bucket bucket;
    struct loop_timer *timer;
    struct aws_call *first, *last;
};

struct aws_client {
    struct aws_client_setup setup; /* its texts live in `arena` */
    struct arena arena;            /* secret: the shared files are in it */
    struct aws_profiles profiles;
    struct str region;
    const char *ca_file; /* NULL: as http.h finds them */
    struct dice dice;
    int64_t clock_offset_ms; /* the servers' clock less ours */
    bool has_warned_of_clock;
    struct credentials *credentials;
    struct aws_lane *lanes;                     /* as they were needed */
    struct aws_bucket again[AWS_SERVICE_COUNT]; /* of tries after the first */
    struct aws_call *calls;                     /* all of them */
    struct aws_client_counts counts;
};

/* The shared files and the profile in use, as they are now. Texts live in `arena`. */
bool aws_client_load_profiles(const struct aws_client_setup *setup, struct arena *arena,
                              struct aws_profiles *ret_profiles, struct err *err) MUST_USE;

/* "~/x" and "$NAME/x" as paths of this user, with a zero byte behind. */
struct str aws_client_expand(aws_environ env, struct str path, struct arena *arena);

/* The lane, made when there is none yet. */
struct aws_lane *aws_lane_of(struct aws_client *client, enum aws_service service, struct str region,
                             enum aws_pace pace);

/* Hands the call its turn by aws_call_send(), later or at once. */
void aws_lane_join(struct aws_lane *lane, struct aws_call *call);
void aws_lane_leave(struct aws_lane *lane, struct aws_call *call);

/* ---- a call (aws_call.c) ---- */

enum aws_auth {
    AUTH_OWN,  /* signed with the client's credentials */
    AUTH_KEYS, /* signed with others: those that ask for a role */
    AUTH_NONE, /* not signed */
};

/* What the calls that fetch credentials need beyond struct aws_request. */
struct aws_call_way {
    enum aws_auth auth;
    const struct aws_credentials *keys; /* copied */
    /* Of services that are neither Query nor JSON: */
    const char *method;        /* NULL: as the service's form says */
    struct str path;           /* with its query; empty: "/" */
    struct http_header header; /* one more; empty: none */
    const char *content_type;  /* of `body` */
};

enum aws_call_state {
    CALL_STARTS,    /* its task is on the loop */
    CALL_NEEDS_KEY, /* waits for credentials */
    CALL_QUEUED,    /* waits in its lane */
    CALL_SENT,
    CALL_PAUSES, /* until the next try */
    CALL_ENDED,
};

struct aws_call {
    struct aws_call *next, *before;           /* of the client */
    struct aws_call *lane_next, *lane_before; /* in the lane */
    struct aws_client *client;
    struct arena arena; /* secret */
    struct aws_request request;
    struct aws_call_way way;
    struct aws_endpoint endpoint;
    struct aws_lane *lane;
    enum aws_call_state state;
    struct loop_task start;
    struct loop_timer *timer; /* the deadline while it waits, or the end of a pause */
    int64_t ends_ms;          /* monotonic */
    struct credentials_wait wait;
    struct http_call *http;
    unsigned key_number; /* of the credentials it was signed with */
    unsigned tries;
    bool has_begun;     /* `bytes` has got something of this try */
    bool is_too_large;  /* and then too much */
    bool in_doubt;      /* an earlier try may have taken effect */
    bool was_resigned;  /* for the clock, once */
    bool was_refreshed; /* once */
    size_t streamed;
    bool *is_gone;      /* set when it is freed under a callback of its caller's */
    struct err bad;     /* why it cannot be made at all */
    struct buf refusal; /* the body of a reply that is none, while `bytes` takes the others */
    struct aws_reply last;
};

struct aws_call *aws_call_start_way(struct aws_client *client, const struct aws_request *request,
                                    const struct aws_call_way *way);

/* Its turn has come. */
void aws_call_take_turn(struct aws_call *call);

/* ---- what is sent (aws_call_send.c) ---- */

/* Fills endpoint, lane, and the request's action and body, once per call. */
bool aws_call_prepare(struct aws_call *call, struct err *err) MUST_USE;

/* Signs and hands it to http.h. `keys` is NULL for AUTH_NONE. */
void aws_call_send(struct aws_call *call, const struct aws_credentials *keys, http_bytes_fn *bytes,
                   http_done_fn *done);

/* Is the body of a success what the service's form says? */
bool aws_call_check(const struct aws_call *call, struct str body, struct err *err) MUST_USE;
