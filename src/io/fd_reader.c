/* fd_reader.c: polls a descriptor with libuv and reads it. */
#include "io/fd_reader.h"

#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <errno.h>
#include <unistd.h>
#include <uv.h>

struct fd_reader {
    uv_poll_t uv;
    int fd;
    reader_fn *took;
    void *context;
};

/* One read per callback: libuv calls again if there is more, and a second read could block. */
static void fd_reader_on_poll(uv_poll_t *uv, int fault, int events)
{
    struct fd_reader *reader = (struct fd_reader *)uv;
    char piece[4096];
    (void)events;
    ssize_t size = fault == 0 ? read(reader->fd, piece, sizeof(piece)) : 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (size <= 0) {
        uv_poll_stop(uv);
    }
    reader->took(reader->context, (struct str){piece, size > 0 ? (size_t)size : 0});
}

static void fd_reader_release(uv_handle_t *handle)
{
    free(handle);
}

struct fd_reader *fd_reader_start(struct loop *loop, int fd, reader_fn *took, void *context)
{
    struct fd_reader *reader = HEAP_NEW(struct fd_reader);
    reader->fd = fd;
    reader->took = took;
    reader->context = context;
    if (uv_poll_init(loop_uv(loop), &reader->uv, fd) != 0) {
        free(reader);
        return NULL;
    }
    if (uv_poll_start(&reader->uv, UV_READABLE | UV_DISCONNECT, fd_reader_on_poll) != 0) {
        fd_reader_end(reader);
        return NULL;
    }
    return reader;
}

void fd_reader_end(struct fd_reader *reader)
{
    if (reader) {
        uv_close((uv_handle_t *)&reader->uv, fd_reader_release);
    }
}
