/*
 * http_head.h: the lines of a reply that are not its body.
 *
 * They come one at a time: interim replies (100, 103), then the reply's own, then trailers behind
 * the body. Only the last reply counts; what comes behind its blank line is a trailer.
 */
#pragma once

#include "base/arena.h"
#include "io/http.h"

/* Of all header lines together, and how many. */
enum { HTTP_HEAD_BYTES_MAX = 256 * 1024, HTTP_HEAD_COUNT_MAX = 1000 };

struct http_fields {
    struct http_header *items;
    size_t count, capacity;
};

/* Zeroed is empty. */
struct http_head {
    int status;
    bool is_ended; /* the blank line of the last reply was seen */
    size_t bytes;
    struct http_fields headers, trailers;
};

/* One line with its end. False when it is no HTTP, or there are too many (see is_too_large()). */
bool http_head_add(struct http_head *head, struct arena *arena, struct str line) MUST_USE;
bool http_head_is_too_large(const struct http_head *head);

struct str http_fields_find(const struct http_header *items, size_t count, const char *name);

/* May a request carry this? A name is a token, a value has no control bytes. */
bool http_header_is_valid(struct http_header header);
