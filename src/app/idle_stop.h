/*
 * idle_stop.h: when a whole cluster, its head included, has had nothing to do for so long that it
 * is to rest (metadata.shoal.idle_stop). Pure.
 *
 * Whatever is not known counts as work: Ray out of sight, a node about to come. A node knows better
 * than we how long it has been idle: a task that came and went between two looks is seen by it.
 */
#pragma once

#include "config/document/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idle_stop {
    int64_t after_ms;      /* 0: never */
    int64_t idle_since_ms; /* monotonic; 0: it is not idle */
};

/* The cluster at one moment. */
struct idle_stop_view {
    bool sees_ray;   /* what follows is of now */
    size_t drivers;  /* that are connected, whatever they do */
    size_t busy;     /* nodes with work, the head among them */
    size_t waiting;  /* requests without a place, and what request_resources() asks for */
    size_t on_way;   /* nodes that are launched, set up or drained */
    int64_t idle_ms; /* of the node that has been idle for the shortest time; -1: there is none */
};

/* metadata.shoal.idle_stop: minutes; true is an hour; false and 0 are never. */
int64_t idle_stop_after(const struct value *shoal);

/* True: rest now. False with when to look again at the latest, in ms. */
bool idle_stop_is_due(struct idle_stop *stop, const struct idle_stop_view *view, int64_t now_ms,
                      int64_t *ret_wait_ms);
