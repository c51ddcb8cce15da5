/*
 * launch_encode.h: encodes a launch as one RunInstances call.
 *
 * The file's settings for a type are passed through as in Ray and merged with ours. The same input
 * gives the same bytes, so that EC2 treats a repeated call as the same launch.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "provider/aws/aws_facts.h"
#include "provider/provider.h"

struct launch_draft {
    const struct launch_request *request;
    const struct param *node_config;
    const struct aws_type_facts *facts;
    struct str cluster_name;
    struct str uid;
    uint64_t epoch;
    struct str own_group; /* created by prepare(); may be empty */
    struct str own_key;
    struct str own_profile;
    const struct param *tags; /* metadata.shoal.tags; NULL: none */
    bool is_dry_run;          /* EC2 only says whether it would launch */
};

enum { LAUNCH_DRAFT_BYTES_MAX = 256 * 1024 };

/* The call's parameters. */
bool launch_draft_make(const struct launch_draft *draft, struct arena *arena,
                       struct param **ret_call, struct err *err) MUST_USE;
bool launch_draft_write(const struct launch_draft *draft, struct arena *arena, struct str *ret_body,
                        struct err *err) MUST_USE;
