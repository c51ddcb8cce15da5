/* ray_monitor.h: detects Ray's own autoscaler on this head. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* The pid of Ray's own autoscaler for the GCS at that address, run by this user or root; or 0. */
int ray_monitor_find(struct str gcs_address);

/* Is this the command line of one? Arguments are separated by zero bytes. Pure. */
bool ray_monitor_is(struct str words, struct str gcs_address);
