/* service_crashloop.h: a service that crashed too often waits for a request to restart. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

/* The reason, for its status. */
struct str crashloop_text(const char *last_end, struct arena *arena);
/* Calls `restart` soon after SIGHUP. */
bool crashloop_wait(struct loop *loop, loop_fn *restart, void *context, struct err *err) MUST_USE;
