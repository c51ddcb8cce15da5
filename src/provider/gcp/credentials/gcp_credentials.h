/*
 * gcp_credentials.h: an access token for Google's APIs: fetched on demand, cached and refreshed.
 *
 * The source is given, or found as in google-auth (adc_search.h): a file, gcloud's login, or the
 * metadata server of a VM. There is one fetch at a time; calls that need a token wait for it.
 * Refreshed in the background from 225 seconds before expiry (the metadata server returns the same
 * token before that); in the last minute all calls wait. While the old token is valid, a failed
 * refresh only logs a warning.
 *
 * No secret is in an error, a log line or a source's name; every secret found is registered with
 * the redactor.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "io/child.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/redact.h"
#include "provider/wait_list.h"

#include <stdbool.h>
#include <stdint.h>

struct gcp_credentials;

/* Everything must outlive the credentials. */
struct gcp_setup {
    struct loop *loop;
    struct http *http;
    struct child_pool *children; /* for the program of an external identity */
    const struct log *log;
    struct redact *redact;      /* every secret found is registered here; NULL: nowhere */
    const char *const *environ; /* as in variable.h */
    struct str given_key;       /* a service account's key, as JSON: the only source; or empty */
    struct str given_token;     /* the same, as a token */
    struct str scope;           /* empty: cloud-platform */
    int64_t pause_ms;           /* before the first retry; 0: 1 s */
    const char *product_path;   /* names the machine's maker; NULL: Linux's file. For tests */
};

struct gcp_access {
    struct str token;         /* secret: for "Authorization: Bearer ..." */
    int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
    struct str project;       /* empty: unknown */
    struct str quota_project; /* for x-goog-user-project; empty: none */
    struct str universe;      /* "googleapis.com": the domain of all APIs */
    struct str source;        /* "service_account /path/key.json", for messages */
};

struct gcp_credentials *gcp_credentials_new(const struct gcp_setup *setup);
void gcp_credentials_free(struct gcp_credentials *credentials); /* no more callbacks */

/* Are there credentials to try? Sends no request: without a file, only a machine of Google counts,
 * or a metadata server that the environment names. */
bool gcp_credentials_exist(const struct gcp_setup *setup);

/* The token to use now; NULL: wait for it. May start a background refresh. Different tokens have
 * different numbers. */
const struct gcp_access *gcp_credentials_now(struct gcp_credentials *credentials,
                                             unsigned *ret_number);

/* `ready` without an error: call gcp_credentials_now(). */
void gcp_credentials_await(struct gcp_credentials *credentials, struct waiter *waiter);
void gcp_credentials_leave(struct gcp_credentials *credentials, struct waiter *waiter);

/* Google refused the token with this number (status 401): stops using it. */
void gcp_credentials_reject(struct gcp_credentials *credentials, unsigned number);
