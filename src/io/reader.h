/* reader.h: bytes of a descriptor, as they come: what somebody types. */
#pragma once

#include "base/str.h"
#include "io/loop.h"

struct reader;

/* Empty: nothing more will come, and it is not called again. Valid during the call. */
typedef void reader_fn(void *context, struct str bytes);

/* A descriptor that cannot be watched (a file, /dev/null) is at its end: NULL, and nothing is ever
 * told. The descriptor stays the caller's. */
struct reader *reader_start(struct loop *loop, int fd, reader_fn *took, void *context);
void reader_end(struct reader *reader); /* also from its own callback; NULL is fine */
