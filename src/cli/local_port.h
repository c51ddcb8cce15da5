/* local_port.h: ports of this machine that are forwarded to the head. */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOCAL_PORT_MAX = 65535 };

/* False if a program of this machine uses the port: its page could answer there. */
bool local_port_is_free(uint16_t port);
bool local_port_check(uint16_t port, struct err *err) MUST_USE;

/* The first free port from `first` on, of the next few; `first` if none is free. */
uint16_t local_port_find(uint16_t first);
