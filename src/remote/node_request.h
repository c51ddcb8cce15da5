/*
 * node_request.h: what is said over the one connection to a node, in lines of JSON.
 *
 * The node greets with what it is; it is sent files and steps; what happens to the steps comes back
 * as step events (step_event.h), and what else there is to say as notices.
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

enum {
    NODE_PROTOCOL = 1,
    NODE_REQUEST_BYTES_MAX = 24 << 20,
    NODE_FILES_MAX = 1000,
    NODE_RUN_SIZE = 33, /* 32 hexadecimal digits and a zero byte */
};

/* A file to be written whole before the first step, folders above it made. Never in a log. */
struct node_file {
    struct str path; /* absolute, or beginning with "~/" */
    struct str bytes;
    unsigned mode; /* 0600 */
};

struct node_request {
    /* 32 hexadecimal digits. Whoever asks again, because the link broke or the asking program was
     * killed, says the same: then what has ended meanwhile is told and not done once more. Empty:
     * a session makes one up, which lasts as long as itself. */
    struct str run;
    /* Of the greeting, when it is pinned: only then the node may begin to show it. A session fills
     * it in. */
    struct str host_key;
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
    struct str os;      /* PRETTY_NAME of os-release */
    struct str user, home;
    /* "ssh-ed25519 AAAA...": what it will show once it is known to be pinned; empty: as before. */
    struct str host_key;
    int64_t disk_free, disk_size; /* bytes, of the home's file system */
    int64_t memory;
    int64_t processors;
};

void node_hello_write(const struct node_hello *hello, struct buf *out);
bool node_hello_read(struct str line, struct arena *arena, struct node_hello *ret_hello,
                     struct err *err) MUST_USE;

enum node_notice_kind {
    NODE_WAITS,       /* before the steps begin: `text` says for what */
    NODE_ROTATED,     /* the host key of the greeting is shown from now on, and no other */
    NODE_NOT_ROTATED, /* it could not be put there: `text` says why */
    NODE_TROUBLE,     /* nothing can be done there: `text` says why */
    NODE_NOTICE_KIND_COUNT
};

struct node_notice {
    enum node_notice_kind kind;
    struct str text;
};

void node_notice_write(const struct node_notice *notice, struct buf *out);
/* False for a line that is none, such as a step event. */
bool node_notice_read(struct str line, struct arena *arena,
                      struct node_notice *ret_notice) MUST_USE;
