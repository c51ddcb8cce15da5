/*
 * node_request.h: what is said over the one connection to a node, in lines of JSON.
 *
 * The node greets with what it is; it is sent files and steps; what happens to the steps comes back
 * as step events (step_event.h).
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/bundle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODE_PROTOCOL = 1, NODE_REQUEST_BYTES_MAX = 24 << 20 };

/* A file to be written whole before the first step, folders above it made. Never in a log. */
struct node_file {
    struct str path; /* absolute, or beginning with "~/" */
    struct str bytes;
    unsigned mode; /* 0600 */
};

struct node_request {
    const struct node_file *files;
    size_t file_count;
    struct bundle bundle; /* may be empty: then it is done when the files are there */
};

/* With its newline. */
bool node_request_write(const struct node_request *request, struct buf *out,
                        struct err *err) MUST_USE;
bool node_request_read(struct str line, struct arena *arena, struct node_request *ret_request,
                       struct err *err) MUST_USE;

struct node_hello {
    int64_t protocol;
    struct str version; /* of Shoal there */
    struct str machine; /* uname -m */
    struct str system;  /* PRETTY_NAME of os-release */
    struct str user, home;
    struct str
        host_key; /* "ssh-ed25519 AAAA...": what it will show from now on; empty: as before */
    int64_t disk_free, disk_size; /* bytes, of the home's file system */
    int64_t memory;
    int64_t processors;
};

void node_hello_write(const struct node_hello *hello, struct buf *out);
bool node_hello_read(struct str line, struct arena *arena, struct node_hello *ret_hello,
                     struct err *err) MUST_USE;
