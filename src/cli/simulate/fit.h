/* fit.h: work that no cluster of this file could ever run, found before the simulation. */
#pragma once

#include "app/core_setup.h"
#include "sim/workload.h"

/* Asks the planner for an empty cluster and one piece of each class; warns where it says no. */
void fit_check(struct arena *arena, const struct core_setup *setup, const struct workload *workload,
               const struct workload_file *file, struct diag_list *diags);
