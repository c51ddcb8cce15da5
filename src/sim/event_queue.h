/*
 * event_queue.h: virtual time. Future events ordered by time; equal times in order of insertion.
 *
 * An entry is a few numbers, whose meaning depends on its kind.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_queue_kind {
    /* cloud.c; `what` is a call or an instance */
    EVENT_QUEUE_CALL_EFFECT,
    EVENT_QUEUE_CALL_REPLY,     /* passed to the calling controller */
    EVENT_QUEUE_CALL_FORGOTTEN, /* given up by its caller; takes effect now */
    EVENT_QUEUE_INSTANCE_RUNNING,
    EVENT_QUEUE_INSTANCE_NOTICE, /* passed to the cluster and the controllers */
    EVENT_QUEUE_INSTANCE_TAKEN,  /* a spot instance is interrupted, or a machine dies */
    EVENT_QUEUE_INSTANCE_GONE,
    EVENT_QUEUE_CAPACITY_CHANGE, /* `who` is an offering */
    EVENT_QUEUE_OUTAGE_CHANGE,   /* the whole API becomes unavailable or available again */
    EVENT_QUEUE_HAND,            /* a user terminates a worker manually; reported as GONE later */
    /* cluster.c */
    EVENT_QUEUE_TASK_END, /* `what` is a running task */
    EVENT_QUEUE_ARRIVAL,  /* `who` is a class of the workload */
    EVENT_QUEUE_GCS_CHANGE,
    EVENT_QUEUE_REJOIN,      /* `what` is an instance whose raylet registers again */
    EVENT_QUEUE_RAYLET_EXIT, /* `what` is an instance whose drained raylet exits */
    EVENT_QUEUE_DEATH_SEEN,  /* `what` is an instance that the GCS declares dead */
    /* controller.c; `who` is the controller, `extra` its incarnation */
    EVENT_QUEUE_TICK,
    EVENT_QUEUE_POLL_CLOUD,
    EVENT_QUEUE_POLL_RAY,
    EVENT_QUEUE_LEASE,
    EVENT_QUEUE_SETUP_NEWS,
    EVENT_QUEUE_DRAIN_EFFECT,
    EVENT_QUEUE_DRAIN_REPLY,
    EVENT_QUEUE_CONTROLLER_KILL,
    EVENT_QUEUE_CONTROLLER_START,
    EVENT_QUEUE_CONTROLLER_PAUSE,
    EVENT_QUEUE_CONTROLLER_RESUME,
    /* simulation.c */
    EVENT_QUEUE_SETUP_BEGIN, /* the first step starts on instance `what` */
    EVENT_QUEUE_SETUP_END,   /* the last step ends: it joins Ray, or fails */
    EVENT_QUEUE_SAMPLE,      /* sample for the report */
    EVENT_QUEUE_DOWN,        /* the user deletes the cluster */
    EVENT_QUEUE_CONFIG,      /* the user changes the file and runs `up` */
    EVENT_QUEUE_UP,          /* the user runs `up` again, with the same file */
    EVENT_QUEUE_HEAL,        /* faults stop */
    EVENT_QUEUE_END,
    EVENT_QUEUE_KIND_COUNT,
};

struct event_queue_entry {
    int64_t at;
    uint64_t order;
    uint32_t kind; /* enum event_queue_kind */
    uint32_t who;
    uint64_t what;
    uint64_t extra;
};

struct event_queue {
    struct arena *arena;
    struct event_queue_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t added;
    int64_t now; /* time of the last entry taken */
};

void event_queue_init(struct event_queue *event_queue, struct arena *arena);

/* A time in the past is treated as now. */
void event_queue_add(struct event_queue *event_queue, int64_t at, enum event_queue_kind kind,
                     uint32_t who, uint64_t what, uint64_t extra);

/* Removes the earliest entry and advances the time to it; false if the queue is empty. */
bool event_queue_next(struct event_queue *event_queue, struct event_queue_entry *ret_entry);
