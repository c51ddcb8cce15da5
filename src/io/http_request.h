/*
 * http_request.h: the head of a request, as a server reads it. Pure.
 *
 * Strict about what it understands and short about the rest: no body is ever read, so nothing in
 * the head can make two readers disagree about where a request ends.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Of the line and all headers together. */
enum { HTTP_REQUEST_BYTES_MAX = 8 * 1024 };

enum { HTTP_REQUEST_INCOMPLETE = 0 };

struct http_request {
    struct str path; /* "/metrics": visible ASCII, without what stands behind a question mark */
    bool is_head;    /* HEAD; else GET */
};

/* The status to answer with: 200, and `*ret_request` points into `bytes`; 400, 405, 431 or 505 for
 * what is not served; HTTP_REQUEST_INCOMPLETE: there must be more. */
int http_request_read(struct str bytes, struct http_request *ret_request);
