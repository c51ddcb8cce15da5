/* cidr.h: addresses and ranges, as users write them. Pure. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

/*
 * Reads "198.51.100.7" or "198.51.100.0/24", also IPv6, and adds a missing prefix length. False for
 * anything else.
 */
bool cidr_read(struct str text, struct arena *arena, struct str *ret_cidr) MUST_USE;
