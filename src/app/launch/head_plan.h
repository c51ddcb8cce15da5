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
    uint64_t epoch; /* of our lease; 0: the head has it, and only the configuration is new */
    int64_t serial; /* of this handover */
    struct str id, private_ip, public_ip;
    struct str machine; /* "m5.large" */
    bool is_spot;
};

/* Lives in the launch's arena. `*ret_wanted` is what head_plan_wanted() gives. */
bool head_plan_make(const struct head_wish *wish, struct setup_plan *ret_plan,
                    struct str *ret_wanted, struct err *err) MUST_USE;

/*
 * Whether a cluster is what the file asks for is told by one text: of its configuration, of what is
 * in its mounts, and of the program that is sent there.
 */
bool head_plan_wanted(const struct launch *launch, struct str *ret_wanted,
                      struct err *err) MUST_USE;
