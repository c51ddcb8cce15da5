/* raylet.h: detects whether Ray is running on this machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The pid of a raylet, in any container; 0 if there is none. */
int64_t raylet_find(void);

/* Is this process a raylet? Much cheaper than raylet_find(). */
bool raylet_is_one(int64_t pid);
