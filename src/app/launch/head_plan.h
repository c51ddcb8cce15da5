/*
 * head_plan.h: everything that the head is sent: its configuration, the handover, the key for its
 * workers, and its steps.
 */
#pragma once

#include "app/launch/launch_parts.h"
#include "app/setup/setup_plan.h"

struct head_wish {
    struct launch *launch;
    struct str uid;
    uint64_t epoch;    /* of our lease; 0: the head has it, and only the configuration is new */
    struct str anchor; /* what it is on */
    int64_t serial;    /* of this handover */
    struct str id, private_ip, public_ip;
    struct str machine; /* "m5.large" */
    bool is_spot;
};

struct head_plan {
    struct setup_plan setup;
    struct str wanted;       /* what head_plan_wanted() gives */
    struct str steps_key;    /* of all its steps: the same key is the same set-up */
    struct str runtime_hash; /* Ray's, for its tag */
};

/*
 * Lives in the launch's arena. A head whose steps are those that were done (the journal's
 * "head-steps") keeps its Ray running, whatever else of the file has changed.
 */
bool head_plan_make(const struct head_wish *wish, struct head_plan *ret_plan,
                    struct err *err) MUST_USE;

/* That it was carried out, for later plans. */
bool head_plan_done(const struct launch *launch, const struct head_plan *plan, struct str head_id,
                    struct err *err) MUST_USE;

/*
 * Whether a cluster is what the file asks for is told by one text: of its configuration, of what is
 * in its mounts, and of the program that is sent there.
 */
bool head_plan_wanted(struct launch *launch, struct str *ret_wanted, struct err *err) MUST_USE;
