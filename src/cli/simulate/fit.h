/* fit.h: finds work that no cluster of this file could ever run, before the simulation. */
#pragma once

#include "app/core_setup.h"
#include "sim/workload.h"

/* Plans one piece of each class on an empty cluster, and warns if it is refused. */
void fit_check(struct arena *arena, const struct core_setup *setup, const struct workload *workload,
               const struct workload_file *file, struct diag_list *diags);
