/*
 * up_plan.h: computes what `shoal up` would do, from the file and a listing. Pure: no I/O, changes
 * nothing.
 */
#pragma once

#include "app/core_setup.h"
#include "provider/provider.h"

enum up_step_kind {
    UP_LAUNCH,  /* missing instances */
    UP_START,   /* a stopped head */
    UP_DRAIN,   /* workers that no longer match the file: terminated once idle */
    UP_REPLACE, /* the head's node_config has changed: `up` refuses */
    UP_STEP_KIND_COUNT,
};

/* Identical instances: same node type, instance type and market. */
struct up_step {
    enum up_step_kind kind;
    bool is_head, is_spot;
    struct str type; /* node type */
    /* Instance type: for UP_LAUNCH from the file, otherwise of the running instance. */
    struct str machine;
    struct str wanted; /* for UP_REPLACE: the instance type in the file */
    struct str id;     /* id of the first existing instance */
    struct str why;    /* for UP_DRAIN */
    int64_t count;
    int64_t price; /* per instance, micro-dollars per hour; or PRICE_UNKNOWN */
};

struct up_plan {
    struct up_step *steps;
    size_t step_count;
    bool has_head;      /* running or pending */
    bool is_update;     /* the head receives a new configuration */
    size_t restarts;    /* nodes on which Ray restarts, which kills their jobs */
    int64_t jobs;       /* running jobs; -1 if unknown */
    int64_t held;       /* workers that min_workers requires but max_workers leaves no room for */
    int64_t price_now;  /* price of all running instances; PRICE_UNKNOWN if any is unknown */
    int64_t price_then; /* price after all steps */
    int64_t changed;    /* workers whose node_config was changed in the file */
    int64_t max_unavailable; /* of these and of one type at a time, or PLAN_NO_LIMIT */
    struct str head_id;
};

struct up_plan_input {
    const struct config *config;
    const struct core_setup *core;
    const struct str *config_hashes; /* by type: launch_config_hash() */
    struct str head_launch_hash;     /* Ray's launch hash, for a head that has only that tag */
    const struct machine *machines;  /* all instances of the cluster, including the head */
    size_t machine_count;
    bool is_update;     /* the applied configuration differs from the file */
    bool restarts_head; /* the head's steps would restart Ray */
};

void up_plan_make(const struct up_plan_input *input, struct arena *arena, struct up_plan *ret_plan);

/* True if there is nothing to do. */
bool up_plan_is_empty(const struct up_plan *plan);

/* Was this head launched with a different node_config than the file has now? False for an instance
 * without the tag that records it. */
bool up_plan_head_differs(const struct up_plan_input *input, const struct machine *head);
