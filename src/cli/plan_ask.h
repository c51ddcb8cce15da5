/* plan_ask.h: the plan of an `up`, with the number of running jobs, for verbs. */
#pragma once

#include "cli/target.h"

/* Requires a connected target. Queries the cloud, and the head if Ray would be restarted there; if
 * the head does not answer, the number of jobs is unknown. */
/* A hook: prints what the preflight found, except facts. */
void plan_show_findings(void *target, const struct finding *findings, size_t count);

bool plan_ask(struct target *target, struct up_plan *ret_plan, struct err *err) MUST_USE;

/* Checks --no-restart and --restart-only: returns 0, or the exit status after an error message if
 * both are given. */
int plan_check_restart(const struct cli *cli, bool no_restart, bool restart_only) MUST_USE;
