/*
 * stop_running_up.h: takes the journal from an `up` that is running on this machine.
 *
 * `down` has priority: it sends SIGTERM to the `up`, like Ctrl-C, and waits for its lock. Locks of
 * other processes are left alone.
 */
#pragma once

#include "app/launch/cluster_session.h"

/* Runs the loop while it waits. ERR_EXISTS: the holder is not such an `up`, or did not release the
 * lock in time. */
bool take_over_journal(struct cluster_session *launch, const char *holder,
                       struct err *err) MUST_USE;

/* The pid in a holder string written by launch_holder(); 0 if it is not an `up` of this user on
 * this machine. */
int64_t take_over_pid(struct str holder, struct str own_holder);
