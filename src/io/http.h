/*
 * http.h: an HTTP client on the loop: HTTP/1.1, HTTP/2, TLS, proxies, persistent connections.
 *
 * For requests with side effects: if no complete reply came, `may_have_acted` says whether the
 * request may have taken effect. It is false only if no byte of the request can have been sent.
 *
 * Servers are verified, TLS is 1.2 or newer, redirects are not followed. Proxies come from
 * http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY; certificates from SSL_CERT_FILE, CURL_CA_BUNDLE
 * or REQUESTS_CA_BUNDLE, otherwise from the system's default location.
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

/* Zero fields take the default given in their comment. */
struct http_limits {
    size_t calls_max;          /* concurrent calls to all servers; default 256 */
    size_t calls_per_host_max; /* concurrent calls to one server; default 32 */
    size_t idle_connections;   /* kept for reuse; default 64 */
};

bool http_open(struct loop *loop, const struct http_limits *limits, struct http **ret_http,
               struct err *err) MUST_USE;

/* Ends all calls without calling callbacks. Not from a callback. */
void http_close(struct http *http);

struct loop *http_loop(const struct http *http); /* the loop it runs on */

/* ---- requests ---- */

struct http_header {
    struct str name, value;
};

enum http_version {
    HTTP_VERSION_ANY, /* HTTP/2 if TLS negotiates it, otherwise HTTP/1.1 */
    HTTP_VERSION_1_1,
    HTTP_VERSION_2_RAW, /* HTTP/2 with prior knowledge and without TLS, as in gRPC; no proxy */
};

struct http_reply;
typedef void http_done_fn(void *context, const struct http_reply *reply);

/* Returns whether the request may be sent. Called after connecting, directly before the first byte
 * is sent. */
typedef bool http_may_send_fn(void *context);

/* A piece of the reply's body, whatever the status. */
typedef void http_bytes_fn(void *context, struct str bytes);

/* Everything is copied. Zero fields take the default given in their comment. */
struct http_request {
    const char *method; /* NULL: "GET" */
    const char *url;    /* http or https; path and query are sent unchanged */
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    enum http_version version;
    bool is_direct;        /* bypasses proxies: for metadata services */
    bool is_once;          /* on a new connection: libcurl resends a request on a dead reused one */
    const char *ca_file;   /* replaces the default certificates */
    const char *cert_file; /* client certificate, with key_file, for servers that require one */
    const char *key_file;
    int64_t connect_ms;         /* DNS, connect and TLS; default 10 s */
    int64_t total_ms;           /* from http_start() to the last byte; default 60 s */
    uint32_t slow_bytes;        /* timeout if fewer bytes per second than this ... */
    uint32_t slow_seconds;      /* ... for this long; 0: disabled */
    size_t body_max;            /* limit of the reply; default 16 MB */
    http_may_send_fn *may_send; /* NULL: always; if false: HTTP_CANCELLED, nothing sent */
    http_bytes_fn *bytes;       /* receives the body in pieces, without a limit; NULL: collected */
    http_done_fn *done;         /* called exactly once */
    void *context;              /* argument of all three */
};

/* Starts or queues the call. It is freed when `done` returns. */
struct http_call *http_start(struct http *http, const struct http_request *request);

/* `done` is called later with HTTP_CANCELLED; `bytes` is not called any more. */
void http_cancel(struct http_call *call);

/* Like http_cancel(), but neither `done` nor `bytes` is called any more: their context may be freed
 * immediately. May be called from `bytes`. */
void http_forget(struct http_call *call);
void *http_call_context(const struct http_call *call);

/* Status of the incoming reply, for `bytes`. 0 before its first line. */
int http_call_status(const struct http_call *call);

size_t http_active(const struct http *http);  /* calls running in libcurl */
size_t http_waiting(const struct http *http); /* calls queued */

/* ---- replies ---- */

enum http_outcome {
    HTTP_REPLIED,        /* complete reply, whatever its status */
    HTTP_BAD_REQUEST,    /* cannot be sent: invalid URL or header */
    HTTP_NOT_RESOLVED,   /* server or proxy name has no address */
    HTTP_NOT_CONNECTED,  /* no connection, or refused by the proxy */
    HTTP_TLS_FAILED,     /* TLS handshake failed: aborted, or no common version */
    HTTP_NOT_TRUSTED,    /* a certificate, the server's or ours, was rejected */
    HTTP_TIMEOUT_UNSENT, /* timed out before anything was sent */
    HTTP_TIMEOUT_SENT,   /* timed out or too slow after that */
    HTTP_RESET,          /* connection lost */
    HTTP_TRUNCATED,      /* reply incomplete */
    HTTP_TOO_LARGE,      /* more than body_max, or too many headers */
    HTTP_GARBAGE,        /* not HTTP */
    HTTP_CANCELLED,      /* http_cancel() */
    HTTP_FAILED,         /* anything else; see libcurl's message in err */
    HTTP_OUTCOME_COUNT
};

struct http_reply {
    enum http_outcome outcome;
    bool may_have_acted; /* the server may have received the request; true if it replied */
    int status;          /* 0 if no header came */
    const struct http_header *headers, *trailers;
    size_t header_count, trailer_count;
    struct str body; /* received part, even if incomplete; empty with `bytes` */
    int64_t took_ms; /* includes time in the queue */
    bool was_reused; /* the call used an existing connection */
    struct err err;  /* unless HTTP_REPLIED: "POST https://host: ..." without path and query */
};

/* The name is case-insensitive. Returns an empty view with a NULL pointer if there is none. */
struct str http_find_header(const struct http_reply *reply, const char *name);
struct str http_find_trailer(const struct http_reply *reply, const char *name);

/* "replied", "not-resolved", ...: for logs and counters. */
const char *http_outcome_name(enum http_outcome outcome);
