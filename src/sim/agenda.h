/*
 * agenda.h: virtual time. What will happen, soonest first; equal times in the order of adding.
 *
 * An entry is a few numbers; whoever owns the kind knows what they mean.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agenda_kind {
    /* cloud.c; `what` is a call or an instance */
    AGENDA_CALL_EFFECT,
    AGENDA_CALL_REPLY,     /* handed to the controller that called */
    AGENDA_CALL_FORGOTTEN, /* was given up before its effect, which has come now */
    AGENDA_INSTANCE_RUNNING,
    AGENDA_INSTANCE_NOTICE, /* handed to the cluster and the controllers */
    AGENDA_INSTANCE_TAKEN,  /* a spot instance is taken away, or a machine dies */
    AGENDA_INSTANCE_GONE,
    AGENDA_CAPACITY_CHANGE, /* `who` is an offering */
    AGENDA_OUTAGE_CHANGE,   /* the API as a whole goes away or comes back */
    AGENDA_HAND,            /* somebody ends a worker by hand; the yard sees it as GONE later */
    /* cluster.c */
    AGENDA_TASK_END, /* `what` is a running task */
    AGENDA_ARRIVAL,  /* `who` is a class of the workload */
    AGENDA_GCS_CHANGE,
    AGENDA_REJOIN,      /* `what` is an instance whose raylet registers again */
    AGENDA_RAYLET_EXIT, /* `what` is an instance whose raylet was drained and leaves */
    AGENDA_DEATH_SEEN,  /* `what` is an instance that the GCS misses */
    /* controller.c; `who` is the controller, `extra` its incarnation */
    AGENDA_TICK,
    AGENDA_POLL_CLOUD,
    AGENDA_POLL_RAY,
    AGENDA_LEASE,
    AGENDA_SETUP_NEWS,
    AGENDA_DRAIN_EFFECT,
    AGENDA_DRAIN_REPLY,
    AGENDA_CONTROLLER_KILL,
    AGENDA_CONTROLLER_START,
    AGENDA_CONTROLLER_PAUSE,
    AGENDA_CONTROLLER_RESUME,
    /* yard.c */
    AGENDA_SETUP_BEGIN, /* the first step runs on instance `what` */
    AGENDA_SETUP_END,   /* the last one has: it joins Ray, or does not */
    AGENDA_SAMPLE,      /* the figures of the report */
    AGENDA_DOWN,        /* the user ends the cluster */
    AGENDA_HEAL,        /* faults stop */
    AGENDA_END,
    AGENDA_KIND_COUNT,
};

struct agenda_entry {
    int64_t at;
    uint64_t order;
    uint32_t kind; /* enum agenda_kind */
    uint32_t who;
    uint64_t what;
    uint64_t extra;
};

struct agenda {
    struct arena *arena;
    struct agenda_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t added;
    int64_t now; /* the time of the entry taken last */
};

void agenda_init(struct agenda *agenda, struct arena *arena);

/* A time before now is now. */
void agenda_add(struct agenda *agenda, int64_t at, enum agenda_kind kind, uint32_t who,
                uint64_t what, uint64_t extra);

/* Takes the soonest entry off and moves the time there; false when nothing is left. */
bool agenda_next(struct agenda *agenda, struct agenda_entry *ret_entry);
