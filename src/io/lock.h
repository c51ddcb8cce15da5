/*
 * lock.h: one writer per folder on this machine.
 *
 * The lock goes with the process, however it ends. It holds between the processes of one machine;
 * between machines the cluster's lease does. A child that is forked has it too: it is free once the
 * last of them has dropped it or ended.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

struct lock;

/* `holder` says who we are, for whoever is refused: "shoal up, pid 4711". Fails with ERR_EXISTS and
 * what the one who has it said. Does not wait. */
bool lock_take(const char *path, const char *holder, struct lock **ret_lock,
               struct err *err) MUST_USE;
void lock_drop(struct lock *lock); /* NULL is fine */

/* By anybody, this process included. Does not get in anybody's way. */
bool lock_is_held(const char *path) MUST_USE;

/* What the one who has it said, or who had it last. Nothing: nobody can be asked. */
void lock_holder(const char *path, struct buf *out);
