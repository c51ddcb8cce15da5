/* raylet.h: does Ray run on this machine? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The process id of a raylet, in whatever container; 0: there is none. */
int64_t raylet_find(void);

/* Is that process one? Much cheaper than looking for one. */
bool raylet_is_one(int64_t pid);
