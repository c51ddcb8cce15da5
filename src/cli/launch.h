/* launch.h: `up` as a step of other verbs: exec, submit and attach start a cluster with --start. */
#pragma once

#include "cli/target.h"

/* Brings the cluster up and tells of it on standard error. 0: every node is fine. The result may be
 * NULL; so may `record`, into which all of it is written for -o json. */
int launch_up(struct target *target, struct launcher_result *ret_result,
              struct value *record) MUST_USE;

/* The record as JSON on standard output; the exit status, `status` unless it was 0. */
int launch_print(const struct target *target, const struct value *record, int status) MUST_USE;

/* Ends it, likewise. */
int launch_down(struct target *target, struct value *record) MUST_USE;
