/*
 * http_parts.h: the client inside. http.c owns calls and their turns, http_transfer.c what libcurl
 * is told and what it says, http_multi.c the sockets on the loop. Nobody above includes this.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "io/heap.h"
#include "io/http.h"
#include "io/http_head.h"
#include "io/http_trust.h"

#include <curl/curl.h>

/* ---- sockets (http_multi.c) ---- */

struct http_multi;
typedef void http_multi_done_fn(CURL *easy, CURLcode code);

/* libcurl's multi handle on the loop. Every transfer that ends is told to `done`. */
struct http_multi *http_multi_new(struct loop *loop, http_multi_done_fn *done);
void http_multi_free(struct http_multi *multi); /* the transfers must have been removed */
CURLM *http_multi_curl(struct http_multi *multi);

/* ---- hosts and calls (http.c) ---- */

struct http_queue {
    struct http_call *first, *last;
    size_t count;
};

/* One server, by scheme, name and port; raw HTTP/2 apart, for its connections cannot be shared. */
struct http_host {
    struct http_host *next;
    struct http *http;
    char *key;
    struct http_queue waiting, active;
    bool is_raw;
    bool is_nowhere;          /* of requests that cannot be sent, which wait to be told so */
    bool is_connecting;       /* raw only: nobody else may begin before there is a connection */
    curl_socket_t raw_socket; /* raw only: the connection to be reused, or CURL_SOCKET_BAD */
};

enum { HTTP_SPARE_MAX = 64 };

struct http {
    struct loop *loop;
    struct http_limits limits;
    struct http_multi *multi, *raw_multi;
    struct http_host *hosts;
    size_t active, waiting;
    struct loop_task start;
    CURL *spare[HTTP_SPARE_MAX]; /* easy handles to be used again */
    size_t spare_count;
    struct http_trust trust;
};

enum http_state { HTTP_WAITS, HTTP_RUNS, HTTP_ENDED };

struct http_call {
    struct http_call *next, *before;
    struct http_host *host;
    struct arena arena;
    struct http_request request;
    const char *origin; /* "https://host:443", for messages */
    bool is_https;
    enum http_state state;
    CURL *easy;
    struct curl_slist *lines;
    struct http_head head;
    struct buf body;
    struct loop_task late;
    struct loop_timer *patience; /* while it waits for its turn */
    int64_t began_ms;
    curl_socket_t raw_socket;                /* raw only: the connection it was meant to use */
    bool is_fresh, was_vetoed, was_repeated; /* raw only, see http_transfer.c */
    bool has_opened;                         /* a socket was opened for it */
    bool had_left_before; /* and bytes of it had been sent already, on another one */
    bool is_cancelled;
    enum http_outcome forced; /* what we decided ourselves; HTTP_REPLIED: nothing */
    char words[CURL_ERROR_SIZE];
};

/* The first byte of a reply came: a raw connection stands, so others may use it. */
void http_host_connected(struct http_host *host);

/* ---- one transfer (http_transfer.c) ---- */

/* Tells libcurl what to do; `left_ms` is what is left of its time. */
void http_transfer_prepare(struct http_call *call, int64_t left_ms);

/* How it ended, as far as libcurl knows; the reply's views point into the call. */
void http_transfer_read(struct http_call *call, CURLcode code, struct http_reply *reply);

/* Looks at a request before it is queued. Fills err for what can never be sent. */
bool http_transfer_check(const struct http_request *request, struct err *err) MUST_USE;
