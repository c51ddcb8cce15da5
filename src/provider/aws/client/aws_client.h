/*
 * aws_client.h: calls of AWS, on the loop.
 *
 * A client is one identity. Its credentials come from the sources that source.h plans, are found at
 * the first call, kept, and renewed before they end. A call is signed, sent, and sent again where
 * that is safe: after throttling and refusals that pass by themselves, with full jitter; after a
 * reply that never came only when the call says that twice is the same as once. A wrong clock is
 * learnt from the server's Date: signed again once, warned of once, remembered. Calls wait for
 * their turn so that we stay below what AWS allows.
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
#include "provider/aws/client/aws_retry.h"
#include "provider/aws/login/profile.h"
#include "provider/aws/wire/aws_error.h"
#include "provider/aws/wire/endpoint.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_client;
struct aws_call;

/* ---- the client ---- */

/* What is pointed to must outlive the client; texts are copied. */
struct aws_client_setup {
    struct loop *loop;
    struct http *http;
    struct child_pool *children; /* for credential_process */
    const struct log *log;
    struct redact *redact; /* learns every secret that is found */
    aws_environ environ;
    struct str profile; /* asked for by the user; empty: as the environment says */
    struct str region;  /* asked for by the user; empty: as environment and profile say */
    uint64_t seed;      /* of the jitter */
};

/* Fails when the shared files cannot be read or the profile is in neither of them. Asks nobody. */
bool aws_client_open(const struct aws_client_setup *setup, struct aws_client **ret_client,
                     struct err *err) MUST_USE;

/* Ends all calls; no callback is called any more. Not from a callback. */
void aws_client_close(struct aws_client *client);

/* Empty when nobody said one. */
struct str aws_client_region(const struct aws_client *client);

/* By the servers' clock, as far as it is known: seconds since 1970. */
int64_t aws_client_now(const struct aws_client *client);

/* Where the credentials in use came from: "profile work: assume-role"; empty before the first. */
struct str aws_client_source(const struct aws_client *client);

/* Every source of credentials, and what it said so far, a line each. Safe to print. */
struct str aws_client_sources_report(const struct aws_client *client, struct arena *arena);

/* ---- a call ---- */

struct aws_reply;
typedef void aws_done_fn(void *context, const struct aws_reply *reply);

/* Is this whole body of a success what was asked for? Empty when `bytes` took it. */
typedef bool aws_check_fn(void *context, struct str body, struct err *err);

/* Everything is copied. What is zero takes the default named behind it. */
struct aws_request {
    enum aws_service service;
    struct str region;         /* empty: the client's */
    const char *action;        /* "DescribeInstances" */
    const struct param *input; /* with boto3's names; NULL: none */
    struct str body;           /* instead of both: a Query body made before, as it stands */
    enum aws_care care;        /* aws_retry.h */
    /* What it names was made or taken away a moment ago: refusals that pass once all of AWS knows
     * (AWS_REMEDY_SETTLE) are repeated, too, until the deadline. */
    bool settles;
    int64_t deadline_ms; /* for all tries and waits together; 60 s */
    size_t body_max;     /* of the reply; 32 MB */
    /* Takes the body of a success as it comes; `begin` says that it starts, perhaps again. */
    void (*begin)(void *context);
    http_bytes_fn *bytes; /* NULL: it is collected */
    /* False makes it a reply that cannot be read: repeated where that is safe. NULL: a collected
     * body must be XML with the right root, or JSON, as the service speaks it. */
    aws_check_fn *check;
    aws_done_fn *done;
    void *context; /* of all four */
};

struct aws_reply {
    bool is_ok;             /* a whole reply with status 200 */
    bool may_have_acted;    /* when it is not; never of an AWS_READ */
    struct str body;        /* of a success, unless `bytes` took it */
    struct aws_error error; /* unless ok; also for replies that never came */
    struct err err;         /* unless ok: "ec2 RunInstances in us-west-2: ..." */
    unsigned tries;
};

/* The call is gone once `done` returns. */
struct aws_call *aws_call_start(struct aws_client *client, const struct aws_request *request);

/* No callback is called any more for this call. Not from its `done`. */
void aws_call_cancel(struct aws_call *call);

/* ---- counting, for tests and --debug ---- */

struct aws_client_counts {
    uint64_t calls, tries, throttled, refreshed, resigned;
};
struct aws_client_counts aws_client_counts(const struct aws_client *client);
