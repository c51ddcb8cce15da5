/*
 * head_plan.h: everything that is sent to the head: its configuration, the handover, the key for
 * its workers, and its setup steps.
 */
#pragma once

#include "app/launch/cluster_session.h"
#include "app/setup/setup_plan.h"

struct head_spec {
    struct cluster_session *launch;
    struct str uid;
    uint64_t epoch; /* of our lease; 0: the head holds it, and only the configuration is sent */
    struct str lease_object; /* the resource that carries the lease */
    int64_t serial;          /* serial of this handover */
    int64_t written_ms;      /* now, on the journal's clock (controller_time_ms()) */
    struct str id, private_ip, public_ip;
    struct str machine; /* "m5.large" */
    bool is_spot;
};

struct head_plan {
    struct setup_plan setup;
    struct str wanted;       /* result of head_plan_wanted() */
    struct str steps_key;    /* identifies all its steps: equal keys mean the same setup */
    struct str runtime_hash; /* Ray's, for its tag */
};

/*
 * The plan lives in the session's arena. If the head's steps equal the completed ones (journal key
 * "head-steps"), Ray keeps running there even if other parts of the file have changed.
 */
bool head_plan_make(const struct head_spec *spec, struct head_plan *ret_plan,
                    struct err *err) MUST_USE;

/* Would the steps restart Ray and so kill running jobs? Sends and writes nothing. */
bool head_plan_restarts(const struct head_spec *spec, bool *ret_restarts, struct err *err) MUST_USE;

/* Records that the plan was carried out. */
bool head_plan_done(const struct cluster_session *launch, const struct head_plan *plan,
                    struct str head_id, struct err *err) MUST_USE;

/*
 * Returns one string that identifies the desired state: configuration, contents of the mounts and
 * version of the program. The cluster matches the file if the strings are equal.
 */
bool head_plan_wanted(struct cluster_session *launch, struct str *ret_wanted,
                      struct err *err) MUST_USE;
