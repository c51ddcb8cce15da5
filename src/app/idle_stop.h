/*
 * idle_stop.h: decides when a whole cluster, including its head, has been idle long enough to be
 * stopped (metadata.shoal.idle_stop). Pure.
 *
 * Unknown state is treated as work: no connection to Ray, a node that is being launched. The idle
 * time that nodes report is preferred: they also see tasks that start and finish between two of our
 * polls.
 */
#pragma once

#include "config/document/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idle_stop {
    int64_t after_ms;      /* 0 for never */
    int64_t idle_since_ms; /* monotonic; 0 while not idle */
};

/* A snapshot of the cluster. */
struct idle_stop_view {
    bool sees_ray;   /* connected to Ray: the other fields are current */
    size_t drivers;  /* connected drivers, active or not */
    size_t busy;     /* nodes with work, including the head */
    size_t waiting;  /* unplaced requests, and those of request_resources() */
    size_t on_way;   /* nodes being launched, set up or drained */
    int64_t idle_ms; /* shortest idle time of all nodes; -1 if there is none */
};

/* metadata.shoal.idle_stop in minutes; true means an hour; false and 0 mean never. */
int64_t idle_stop_after(const struct value *shoal);

/* True if the cluster must be stopped now. Otherwise `ret_wait_ms` is the time until the next
 * check. */
bool idle_stop_is_due(struct idle_stop *stop, const struct idle_stop_view *view, int64_t now_ms,
                      int64_t *ret_wait_ms);
