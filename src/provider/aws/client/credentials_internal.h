/*
 * credentials_internal.h: one fetch, private. credentials_fetch.c selects the source and assumes
 * roles; each of the other files implements one kind of source.
 */
#pragma once

#include "provider/aws/client/aws_client_internal.h"
#include "provider/aws/client/credentials.h"
#include "provider/secret_registry.h"

enum { FETCH_CHAIN_MAX = 40 }; /* above the limit of credential_chain.c */

struct credentials_fetch;

/* One request to a machine's own service, kept for retries. */
struct fetch_question {
    const char *method;
    struct str url;
    struct http_header headers[1];
    size_t header_count;
    void (*answered)(struct credentials_fetch *fetch, const struct http_reply *reply);
};

struct credentials_fetch {
    struct aws_client *client;
    struct arena arena; /* secret */
    struct aws_profiles profiles;
    struct aws_source_plan plan;
    const struct aws_source *chain[FETCH_CHAIN_MAX]; /* the selected source and its base sources */
    size_t chain_count;                              /* number not used yet */
    size_t decider;
    const struct aws_source *source; /* current source */
    struct aws_credentials keys;     /* keys from the previous source */
    struct str name;                 /* "profile work: assume-role" */
    struct loop_task start;
    struct aws_call *call; /* in progress */
    struct http_call *http;
    struct child *child;
    unsigned tries;
    struct fetch_question question;
    struct str token; /* token of a metadata service, or the text of a single sign-on file */
    struct secret_registry book;
    credentials_found_fn *done;
    void *context;
};

/* Called by a source with its keys, in the arena of the fetch. Continues with the next role. */
void fetch_take_keys(struct credentials_fetch *fetch, const struct aws_credentials *keys);

/* The source is configured but failed. Frees the fetch. */
void fetch_fail(struct credentials_fetch *fetch, enum err_kind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Masks the secret in the log and all messages from now on. */
void fetch_learn(struct credentials_fetch *fetch, struct str secret);

/* Reads a small secret file into the arena and trims it. On failure it fails the fetch and returns
 * false. */
bool fetch_read_file(struct credentials_fetch *fetch, struct str path,
                     struct str *ret_text) MUST_USE;

/* One per file; each calls fetch_take_keys() or fetch_fail(), now or later. */
void fetch_from_sso(struct credentials_fetch *fetch);
void fetch_from_process(struct credentials_fetch *fetch);
void fetch_from_container(struct credentials_fetch *fetch);
void fetch_from_imds(struct credentials_fetch *fetch);
