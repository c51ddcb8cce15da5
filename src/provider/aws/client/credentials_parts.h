/*
 * credentials_parts.h: one fetch inside. credentials_fetch.c finds the source that decides and asks
 * for roles; each of the other files knows one kind of source.
 */
#pragma once

#include "provider/aws/client/aws_client_parts.h"
#include "provider/aws/client/credentials.h"
#include "provider/aws/client/secret_book.h"

enum { FETCH_CHAIN_MAX = 40 }; /* more than source.c lets through */

struct credentials_fetch;

/* One question to a machine's own service, kept to be asked again. */
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
    const struct aws_source *chain[FETCH_CHAIN_MAX]; /* the one that decides, and its bases */
    size_t chain_count;                              /* those still to be asked */
    size_t decider;
    const struct aws_source *source; /* the one being asked */
    struct aws_credentials keys;     /* of the one asked before */
    struct str name;                 /* "profile work: assume-role" */
    struct loop_task start;
    struct aws_call *call; /* what is under way */
    struct http_call *http;
    struct child *child;
    unsigned tries;
    struct fetch_question question;
    struct str token; /* of a metadata service, or the text of a file of single sign-on */
    struct secret_book book;
    credentials_found_fn *done;
    void *context;
};

/* The source gave these; they live in the arena of the fetch. Goes on to the next role. */
void fetch_take_keys(struct credentials_fetch *fetch, const struct aws_credentials *keys);

/* The source is set up and did not give any. The fetch is gone after that. */
void fetch_fail(struct credentials_fetch *fetch, enum err_kind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* The log and every message keep silent about it from now on. */
void fetch_learn(struct credentials_fetch *fetch, struct str secret);

/* A small file of secrets whole, into the arena, without blanks around it; fails the fetch itself
 * and says false. */
bool fetch_read_file(struct credentials_fetch *fetch, struct str path,
                     struct str *ret_text) MUST_USE;

/* One file each; every one ends in fetch_take_keys() or fetch_fail(), now or later. */
void fetch_from_sso(struct credentials_fetch *fetch);
void fetch_from_process(struct credentials_fetch *fetch);
void fetch_from_container(struct credentials_fetch *fetch);
void fetch_from_imds(struct credentials_fetch *fetch);
