/*
 * question.h: one HTTP request of the credentials code, repeated while the other side is busy.
 *
 * A status that says "later" is retried with a growing pause: 1 s, then 2 s, and so on. Lost
 * replies are retried only for metadata servers, as in google-auth: a token service that cannot be
 * reached is reported at once, because the next refresh tries again.
 */
#pragma once

#include "base/str.h"
#include "io/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUESTION_HEADERS_MAX = 8 };

/* Everything lives until `answered` is called. */
struct question {
    const char *method; /* NULL: "GET" */
    struct str url;     /* NUL-terminated */
    struct http_header headers[QUESTION_HEADERS_MAX];
    size_t header_count;
    struct str body;
    unsigned tries_max; /* 0: 1 */
    bool retries_lost;  /* no complete reply counts as temporary */
    bool is_ping;       /* any reply is an answer */
    bool reads_refusal; /* an error code in the body may be temporary, too */
    bool is_direct;     /* metadata server: not through a proxy */
    int64_t total_ms;   /* 0: 60 s */
    void (*answered)(void *context, const struct http_reply *reply);
};

/* Embedded in its owner. */
struct asker {
    struct http *http;
    void *context;    /* of `answered` */
    int64_t pause_ms; /* before the first retry */
    struct question question;
    struct http_call *call;
    struct loop_timer *timer;
    unsigned tries;
};

void asker_init(struct asker *asker, struct http *http, int64_t pause_ms, void *context);
void asker_clear(struct asker *asker); /* `answered` is not called any more */

/* One question at a time. */
void asker_ask(struct asker *asker, const struct question *question);
