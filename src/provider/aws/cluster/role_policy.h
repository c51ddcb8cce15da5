/*
 * role_policy.h: the IAM policy of a cluster's head. It allows the head to list instances, launch
 * what the cluster file names, terminate its own workers and keep its lease, and nothing else. Some
 * actions are denied even if more policies are attached to the role.
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
    /* Without duplicates. */
    const struct str *machines;
    size_t machine_count;
    const struct str *launch_from; /* ARNs: images, subnets, groups, keys, others */
    size_t launch_from_count;
    const struct str *worker_roles; /* ARNs of roles that workers may get */
    size_t worker_role_count;
    bool has_sessions;           /* AWS Session Manager connects users to the head */
    bool takes_old_metadata;     /* a type in the file allows IMDSv1 */
    const struct str *disk_keys; /* customers' KMS keys of the volumes */
    size_t disk_key_count;
    int64_t hop_limit; /* hop limit of the metadata service; the maximum over all types */
};

enum { ROLE_POLICY_BYTES_MAX = 10240 }; /* AWS's limit for all inline policies of a role */

/* What EC2 does with a KMS key in the name of who launches; ends with NULL. */
extern const char *const role_policy_key_actions[];

/* Compact JSON. Fails if it would exceed AWS's limit. */
bool role_policy_write(const struct role_needs *needs, struct arena *arena, struct str *ret_policy,
                       struct err *err) MUST_USE;

/* Allows EC2 instances to assume the role. */
struct str role_trust_policy(struct str region, struct arena *arena);
