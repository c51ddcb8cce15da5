/*
 * simulation.h: a whole simulated world from one seed.
 *
 * A cloud, a Ray and one or two controllers with real cores, in virtual time, with faults; the
 * invariants are checked after every event. Equal setups give equal traces on every machine.
 */
#pragma once

#include "core/core.h"
#include "sim/faults.h"
#include "sim/measure.h"
#include "sim/workload.h"

struct simulation_setup {
    uint64_t seed;
    const struct core_settings *settings; /* the simulation sets head_instance */
    const struct workload *workload;
    struct faults faults;
    int64_t duration; /* length of the phase with faults, milliseconds */
    /* Of the phase after it, without faults, in which the desired state must be reached; 0 for
     * none. */
    int64_t healing;
    int64_t down_at;     /* when the user deletes the cluster; 0 for never */
    bool is_lease_local; /* stored on the head, not in the cloud */
    int64_t tick;        /* between two decisions */
    int64_t sample;      /* between two samples; 0 for none */
    bool checks;         /* check the invariants */
    /* Called for every event, action and plan; may be NULL. */
    void (*on_line)(void *context, int64_t at, struct str line);
    /* Called for every event after the core has applied it; may be NULL. */
    void (*on_event)(void *context, const struct event *event);
    void *context;
};

/* The violated invariant, with time and details. */
struct violation {
    const char *invariant; /* "I3"; NULL if none */
    int64_t at;
    struct str text;
};

struct simulation;

struct simulation *simulation_new(const struct simulation_setup *setup, struct arena *arena);

/* Runs to the end, or to the first violation. */
void simulation_run(struct simulation *simulation);

const struct violation *simulation_violation(const struct simulation *simulation);
uint64_t simulation_trace_hash(const struct simulation *simulation);
uint64_t simulation_event_count(const struct simulation *simulation, enum event_kind kind);
const struct measure *simulation_measure(const struct simulation *simulation);
