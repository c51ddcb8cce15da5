/*
 * role_policy.h: what the head of a cluster may do in its account, as an IAM policy: see, launch
 * what the cluster file names, end its own workers, keep its lease. Nothing else, and some things
 * not even if somebody should attach more to the role.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct role_needs {
    struct str partition; /* "aws", "aws-cn" */
    struct str account;
    struct str region;
    struct str uid;
    struct str anchor; /* id of the launch template */
    /* Without repeats. */
    const struct str *machines;
    size_t machine_count;
    const struct str *launch_from; /* ARNs: images, subnets, groups, keys, what else is named */
    size_t launch_from_count;
    const struct str *worker_roles; /* ARNs that workers may be given */
    size_t worker_role_count;
    bool takes_old_metadata; /* a type of the file wants IMDSv1 */
    int64_t hop_limit;       /* of the metadata service, the largest that a type wants */
};

enum { ROLE_POLICY_BYTES_MAX = 10240 }; /* AWS's, for all policies inside one role */

/* Compact JSON. Fails when it would be longer than AWS takes. */
bool role_policy_write(const struct role_needs *needs, struct arena *arena, struct str *ret_policy,
                       struct err *err) MUST_USE;

/* Who may take the role on: EC2 machines. */
struct str role_trust_policy(struct str region, struct arena *arena);
