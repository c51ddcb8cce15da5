/*
 * token_fetch_internal.h: one fetch, private. token_fetch.c reads files and asks token services;
 * each of the other files implements one kind of source.
 */
#pragma once

#include "base/arena.h"
#include "provider/gcp/credentials/adc_file.h"
#include "provider/gcp/credentials/adc_search.h"
#include "provider/gcp/credentials/question.h"
#include "provider/gcp/credentials/token_fetch.h"
#include "provider/gcp/credentials/token_reply.h"
#include "provider/secret_registry.h"

#define TOKEN_SCOPE_DEFAULT "https://www.googleapis.com/auth/cloud-platform"

struct token_fetch {
    const struct gcp_setup *setup;
    struct token_known known;
    struct arena arena; /* secret */
    struct adc_search search;
    struct adc_file file;
    const struct adc_file *current; /* the file, or what it impersonates with; NULL: metadata */
    bool is_gcloud;                 /* the file is gcloud's */
    bool is_impersonated;           /* the token is that of the impersonated account */
    struct asker asker;
    struct child *child;
    struct loop_task start;
    struct secret_registry book;
    struct gcp_access access;
    struct str region, session; /* of AWS, and the session of its metadata service */
    void (*session_next)(struct token_fetch *fetch);
    token_found_fn *done;
    void *context;
};

int64_t token_fetch_now(const struct token_fetch *fetch); /* seconds since 1970 */

/* The fetch failed. Frees it. */
void token_fetch_fail(struct token_fetch *fetch, enum err_kind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Masks the secret in the log and all messages from now on. */
void token_fetch_learn(struct token_fetch *fetch, struct str secret);

/* Reads a file that may be secret into the arena; a missing one fails with ERR_NOT_FOUND. */
bool token_fetch_read(struct token_fetch *fetch, struct str path, struct str *ret_text,
                      struct err *err) MUST_USE;

/* True for a complete reply with status 200; otherwise fails the fetch. */
bool token_fetch_is_answer(struct token_fetch *fetch, const struct http_reply *reply,
                           const char *service);

/* A source has its token, in the arena. A file's token is then used to impersonate, and its project
 * is looked up; the metadata server's code does the rest itself. */
void token_fetch_take(struct token_fetch *fetch, const struct token_reply *reply);

/* The source is complete: calls `done` and frees the fetch. */
void token_fetch_finish(struct token_fetch *fetch);

/* An external identity has its own token, in the arena: exchanges it. */
void token_fetch_exchange(struct token_fetch *fetch, struct str subject);

/* Each calls one of the functions above, now or later. */
void token_fetch_from_metadata(struct token_fetch *fetch);
void token_fetch_from_subject(struct token_fetch *fetch);
void token_fetch_from_aws(struct token_fetch *fetch);
