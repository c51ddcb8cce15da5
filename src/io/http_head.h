/*
 * http_head.h: the status line, headers and trailers of a reply.
 *
 * Lines arrive one at a time: interim replies (100, 103), then the reply itself, then trailers
 * after the body. Only the last reply is kept; lines after its blank line are trailers.
 */
#pragma once

#include "base/arena.h"
#include "io/http.h"

/* Limits on all header lines together. */
enum { HTTP_HEAD_BYTES_MAX = 256 * 1024, HTTP_HEAD_COUNT_MAX = 1000 };

struct http_fields {
    struct http_header *items;
    size_t count, capacity;
};

/* Initialize with zeros. */
struct http_head {
    int status;
    bool is_ended; /* the blank line of the last reply was read */
    size_t bytes;
    struct http_fields headers, trailers;
};

/* Adds one line with its newline. False if it is not HTTP or exceeds the limits (see
 * is_too_large()). */
bool http_head_add(struct http_head *head, struct arena *arena, struct str line) MUST_USE;
bool http_head_is_too_large(const struct http_head *head);

struct str http_fields_find(const struct http_header *items, size_t count, const char *name);

/* True if a request may contain this header: the name is a token, the value has no control
 * bytes. */
bool http_header_is_valid(struct http_header header);
