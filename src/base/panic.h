/* panic.h: aborts on states that cannot happen: a broken invariant, no memory. */
#pragma once

#include "base/attr.h"

/* Prints an error to standard error and aborts. External input must never reach this. */
NO_RETURN void panic(const char *fmt, ...) PRINTF_LIKE(1, 2);
