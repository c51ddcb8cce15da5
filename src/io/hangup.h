/* hangup.h: notifies when the peer closes its end of a descriptor. */
#pragma once

#include "base/attr.h"
#include "io/loop.h"

struct hangup;

/* Incoming bytes are read and discarded. Returns NULL for a descriptor that cannot be polled (a
 * file, /dev/null); `gone` is never called then. The caller keeps ownership of the descriptor. */
struct hangup *hangup_watch(struct loop *loop, int fd, loop_fn *gone, void *context);
void hangup_end(struct hangup *hangup); /* also from its callback; NULL is allowed */
