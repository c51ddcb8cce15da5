/*
 * quota.h: EC2's limits on running vCPUs, by class of instance types and market. Pure.
 *
 * Has only classes whose quota code is known for certain.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>

struct quota {
    const char *code;  /* code in Service Quotas: "L-1216C47A" */
    const char *words; /* "on-demand Standard (A, C, D, H, I, M, R, T, Z) instances" */
};

/* NULL: unknown. */
const struct quota *quota_of(struct str machine, bool is_spot);
