/*
 * http_server_request.h: parses a request. Pure.
 *
 * Strict: only a PUT has a body, and its length is given by one Content-Length, so that nothing in
 * the head can make two parsers disagree about where a request ends.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Limit for the request line and all headers together. */
enum { HTTP_REQUEST_BYTES_MAX = 8 * 1024 };

enum { HTTP_REQUEST_INCOMPLETE = 0 };

struct http_server_request {
    struct str path; /* "/metrics": visible ASCII, without the query */
    bool is_head;    /* HEAD, otherwise GET or PUT */
    bool is_put;
    struct str body; /* of a PUT */
    size_t size;     /* bytes of the whole request */
};

/* Returns the status to reply with: 200, with `*ret_request` pointing into `bytes`; 400, 405, 411,
 * 413, 431 or 505 for an unsupported request; HTTP_REQUEST_INCOMPLETE if more bytes are needed. A
 * PUT may have `body_max` bytes; with 0, it is not supported. */
int http_request_read(struct str bytes, size_t body_max, struct http_server_request *ret_request);
