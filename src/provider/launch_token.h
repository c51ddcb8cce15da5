/*
 * launch_token.h: the token and the tag of a launch, derived from its number.
 *
 * The token depends only on the cluster's uid and the launch number: every process that repeats the
 * same launch uses the same token, so the cloud launches it only once.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* At most LAUNCH_TOKEN_MAX letters, digits and '-'. */
struct str launch_token(struct str uid, uint64_t launch, struct arena *arena);

/* "7.12": the value of TAG_LAUNCH. */
struct str launch_number_text(uint64_t launch, struct arena *arena);
bool launch_number_parse(struct str text, uint64_t *ret_launch) MUST_USE;
