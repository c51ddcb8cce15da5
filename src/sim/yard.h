/*
 * yard.h: a whole world from one number.
 *
 * A cloud, a Ray and one or two controllers with real cores, in virtual time, with faults; the
 * invariants are checked after every event. The same setup gives the same trace on every machine.
 */
#pragma once

#include "core/core.h"
#include "sim/faults.h"
#include "sim/measure.h"
#include "sim/workload.h"

struct yard_setup {
    uint64_t seed;
    const struct core_settings *settings; /* head_instance is the yard's to fill */
    const struct workload *workload;
    struct faults faults;
    int64_t duration;    /* with faults, milliseconds */
    int64_t healing;     /* afterwards without; what is desired must become actual; 0: none */
    int64_t down_at;     /* the user ends the cluster then; 0: never */
    bool is_lease_local; /* kept on the head, not in the cloud */
    int64_t tick;        /* between two decisions */
    int64_t sample;      /* between two samples of the figures; 0: none */
    bool checks;         /* the invariants */
    /* Called for every event heard, action taken and plan made; may be NULL. */
    void (*on_line)(void *context, int64_t at, struct str line);
    /* The events themselves, after the core has heard them; may be NULL. */
    void (*on_event)(void *context, const struct event *event);
    void *context;
};

/* Which promise was broken, when and how. */
struct violation {
    const char *invariant; /* "I3"; NULL: none */
    int64_t at;
    struct str text;
};

struct yard;

struct yard *yard_new(const struct yard_setup *setup, struct arena *arena);

/* To the end, or to the first violation. */
void yard_run(struct yard *yard);

const struct violation *yard_violation(const struct yard *yard);
uint64_t yard_trace_hash(const struct yard *yard);
uint64_t yard_event_count(const struct yard *yard, enum event_kind kind);
const struct measure *yard_measure(const struct yard *yard);
