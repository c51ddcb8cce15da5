/*
 * credentials.h: the credentials of one client, found when they are needed, kept, and renewed.
 *
 * The first source of the plan (source.h) that applies is asked; there is one fetch at a time, and
 * whoever needs keys meanwhile waits for it. Renewed as botocore does: from 15 minutes before their
 * end in the background, from 10 minutes before it everybody waits; shorter when the keys live for
 * less than an hour. While old keys still count, a fetch that fails is only warned of.
 */
#pragma once

#include "base/err.h"
#include "provider/aws/login/source.h"
#include "provider/aws/wire/credential_json.h"

struct aws_client;
struct credentials;
struct secret_book;

struct credentials *credentials_new(struct aws_client *client);
void credentials_stop(struct credentials *credentials); /* ends a fetch; no callback any more */
void credentials_free(struct credentials *credentials); /* stopped, and nobody waits; wipes */

/* The keys to sign with now; NULL: wait for them. May start a fetch in the background. The number
 * is another one for other keys. */
const struct aws_credentials *credentials_now(struct credentials *credentials,
                                              unsigned *ret_number);

/* Lives in its owner; leave all but `ready` and `context` zero. */
struct credentials_wait {
    void (*ready)(void *context, const struct err *err); /* NULL: ask credentials_now() again */
    void *context;
    struct credentials_wait *next;
    bool is_waiting;
};

void credentials_await(struct credentials *credentials, struct credentials_wait *wait);
void credentials_leave(struct credentials *credentials, struct credentials_wait *wait);

/* AWS refused the keys of this number: they are not used any more. */
void credentials_reject(struct credentials *credentials, unsigned number);

struct str credentials_source(const struct credentials *credentials);
struct str credentials_report(const struct credentials *credentials, struct arena *arena);

/* ---- one fetch (credentials_fetch.c) ---- */

struct credentials_fetch;

struct credentials_found {
    struct aws_credentials keys; /* in the arena of the fetch */
    struct str source;           /* "profile work: assume-role" */
    const struct aws_source_plan *plan;
    size_t decider;           /* which of the plan decided; SOURCE_KIND_COUNT: none */
    struct secret_book *book; /* what was learnt; who takes it over leaves an empty one */
    bool is_ok;
    struct err err; /* unless ok */
};

typedef void credentials_found_fn(void *context, const struct credentials_found *found);

/* `done` is called once, later; after that the fetch is gone. */
struct credentials_fetch *credentials_fetch_start(struct aws_client *client,
                                                  credentials_found_fn *done, void *context);
void credentials_fetch_cancel(struct credentials_fetch *fetch); /* no callback any more */
