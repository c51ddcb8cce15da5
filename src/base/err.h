/*
 * err.h: an error with a kind and a message that a user can act on. Allocated on the caller's
 * stack.
 *
 * A function that can fail returns bool (marked MUST_USE) and takes `struct err *err` last. Success
 * never changes `err`; failure sets it and leaves the ret_ outputs unchanged. Callers add context:
 * `return err_wrap(err, "node %s", name)`.
 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>

/* Each kind implies what to do next. Our protocols use the same names. */
enum err_kind {
    ERR_NONE,
    ERR_USAGE,       /* wrong command line: read the help */
    ERR_CONFIG,      /* wrong cluster file: fix the given line */
    ERR_AUTH,        /* credentials missing, wrong or expired: get new ones */
    ERR_NOT_FOUND,   /* does not exist */
    ERR_EXISTS,      /* exists already */
    ERR_THROTTLED,   /* slow down and retry */
    ERR_CAPACITY,    /* no capacity for that instance type: try another */
    ERR_QUOTA,       /* account limit: request more or use less */
    ERR_TIMEOUT,     /* no reply in time: the effect is unknown */
    ERR_UNAVAILABLE, /* the other side is unavailable: wait and retry */
    ERR_PROTOCOL,    /* the other side sent something invalid */
    ERR_CANCELLED,   /* stopped by the user */
    ERR_IO,          /* a local error: disk, permissions */
    ERR_INTERNAL,    /* a bug in Shoal */
    ERR_KIND_COUNT
};

struct err {
    enum err_kind kind;
    char text[512];
};

void err_write(struct err *err, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
void err_prepend(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Both are false, so that a failure path is one line. They are macros to let the compiler see that,
 * and with it which outputs are set. */
#define err_set(...) (err_write(__VA_ARGS__), err_failed())
#define err_wrap(...) (err_prepend(__VA_ARGS__), err_failed())

static inline bool err_failed(void)
{
    return false;
}

/* "config", "auth", ...: used in JSON output and protocols. */
const char *err_kind_name(enum err_kind kind);

/* The program's exit status for this kind: 2 for usage, otherwise 1. */
int err_exit_status(enum err_kind kind);
