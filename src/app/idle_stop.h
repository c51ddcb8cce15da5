/*
 * idle_stop.h: decides when a whole cluster, including its head, has been idle long enough to be
 * stopped (metadata.shoal.idle_stop). Pure.
 *
 * Unknown state is treated as work: no connection to Ray, a node that is being launched. The idle
 * time that nodes report is preferred: they also see tasks that start and finish between two of our
 * polls. What people do on the head outside Ray counts too (app/head/head_use.h); what they do on
 * workers is not known.
 */
#pragma once

#include "base/buf.h"
#include "config/document/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_STOP_REASON_BYTES_MAX = 512 };

struct idle_stop {
    int64_t after_ms;      /* 0 for never */
    int64_t idle_since_ms; /* monotonic; 0 while not idle */
};

/* A snapshot of the cluster. */
struct idle_stop_view {
    bool sees_ray;                     /* connected to Ray: the other fields are current */
    size_t drivers;                    /* connected drivers, active or not */
    size_t busy;                       /* nodes with work, including the head */
    size_t waiting;                    /* unplaced requests, and those of request_resources() */
    size_t on_way;                     /* nodes being launched, set up or drained */
    size_t logins, editors, notebooks; /* on the head, outside Ray */
    size_t gpus;                       /* of the head, in use */
    int64_t idle_ms;                   /* shortest idle time of all nodes; -1 if there is none */
};

/* metadata.shoal.idle_stop in minutes; true means an hour; false and 0 mean never. */
int64_t idle_stop_after(const struct value *shoal);

/* Adds everything that keeps the cluster running, such as "1 connected driver, 1 busy node";
 * nothing if it is idle. */
void idle_stop_add_reason(const struct idle_stop_view *view, struct buf *out);

/* The number of GPUs in use, by the output of IDLE_STOP_GPU_COMMAND. */
size_t idle_stop_gpus(struct str output);
#define IDLE_STOP_GPU_COMMAND \
    "nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"

/* metadata.shoal.idle_terminate: how long a stopped cluster may stay, in seconds; 0: no limit. */
int64_t idle_terminate_after(const struct value *shoal);

/* True if the cluster must be stopped now. Otherwise `ret_wait_ms` is the time until the next
 * check. */
bool idle_stop_is_due(struct idle_stop *stop, const struct idle_stop_view *view, int64_t now_ms,
                      int64_t *ret_wait_ms);
