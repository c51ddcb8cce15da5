/*
 * preflight_rights.h: what `up` does that no dry run shows: it creates the role of the head, or the
 * account's role for spot instances, and EC2 uses the caller's right to a KMS key. IAM's simulation
 * says whether the caller may; many callers may not ask it, and then it is unknown. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "provider/aws/preflight/preflight_request.h"

enum preflight_right { RIGHT_ROLE, RIGHT_PROFILE, RIGHT_SPOT, RIGHT_KEY, RIGHT_COUNT };

struct preflight_rights {
    bool is_known;
    struct str denied; /* actions: "iam:CreateRole, iam:PassRole" */
};

/* The role whose credentials these are: of "arn:aws:sts::1:assumed-role/ROLE/SESSION"; empty: not
 * those of a role. */
struct str preflight_rights_role(struct str caller);

/* Whose rights are simulated; `role` is the ARN of the caller's role. Empty: not possible. */
struct str preflight_rights_source(struct str caller, struct str role);

/* The administrator of an account: no policy limits it. */
bool preflight_rights_are_all(struct str caller);

/* The call that simulates one right. `key` is the KMS key. */
struct param *preflight_rights_input(const struct provider_cluster *cluster,
                                     enum preflight_right right, struct str source, struct str key,
                                     struct str region, struct arena *arena);

bool preflight_rights_read(struct str xml, struct arena *arena, struct preflight_rights *ret_rights,
                           struct err *err) MUST_USE;
