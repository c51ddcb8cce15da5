/*
 * credentials.h: the credentials of one client: fetched on demand, cached and refreshed.
 *
 * Uses the first source of the plan (credential_chain.h) that applies. There is one fetch at a
 * time; calls that need keys wait for it. Refreshed as in botocore: in the background from 15
 * minutes before expiry; from 10 minutes before, all calls wait; less for keys that live under an
 * hour. While the old keys are valid, a failed refresh only logs a warning.
 */
#pragma once

#include "base/err.h"
#include "provider/aws/config/credential_chain.h"
#include "provider/aws/wire/credential_json.h"
#include "provider/wait_list.h"

struct aws_client;
struct credentials;
struct secret_registry;

struct credentials *credentials_new(struct aws_client *client);
void credentials_stop(struct credentials *credentials); /* ends a fetch; no more callbacks */
void credentials_free(struct credentials *credentials); /* must be stopped, without waiters */

/* The keys to sign with now; NULL: wait for them. May start a background refresh. Different keys
 * have different numbers. */
const struct aws_credentials *credentials_now(struct credentials *credentials,
                                              unsigned *ret_number);

/* `ready` without an error: call credentials_now(). */
void credentials_await(struct credentials *credentials, struct waiter *waiter);
void credentials_leave(struct credentials *credentials, struct waiter *waiter);

/* AWS refused the keys with this number: stops using them. */
void credentials_reject(struct credentials *credentials, unsigned number);

struct str credentials_source(const struct credentials *credentials);
struct str credentials_report(const struct credentials *credentials, struct arena *arena);

/* ---- one fetch (credentials_fetch.c) ---- */

struct credentials_fetch;

struct credentials_found {
    struct aws_credentials keys; /* keys in the arena of the fetch */
    struct str source;           /* "profile work: assume-role" */
    const struct aws_source_plan *plan;
    size_t decider;               /* source that was used; SOURCE_KIND_COUNT: none */
    struct secret_registry *book; /* registered secrets; the taker leaves an empty one */
    bool is_ok;
    struct err err; /* unless ok */
};

typedef void credentials_found_fn(void *context, const struct credentials_found *found);

/* `done` is called once, later; the fetch is freed afterwards. */
struct credentials_fetch *credentials_fetch_start(struct aws_client *client,
                                                  credentials_found_fn *done, void *context);
void credentials_fetch_cancel(struct credentials_fetch *fetch); /* no more callbacks */
