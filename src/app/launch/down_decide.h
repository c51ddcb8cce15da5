/*
 * down_decide.h: the decisions of `down`. Pure: no I/O and no clock.
 *
 * Three questions: which cluster of this name is meant, what to do with each instance, and when an
 * empty listing proves that nothing is left. A listing may omit a new instance for as long as the
 * horizon, so an empty listing is a proof only if every launch is accounted for (its instances were
 * seen) or is older than the horizon.
 */
#pragma once

#include "base/str.h"
#include "config/config.h"
#include "core/event.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- which cluster ---- */

struct ending_evidence {
    struct str asked;       /* --uid; empty if not given */
    struct str lease;       /* uid on the lease object; empty if there is none */
    struct str journal;     /* uid in this machine's journal; empty if none */
    const struct str *seen; /* distinct uids of instances, groups and key pairs with this name */
    size_t seen_count;
};

enum ending_choice { ENDING_NOTHING, ENDING_ONE, ENDING_SEVERAL };

/* Sets `ret_uid` only for ENDING_ONE. */
enum ending_choice ending_choose(const struct ending_evidence *evidence, struct str *ret_uid);

/* A live instance with the cluster's name but without Shoal's uid: `ray up` or another launcher
 * created it. It is reported and never touched. */
bool ending_is_foreign(const struct machine *machine);

/* ---- each instance ---- */

struct ending_rules {
    /* Stop on-demand instances instead of terminating them, and keep stopped ones. */
    bool keeps_stopped;
    bool is_workers_only;
    int64_t again_ms; /* repeat a request that had no effect after this time */
};

struct ending_node {
    enum machine_state state;
    enum market market;
    bool is_head;
    bool is_kept;     /* a worker that --keep-min-workers leaves running */
    bool is_refused;  /* the cloud refuses to terminate or stop it */
    int64_t asked_at; /* when its termination was requested, on any clock; INT64_MIN if never */
};

enum ending_deed { ENDING_LEAVE, ENDING_TERMINATE, ENDING_STOP };

enum ending_deed ending_deed(const struct ending_node *node, const struct ending_rules *rules,
                             int64_t now);

/* True if --keep-min-workers leaves this instance running: a live worker, as long as fewer than
 * min_workers of its type are kept. `kept` counts them by type, from 0. */
bool ending_keeps(const struct config *config, const struct machine *machine, int64_t *kept);

/* True if the instance is terminated, permanently stopped, or kept by the rules. */
bool ending_is_over(const struct ending_node *node, const struct ending_rules *rules);

/* ---- the proof ---- */

struct ending_times {
    int64_t horizon;      /* the latest time after a launch at which a listing shows the instance */
    int64_t call_timeout; /* a launch call that has not arrived after this time never will */
};

/* A launch as recorded in the journal. */
struct ending_launch {
    uint64_t launch;
    int64_t wall_ms; /* when it was recorded */
    int64_t count;   /* upper limit of instances */
    size_t known;    /* instances that the reply named */
    bool is_settled;
    enum outcome outcome;
};

/* The wall clock time from which an empty listing accounts for this launch; 0 if it is already
 * accounted for. `seen` is the number of its instances seen so far, in any state. */
int64_t ending_launch_trusted_at(const struct ending_launch *launch, size_t seen,
                                 const struct ending_times *times, int64_t now);

/* Which other processes may have launched instances that are not in the journal. */
enum ending_others {
    /* None: only this machine held the lease, or the head's service reported all nodes. */
    OTHERS_NONE,
    OTHERS_UNTIL, /* the lease holder, until `until_ms` */
    /* Unknown, possibly until now: there is no lease object, or the lease was taken over. */
    OTHERS_UNKNOWN,
};

int64_t ending_others_trusted_at(enum ending_others others, int64_t until_ms,
                                 const struct ending_times *times, int64_t now);
