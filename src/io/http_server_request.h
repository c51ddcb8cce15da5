/*
 * http_server_request.h: parses the head of a request. Pure.
 *
 * Strict, and a body is never read, so that nothing in the head can make two parsers disagree about
 * where a request ends.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Limit for the request line and all headers together. */
enum { HTTP_REQUEST_BYTES_MAX = 8 * 1024 };

enum { HTTP_REQUEST_INCOMPLETE = 0 };

struct http_server_request {
    struct str path; /* "/metrics": visible ASCII, without the query */
    bool is_head;    /* HEAD, otherwise GET */
};

/* Returns the status to reply with: 200, with `*ret_request` pointing into `bytes`; 400, 405, 431
 * or 505 for an unsupported request; HTTP_REQUEST_INCOMPLETE if more bytes are needed. */
int http_request_read(struct str bytes, struct http_server_request *ret_request);
