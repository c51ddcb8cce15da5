/*
 * aws_client.h: AWS calls on the loop.
 *
 * A client has one identity. Its credentials come from the sources of credential_chain.h; they are
 * fetched at the first call, cached, and refreshed before they expire. A call is signed, sent, and
 * retried where that is safe: after throttling and temporary errors, with full jitter; after a lost
 * reply only if the call is idempotent. AWS's time is taken from the Date of every reply; a request
 * refused because of its time is signed again once, with one warning to the user. Calls are queued
 * to stay below AWS's rate limits.
 *
 * A call that creates something is sent, and resent, only while the lease is held
 * (aws_lease_check.h).
 *
 * `done` is called exactly once, from the loop.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/child.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "provider/aws/client/aws_lease_check.h"
#include "provider/aws/client/aws_retry.h"
#include "provider/aws/client/endpoint.h"
#include "provider/aws/config/profile.h"
#include "provider/aws/wire/aws_error.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_client;
struct aws_call;

/* ---- the client ---- */

/* Pointers must outlive the client; strings are copied. */
struct aws_client_setup {
    struct loop *loop;
    struct http *http;
    struct child_pool *children; /* for credential_process */
    const struct log *log;
    struct redact *redact; /* every secret found is registered here */
    aws_environ environ;
    struct str profile; /* set by the user; empty: from the environment */
    struct str region;  /* set by the user; empty: from environment and profile */
    uint64_t seed;      /* for jitter */
};

/* Fails if the shared files cannot be read or the profile does not exist. Makes no calls. */
bool aws_client_open(const struct aws_client_setup *setup, struct aws_client **ret_client,
                     struct err *err) MUST_USE;

/* Ends all calls without calling callbacks. Not from a callback. */
void aws_client_close(struct aws_client *client);

/* Empty if none is configured. */
struct str aws_client_region(const struct aws_client *client);

/* Seconds since 1970 by the servers' clock; before the first reply, by this machine's clock. */
int64_t aws_client_now(const struct aws_client *client);
int64_t aws_client_now_ms(const struct aws_client *client);

/* Source of the current credentials: "profile work: assume-role"; empty before the first fetch. */
struct str aws_client_source(const struct aws_client *client);

/* Every credential source and its result so far, one per line. Contains no secrets. */
struct str aws_client_sources_report(const struct aws_client *client, struct arena *arena);

/* ---- a call ---- */

struct aws_reply;
typedef void aws_done_fn(void *context, const struct aws_reply *reply);

/* Checks the complete body of a success. Empty if `bytes` received it. */
typedef bool aws_check_fn(void *context, struct str body, struct err *err);

/* Everything is copied. Zero fields take the default given in their comment. */
struct aws_request {
    enum aws_service service;
    struct str region;         /* empty: the client's */
    const char *action;        /* "DescribeInstances" */
    const struct param *input; /* parameters with boto3's names; NULL: none */
    struct str body;           /* instead of both: a complete Query body, sent unchanged */
    /* For S3, instead of `input`: the method, and the path with its query, both encoded. The
     * parameters of the query are in the order of their names. NULL: other services. */
    const char *method;
    struct str path;
    bool is_new;               /* S3: an existing object is not replaced; status 412 */
    enum aws_idempotency care; /* aws_retry.h */
    /* The resources it names were created or deleted a moment ago: errors caused by eventual
     * consistency (AWS_REMEDY_SETTLE) are also retried, until the deadline. */
    bool settles;
    /* Sent without the lease although it creates something: an ssh rule in an existing group costs
     * nothing, goes with the group, and does not disturb the process that has the lease. */
    bool needs_no_lease;
    int64_t deadline_ms; /* deadline of all tries and waits together; default 60 s */
    size_t body_max;     /* limit of the reply; default 32 MB */
    /* Receives the body of a success in pieces; `begin` is called before the first piece of each
     * try. */
    void (*begin)(void *context);
    http_bytes_fn *bytes; /* NULL: collected in the reply */
    /* If it returns false, the reply is treated as unreadable and retried where that is safe. NULL:
     * a collected body must be XML with the right root, or JSON, depending on the service. */
    aws_check_fn *check;
    aws_done_fn *done;
    void *context; /* argument of all four */
};

struct aws_reply {
    bool is_ok;             /* complete reply with status 200, or 204 */
    bool may_have_acted;    /* if not ok; never set for AWS_READ */
    struct str body;        /* body of a success, unless `bytes` received it */
    struct str etag;        /* of a success of S3 */
    struct str region;      /* of a refusal of S3: the region of the bucket; may be empty */
    struct aws_error error; /* set unless ok; also if no reply came */
    struct err err;         /* set unless ok: "ec2 RunInstances in us-west-2: ..." */
    unsigned tries;
};

/* The call is freed when `done` returns. */
struct aws_call *aws_call_start(struct aws_client *client, const struct aws_request *request);

/* No more callbacks are called. Not from its `done`. */
void aws_call_cancel(struct aws_call *call);

/* ---- counters, for tests and --debug ---- */

struct aws_client_counts {
    uint64_t calls, tries, throttled, refreshed, resigned;
};
struct aws_client_counts aws_client_counts(const struct aws_client *client);
