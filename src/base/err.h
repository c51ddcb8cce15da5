/*
 * err.h: why something failed, in words a user can act on. Lives on the caller's stack.
 *
 * A function that can fail returns bool (marked MUST_USE) and takes `struct err *err` last.
 * Success never touches `err`; failure fills it and leaves the ret_ outputs alone. Callers add
 * what they know: `return err_wrap(err, "node %s", name)`.
 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>

/* Each kind answers "what now?". The same words travel in every protocol of ours. */
enum err_kind {
    ERR_NONE,
    ERR_USAGE,       /* the command line is wrong: read the help */
    ERR_CONFIG,      /* the cluster file is wrong: fix the named line */
    ERR_AUTH,        /* credentials are missing, wrong or expired: get new ones */
    ERR_NOT_FOUND,   /* the thing asked for is not there */
    ERR_EXISTS,      /* it is there already */
    ERR_THROTTLED,   /* slow down and repeat */
    ERR_CAPACITY,    /* no machine of that kind now: try another offering */
    ERR_QUOTA,       /* an account limit: ask for more or use less */
    ERR_TIMEOUT,     /* no answer in time: the effect is unknown */
    ERR_UNAVAILABLE, /* the other side is away: wait and repeat */
    ERR_PROTOCOL,    /* the other side said something we do not understand */
    ERR_CANCELLED,   /* the user stopped it */
    ERR_IO,          /* the local machine refused: disk, permissions */
    ERR_INTERNAL,    /* a bug of ours */
    ERR_KIND_COUNT
};

struct err {
    enum err_kind kind;
    char text[512];
};

/* Both return false, so that a failure path is one line. */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "config", "auth", ...: the word used in JSON output and protocols. */
const char *err_kind_name(enum err_kind kind);

/* The exit status of the program when it ends with this kind: 2 for usage, 1 for the rest. */
int err_exit_status(enum err_kind kind);
