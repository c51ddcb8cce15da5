/*
 * lock.h: a lock between processes of one machine.
 *
 * The lock is released when the process exits for any reason. Between machines the cluster lease is
 * used instead. A forked child shares the lock: it is free once every one of them has dropped it or
 * exited.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

struct lock;

/* `holder` identifies us to others: "shoal up, pid 4711". Fails with ERR_EXISTS and the text of the
 * current holder, or with another error if the file system refuses locks: nothing is known about
 * other processes then. Does not wait. */
bool lock_take(const char *path, const char *holder, struct lock **ret_lock,
               struct err *err) MUST_USE;
void lock_drop(struct lock *lock); /* NULL is allowed */

/* True if any process certainly holds it, including this one. Never blocks others. */
bool lock_is_held(const char *path) MUST_USE;

/* Appends the text of the current or last holder; nothing if it cannot be read. */
void lock_holder(const char *path, struct buf *out);
