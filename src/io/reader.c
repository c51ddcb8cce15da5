/* reader.c: a descriptor that libuv watches and we read. */
#include "io/reader.h"

#include "io/heap.h"
#include "io/loop_parts.h"

#include <errno.h>
#include <unistd.h>
#include <uv.h>

struct reader {
    uv_poll_t uv;
    int fd;
    reader_fn *took;
    void *context;
};

/* One read for each call of the loop: it is told when there is more, and would block for ours. */
static void on_poll(uv_poll_t *uv, int fault, int events)
{
    struct reader *reader = (struct reader *)uv;
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

static void let_go(uv_handle_t *handle)
{
    free(handle);
}

struct reader *reader_start(struct loop *loop, int fd, reader_fn *took, void *context)
{
    struct reader *reader = HEAP_NEW(struct reader);
    reader->fd = fd;
    reader->took = took;
    reader->context = context;
    if (uv_poll_init(loop_uv(loop), &reader->uv, fd) != 0) {
        free(reader);
        return NULL;
    }
    if (uv_poll_start(&reader->uv, UV_READABLE | UV_DISCONNECT, on_poll) != 0) {
        reader_end(reader);
        return NULL;
    }
    return reader;
}

void reader_end(struct reader *reader)
{
    if (reader) {
        uv_close((uv_handle_t *)&reader->uv, let_go);
    }
}
