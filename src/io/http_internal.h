/*
 * http_internal.h: the client's private types. http.c owns calls and queues, http_transfer.c sets
 * up libcurl transfers and reads their results, http_multi.c watches sockets on the loop. Only
 * these files include it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "io/http.h"
#include "io/http_head.h"
#include "io/http_trust.h"
#include "io/xalloc.h"

#include <curl/curl.h>

/* ---- sockets (http_multi.c) ---- */

struct http_multi;
typedef void http_multi_done_fn(CURL *easy, CURLcode code);

/* A libcurl multi handle on the loop. Calls `done` for every finished transfer. */
struct http_multi *http_multi_new(struct loop *loop, http_multi_done_fn *done);
void http_multi_free(struct http_multi *multi); /* all transfers must have been removed */
CURLM *http_multi_curl(struct http_multi *multi);

/* ---- hosts and calls (http.c) ---- */

struct http_queue {
    struct http_call *first, *last;
    size_t count;
};

/* One server, by scheme, name and port. Raw HTTP/2 is separate, because its connections cannot be
 * shared. */
struct http_host {
    struct http_host *next;
    struct http *http;
    char *key;
    struct http_queue waiting, active;
    bool is_raw;
    bool is_nowhere;          /* holds requests that cannot be sent until their `done` is called */
    bool is_connecting;       /* raw only: other calls wait until it is connected */
    curl_socket_t raw_socket; /* raw only: the connection to reuse, or CURL_SOCKET_BAD */
};

enum { HTTP_SPARE_MAX = 64 };

struct http {
    struct loop *loop;
    struct http_limits limits;
    struct http_multi *multi, *raw_multi;
    struct http_host *hosts;
    size_t active, waiting;
    struct loop_task start;
    CURL *spare[HTTP_SPARE_MAX]; /* easy handles for reuse */
    size_t spare_count;
    struct http_trust trust;
};

enum http_state { HTTP_WAITS, HTTP_RUNS, HTTP_ENDED };

struct http_call {
    struct http_call *next, *before;
    struct http_host *host;
    struct arena arena;
    struct http_request request;
    const char *origin; /* "https://host:443", for error messages */
    bool is_https;
    enum http_state state;
    CURL *easy;
    struct curl_slist *lines;
    struct http_head head;
    struct buf body;
    struct loop_task late;
    struct loop_timer *patience; /* limits the time in the queue */
    int64_t began_ms;
    curl_socket_t raw_socket;                /* raw only: the connection it should use */
    bool is_fresh, was_vetoed, was_repeated; /* raw only, see http_transfer.c */
    bool has_opened;                         /* libcurl opened a socket for it */
    bool had_left_before;                    /* bytes were sent before that, on another socket */
    bool is_cancelled;
    bool was_withheld;        /* request.may_send returned false */
    enum http_outcome forced; /* outcome set by us; HTTP_REPLIED: none */
    char words[CURL_ERROR_SIZE];
};

/* The first byte of a reply came: the raw connection works, so other calls may use it. */
void http_host_connected(struct http_host *host);

/* ---- one transfer (http_transfer.c) ---- */

/* Sets the options of the transfer; `left_ms` is the remaining time. */
void http_transfer_prepare(struct http_call *call, int64_t left_ms);

/* Reads the outcome of a finished transfer; the reply's views point into the call. */
void http_transfer_read(struct http_call *call, CURLcode code, struct http_reply *reply);

/* Checks a request before it is queued. Fails for one that can never be sent. */
bool http_transfer_check(const struct http_request *request, struct err *err) MUST_USE;
