/*
 * pace_watch.h: follows a run as a controller sees it, for figures that the measured run is not
 * slowed down for.
 *
 * Counts how often each node changes, and writes some of the decisions down as planning cases
 * (tests/diff/plan_cases.py), one line of JSON each, with every node.
 */
#pragma once

#include "core/core.h"

struct watched_node {
    bool is_alive; /* in Ray */
    uint32_t type;
    int64_t idle_since;
    const struct capacity *capacities;
    size_t capacity_count;
    uint32_t changes; /* polls of this hour at which its room or state was other than before */
};

struct watch {
    const struct core_settings *settings;
    struct watched_node *nodes; /* by instance; the first is the head */
    size_t node_count;          /* with the head and the place before it */
    struct ray_load load;
    int64_t hour_end;
    uint32_t least_changes; /* of any worker in any hour */
    /* Decisions to be written down: the next one, and when it is. */
    int64_t dump_count;
    int64_t dumped;
    int64_t dump_at;
    int64_t cycle; /* the load repeats itself after this; nothing is written in the first one */
    int64_t cycle_count;
};

/* `workers` machines besides the head; `dump_count` decisions, 0 for none. */
void watch_init(struct watch *watch, const struct core_settings *settings, size_t workers,
                int64_t dump_count, int64_t cycle, int64_t cycle_count, struct arena *arena);

/* For simulation_setup.on_event, with the watch as its context. */
void watch_event(void *context, const struct event *event);

/* After the last event; an hour that is not over does not count. */
void watch_finish(struct watch *watch, int64_t now);
