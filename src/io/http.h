/*
 * http.h: the HTTP client, on the loop: HTTP/1.1, HTTP/2, TLS, proxies, connections kept.
 *
 * What matters to a caller who pays for what a request does: when no whole reply came,
 * `may_have_acted` says whether the request may have taken effect all the same. It is false only
 * when not one byte of the request can have left.
 *
 * Servers are verified, TLS is 1.2 or newer, redirects are not followed. Proxies come from
 * http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY; certificates from SSL_CERT_FILE,
 * CURL_CA_BUNDLE or REQUESTS_CA_BUNDLE, else from where the system keeps them.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;
struct http_call;

/* ---- the client ---- */

/* What is zero takes the default named behind it. */
struct http_limits {
    size_t calls_max;          /* at once, to all servers; 256 */
    size_t calls_per_host_max; /* at once, to one server; 32 */
    size_t idle_connections;   /* kept for the next call; 64 */
};

bool http_open(struct loop *loop, const struct http_limits *limits, struct http **ret_http,
               struct err *err) MUST_USE;

/* Ends all calls; no callback is called any more. Not from a callback. */
void http_close(struct http *http);

struct loop *http_loop(const struct http *http); /* on which it lives */

/* ---- what to ask ---- */

struct http_header {
    struct str name, value;
};

enum http_version {
    HTTP_VERSION_ANY,   /* HTTP/2 where TLS offers it, else HTTP/1.1 */
    HTTP_VERSION_1_1,   /* no more than that */
    HTTP_VERSION_2_RAW, /* HTTP/2 at once without TLS, as gRPC speaks it; never by a proxy */
};

struct http_reply;
typedef void http_done_fn(void *context, const struct http_reply *reply);

/* A piece of the body of a reply, whatever its status. */
typedef void http_bytes_fn(void *context, struct str bytes);

/* Everything is copied. What is zero takes the default named behind it. */
struct http_request {
    const char *method; /* NULL: "GET" */
    const char *url;    /* http or https; its path and query are sent as they stand */
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    enum http_version version;
    bool is_direct;        /* past any proxy: for metadata services */
    bool is_once;          /* on a connection of its own, so that a kept one which turns out dead
                             * is not a reason to send it again behind the caller's back */
    const char *ca_file;   /* instead of the usual certificates */
    const char *cert_file; /* of ours, with key_file, for servers that ask */
    const char *key_file;
    int64_t connect_ms;    /* to resolve, connect and agree on TLS; 10 s */
    int64_t total_ms;      /* from http_start() to the last byte; 60 s */
    uint32_t slow_bytes;   /* fewer per second than this ... */
    uint32_t slow_seconds; /* ... for so long is a timeout; 0: never */
    size_t body_max;       /* of the reply; 16 MB */
    http_bytes_fn *bytes;  /* takes the body as it comes, however long; NULL: it is collected */
    http_done_fn *done;    /* called exactly once */
    void *context;         /* of both */
};

/* Begins, or waits for its turn. The call is gone once `done` returns. */
struct http_call *http_start(struct http *http, const struct http_request *request);

/* `done` hears HTTP_CANCELLED, later; no bytes come any more. */
void http_cancel(struct http_call *call);

/* As http_cancel(), and nobody is told: neither `done` nor `bytes` is called any more, so that
 * their context may go at once. Also from `bytes`. */
void http_forget(struct http_call *call);

/* Of the reply that is coming in: for `bytes`. 0 before its first line. */
int http_call_status(const struct http_call *call);

size_t http_active(const struct http *http);  /* calls that curl works on */
size_t http_waiting(const struct http *http); /* calls that wait for their turn */

/* ---- what came ---- */

enum http_outcome {
    HTTP_REPLIED,        /* a whole reply, whatever its status */
    HTTP_BAD_REQUEST,    /* cannot be sent: the URL, a header */
    HTTP_NOT_RESOLVED,   /* no address for the name of the server or the proxy */
    HTTP_NOT_CONNECTED,  /* nobody answers there, or the proxy refused */
    HTTP_TLS_FAILED,     /* the greeting failed: broken off, or no common version */
    HTTP_NOT_TRUSTED,    /* a certificate, theirs or ours, is not accepted */
    HTTP_TIMEOUT_UNSENT, /* too late, before anything was sent */
    HTTP_TIMEOUT_SENT,   /* too late, or too slow, after that */
    HTTP_RESET,          /* the connection broke */
    HTTP_TRUNCATED,      /* the reply ended before its end */
    HTTP_TOO_LARGE,      /* more than body_max, or a mountain of headers */
    HTTP_GARBAGE,        /* not HTTP */
    HTTP_CANCELLED,      /* http_cancel() */
    HTTP_FAILED,         /* anything else; the error has libcurl's words */
    HTTP_OUTCOME_COUNT
};

struct http_reply {
    enum http_outcome outcome;
    bool may_have_acted; /* the server may have seen the request; true when it replied */
    int status;          /* 0 when no header came */
    const struct http_header *headers, *trailers;
    size_t header_count, trailer_count;
    struct str body; /* what came of it, also when not all of it did; empty with `bytes` */
    int64_t took_ms; /* with the wait for its turn */
    bool was_reused; /* the connection was there already */
    struct err err;  /* unless HTTP_REPLIED: "POST https://host: ..." without path and query */
};

/* By name, in any case. The empty view with a NULL pointer when there is none. */
struct str http_find_header(const struct http_reply *reply, const char *name);
struct str http_find_trailer(const struct http_reply *reply, const char *name);

/* "replied", "not-resolved", ...: for logs and counters. */
const char *http_outcome_name(enum http_outcome outcome);
