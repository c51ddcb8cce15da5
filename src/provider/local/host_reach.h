/*
 * host_reach.h: runs a script on one of the user's own machines.
 *
 * The application connects this with ssh, and on the head with a local shell. Tests connect it with
 * shells that have a folder each.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct host_task {
    struct str host;   /* address as in the file */
    bool is_head;      /* provider.head_ip */
    struct str script; /* input of `sh -s` */
    int64_t deadline_ms;
};

struct host_result {
    int status;        /* exit status of the script; 255 if the connection failed */
    struct str output; /* standard output; valid during the call */
    struct err err;    /* set unless the status is 0: what ssh or the script said */
};

typedef void host_result_fn(void *context, const struct host_result *result);

struct host_reach {
    void *context;
    /* Calls `done` once, later; returns a handle for cancel(). */
    void *(*run)(void *context, const struct host_task *task, host_result_fn *done,
                 void *done_context);
    void (*cancel)(void *context, void *handle); /* `done` is not called any more */
    /* The host reported its public host key over an authenticated connection. May be NULL. */
    void (*key)(void *context, struct str host, struct str key_line);
};
