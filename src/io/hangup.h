/* hangup.h: to be told when whoever is at the other end of a descriptor has gone. */
#pragma once

#include "base/attr.h"
#include "io/loop.h"

struct hangup;

/* What still comes is read and thrown away. A descriptor that cannot be watched (a file, /dev/null)
 * has nobody at its end: NULL, and nothing is ever told. The descriptor stays the caller's. */
struct hangup *hangup_watch(struct loop *loop, int fd, loop_fn *gone, void *context);
void hangup_end(struct hangup *hangup); /* also from its own callback; NULL is fine */
