/*
 * gcp_client.h: calls of Google's Compute API on the loop.
 *
 * A call gets a token (gcp_credentials.h), is sent, and is retried after throttling, temporary
 * errors and lost replies, with full jitter, until its deadline. That is safe, because each change
 * has a requestId: the same id is the same change. A change is accepted with an operation; if the
 * request `waits`, the call ends when the operation is done.
 *
 * A call that creates something is sent, and resent, only while the lease is held: both by the
 * loop's clock and by Google's, which is taken from the Date of every reply.
 *
 * `done` is called exactly once, from the loop.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/gcp/credentials/gcp_credentials.h"
#include "provider/gcp/wire/gcp_failure.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gcp_client;
struct gcp_call;

struct gcp_client_setup {
    struct gcp_setup base;
    struct str project; /* of the cluster file; empty: that of the credentials */
    uint64_t seed;      /* for pauses */
};

/* Makes no calls. */
struct gcp_client *gcp_client_new(const struct gcp_client_setup *setup);
void gcp_client_free(struct gcp_client *client); /* ends all calls without callbacks */

/* Google's time in ms since 1970; before the first reply, this machine's. */
int64_t gcp_client_now_ms(const struct gcp_client *client);
struct str gcp_client_project(const struct gcp_client *client); /* empty: not known yet */
/* "authorized_user /path": where the token comes from; empty: not known yet. */
struct str gcp_client_source(const struct gcp_client *client);

/* ---- the lease ---- */

struct gcp_lease {
    int64_t ends_ms;  /* on the loop's clock; 0: not held */
    int64_t until_ms; /* on Google's clock */
};

void gcp_client_set_lease(struct gcp_client *client, struct gcp_lease lease);
bool gcp_client_has_lease(const struct gcp_client *client); /* with a margin */

/* ---- calls ---- */

struct gcp_reply {
    bool is_ok;
    const json_t *body;         /* of a success; with `waits`: the operation */
    struct gcp_failure failure; /* unless ok */
    bool is_in_doubt;           /* an earlier try may have had an effect */
    struct err err;             /* unless ok: "instances.insert: ..." */
};

typedef void gcp_done_fn(void *context, const struct gcp_reply *reply);

enum { GCP_REQUEST_ID_SIZE = 37 }; /* a UUID and a NUL */

/* Everything is copied, except the name. */
struct gcp_request {
    const char *name;      /* for messages: "instances.insert" */
    const char *method;    /* NULL: GET */
    const char *service;   /* another API, which is only read: "iam"; NULL: compute */
    bool has_project;      /* the path begins with its own project; always for other APIs */
    struct str path;       /* below the project, encoded, with its query */
    const json_t *body;    /* NULL: none */
    struct str request_id; /* of a change; empty: a new one */
    bool creates;          /* needs the lease */
    bool waits;            /* for the operation */
    bool is_accepted_only; /* a change that is not waited for */
    int64_t deadline_ms;   /* 0: 90 s; with `waits`: 10 minutes */
    /* With `waits`: Google has accepted the change, and its operation has begun. May be NULL. */
    void (*accepted)(void *context);
    gcp_done_fn *done;
    void *context;
};

void gcp_call_start(struct gcp_client *client, const struct gcp_request *request);

/* A version 4 UUID of random bytes, or of the hash of a text. */
void gcp_request_id(struct str text, char ret_id[GCP_REQUEST_ID_SIZE]);
