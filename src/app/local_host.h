/* local_host.h: the machine shoal runs on, as the configuration layer wants to see it. */
#pragma once

#include "config/host.h"

/* Has no state and lives for ever. */
const struct host *local_host(void);
