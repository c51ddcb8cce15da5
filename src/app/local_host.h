/* local_host.h: the local machine as a host for the configuration layer. */
#pragma once

#include "config/host.h"

/* Stateless and never freed. */
const struct host *local_host(void);
