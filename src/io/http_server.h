/*
 * http_server.h: a small HTTP server for occasional requests: metrics, hints of AdaptDL.
 *
 * GET, HEAD and optionally PUT, one request per connection, no TLS. Connections have a size
 * limit and a deadline, and 256 are open at once: one more closes the oldest one without a request.
 * An answered connection is closed. Clients are not trusted.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "io/http_server_request.h"
#include "io/loop.h"

#include <stdint.h>

struct http_serve;

/* Left unchanged, it is a 404. The body is limited to HTTP_SERVE_BODY_MAX bytes; more than that is
 * a 500. */
enum { HTTP_SERVE_BODY_MAX = 16 * 1024 * 1024 };

struct http_served {
    int status;
    const char *type; /* "text/plain" */
    struct buf body;
};

/* Called from the loop; must fill `answer` before it returns. */
typedef void http_serve_fn(void *context, const struct http_server_request *request,
                           struct http_served *answer);

/* `address` is an IPv4 or IPv6 address of this machine; port 0 picks a free one. Fails with
 * ERR_EXISTS if the port is in use. */
bool http_serve_open(struct loop *loop, const char *address, uint16_t port, http_serve_fn *answer,
                     void *context, struct http_serve **ret_serve, struct err *err) MUST_USE;
/* Accepts PUT too, with at most this many bytes. */
void http_serve_accept_put(struct http_serve *serve, size_t body_max);
uint16_t http_serve_port(const struct http_serve *serve);
void http_serve_close(struct http_serve *serve); /* closes its connections too; NULL is allowed */
