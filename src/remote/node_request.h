/*
 * node_request.h: the messages between a node_session and its node, one line of JSON each.
 *
 * The node sends a greeting, receives a request with files and steps, and sends step events
 * (step_event.h) and notices.
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
    NODE_FILES_MAX = 10 * 1000, /* the head gets a host key of each own machine */
    NODE_RUN_SIZE = 33,         /* 32 hexadecimal digits and a NUL */
};

/* Written before the first step runs; missing parent folders are created. Never logged. */
struct node_file {
    struct str path; /* absolute, or starts with "~/" */
    struct str bytes;
    unsigned mode; /* such as 0600 */
};

struct node_request {
    /* 32 hexadecimal digits. A client that repeats a request after a broken link or a crash sends
     * the same value: a run that has ended is then reported and not started again. Empty: the
     * session generates one for its lifetime. */
    struct str run;
    /* The host key of the greeting, once it is pinned; the node installs it only then. Set by the
     * session. */
    struct str host_key;
    const struct node_file *files;
    size_t file_count;
    struct bundle bundle; /* may be empty: the request is then done when the files are written */
};

/* Includes the newline. */
bool node_request_write(const struct node_request *request, struct buf *out,
                        struct err *err) MUST_USE;
bool node_request_read(struct str line, struct arena *arena, struct node_request *ret_request,
                       struct err *err) MUST_USE;

struct node_hello {
    int64_t protocol;
    struct str version; /* Shoal version on the node */
    struct str machine; /* uname -m */
    struct str os;      /* PRETTY_NAME from os-release */
    struct str user, home;
    /* "ssh-ed25519 AAAA...": the key it will install once the client confirms it; empty: no
     * change */
    struct str host_key;
    struct str shown_key;         /* same form: the installed new key; empty if none */
    int64_t disk_free, disk_size; /* bytes, of the file system of the home folder */
    int64_t memory;
    int64_t processors;
    int64_t handover; /* newest handover serial on a head (app/handover/handover.h); 0: none */
};

void node_hello_write(const struct node_hello *hello, struct buf *out);
bool node_hello_read(struct str line, struct arena *arena, struct node_hello *ret_hello,
                     struct err *err) MUST_USE;

enum node_notice_kind {
    NODE_WAITS,       /* waiting before the first step; `text` says for what */
    NODE_ROTATED,     /* the host key of the greeting is now in use */
    NODE_NOT_ROTATED, /* the host key could not be installed; `text` says why */
    NODE_TROUBLE,     /* the request failed; `text` says why */
    NODE_NOTICE_KIND_COUNT
};

struct node_notice {
    enum node_notice_kind kind;
    struct str text;
};

void node_notice_write(const struct node_notice *notice, struct buf *out);
/* False if the line is not a notice, for example a step event. */
bool node_notice_read(struct str line, struct arena *arena,
                      struct node_notice *ret_notice) MUST_USE;
