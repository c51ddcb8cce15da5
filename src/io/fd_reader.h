/* fd_reader.h: reads a descriptor as bytes arrive, for example keyboard input. */
#pragma once

#include "base/str.h"
#include "io/loop.h"

struct fd_reader;

/* Empty at EOF, which is the last call. Valid during the call. */
typedef void reader_fn(void *context, struct str bytes);

/* Returns NULL for a descriptor that cannot be polled (a file, /dev/null); nothing is reported
 * then. The caller keeps ownership of the descriptor. */
struct fd_reader *fd_reader_start(struct loop *loop, int fd, reader_fn *took, void *context);
void fd_reader_end(struct fd_reader *reader); /* also from its callback; NULL is allowed */
