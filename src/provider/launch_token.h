/*
 * launch_token.h: the token and the tag of a launch, made from its number.
 *
 * The token depends on the uid of the cluster and the number of the launch and on nothing else: two
 * who build the same cluster and mean the same launch say the same token, and the cloud makes it
 * once.
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
