/* launch.h: `up` and `down` as steps of other verbs: exec, submit and attach start a cluster with
 * --start. */
#pragma once

#include "cli/target.h"

/* Brings the cluster up with progress on standard error. Returns 0 if every node is fine. The
 * result may be NULL, and so may `record`, which gets everything for -o json. */
int launch_up(struct target *target, struct launcher_result *ret_result,
              struct value *record) MUST_USE;

/* The exit status of a finished `up`: 0 only if every wanted node has joined. `failed` is the
 * number of nodes shown as failed. */
int launch_up_status(const struct launcher_result *result, size_t failed);

/* Prints the record as JSON to standard output. Returns `status`, or another exit status if
 * `status` is 0 and printing fails. */
int launch_print(const struct target *target, const struct value *record, int status) MUST_USE;

/* Takes the cluster down, with the same conventions. */
int launch_down(struct target *target, struct value *record) MUST_USE;
