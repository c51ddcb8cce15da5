/* ctl_relay.h: `shoal ctl`: connects a client over ssh with the service on the head. */
#pragma once

#include <stdint.h>

/*
 * Connects descriptors 0 and 1 with the service's socket until one side closes; returns the exit
 * status. If the service is not running, prints one error line of this protocol. With `wait_ms` >
 * 0, a service that was killed with its supervisor is started, and may take that long to listen.
 */
int ctl_relay(const char *folder, int64_t wait_ms);
