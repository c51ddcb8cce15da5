/*
 * launch_draft.h: a launch as the bytes of one RunInstances call.
 *
 * What the file says about a type is passed through as Ray does it; what is ours is merged in. The
 * same input gives the same bytes, which is what makes a repeated call the same launch to EC2.
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
    struct str own_group; /* what prepare() made; empty: nothing */
    struct str own_key;
    struct str own_profile;
};

enum { LAUNCH_DRAFT_BYTES_MAX = 256 * 1024 };

bool launch_draft_write(const struct launch_draft *draft, struct arena *arena, struct str *ret_body,
                        struct err *err) MUST_USE;
