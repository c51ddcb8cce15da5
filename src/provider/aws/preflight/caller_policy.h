/*
 * caller_policy.h: the IAM policy that a user needs for `check`, `up`, `down` and `ls` with one
 * cluster file. Generated from one table of actions; a test runs a whole cluster with exactly this
 * policy and shows that every statement is needed.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "provider/provider.h"

/* Indented JSON. */
bool caller_policy_write(const struct provider_cluster *cluster, struct arena *arena,
                         struct str *ret_policy, struct err *err) MUST_USE;
