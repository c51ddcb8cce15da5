/*
 * expiry.h: the tag TAG_STOPPED of a stopped machine: when it was stopped, and for how long it may
 * stay. Pure.
 *
 * The tag stays on a machine that is started again. So it counts only if the machine was not
 * started after it was written.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

#define EXPIRY_NEVER 0

/* The value of the tag; both in seconds, `stopped_at` since 1970. */
struct str expiry_text(int64_t stopped_at, int64_t limit, struct arena *arena);

/* When the machine expires, in seconds since 1970; EXPIRY_NEVER without a valid tag. */
int64_t expiry_at(struct str tag, int64_t launched_at);
