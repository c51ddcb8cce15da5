/*
 * take_over.h: the journal of a cluster, from an `up` that runs on this machine.
 *
 * Whoever ends a cluster has the last word: the `up` is asked to stop, as Ctrl-C would, and its
 * lock is waited for. Anybody else's lock stays theirs.
 */
#pragma once

#include "app/launch/launch_parts.h"

/* Runs the loop while it waits. ERR_EXISTS: it is somebody else's, or does not let go of it. */
bool take_over_journal(struct launch *launch, const char *holder, struct err *err) MUST_USE;

/* The process that such a holder names, as launch_holder() writes it; 0: it is not an `up` of this
 * user on this machine. */
int64_t take_over_pid(struct str holder, struct str own_holder);
