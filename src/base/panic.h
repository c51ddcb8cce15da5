/* panic.h: the end of the line, for states that cannot be: a broken invariant, no memory. */
#pragma once

#include "base/attr.h"

/* Prints one line to standard error and aborts. Input from outside must never reach this. */
NO_RETURN void panic(const char *fmt, ...) PRINTF_LIKE(1, 2);
