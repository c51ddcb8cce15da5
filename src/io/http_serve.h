/*
 * http_serve.h: a small HTTP server for a few texts that somebody fetches now and then: metrics.
 *
 * GET and HEAD, one request for each connection, no bodies, no TLS. Every connection has a bound
 * for its bytes and a deadline; more connections than a few are turned away. Whoever it is that
 * asks can make it work a little, and do nothing else.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdint.h>

struct http_serve;

/* Zero and empty are a 404. The body has room for HTTP_SERVE_BODY_MAX bytes; what is more is a 500.
 */
enum { HTTP_SERVE_BODY_MAX = 16 * 1024 * 1024 };

struct http_served {
    int status;
    const char *type; /* "text/plain" */
    struct buf body;
};

/* Called from the loop; answers at once. */
typedef void http_serve_fn(void *context, struct str path, struct http_served *answer);

/* `address` is an IPv4 or IPv6 address of this machine; port 0: any that is free. ERR_EXISTS:
 * somebody listens there already. */
bool http_serve_open(struct loop *loop, const char *address, uint16_t port, http_serve_fn *answer,
                     void *context, struct http_serve **ret_serve, struct err *err) MUST_USE;
uint16_t http_serve_port(const struct http_serve *serve);
void http_serve_close(struct http_serve *serve); /* with its connections; NULL is fine */
