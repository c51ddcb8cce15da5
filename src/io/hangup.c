/* hangup.c: polls a descriptor for EOF with libuv. */
#include "io/hangup.h"

#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <errno.h>
#include <unistd.h>
#include <uv.h>

struct hangup {
    uv_poll_t uv;
    int fd;
    loop_fn *gone;
    void *context;
};

static void hangup_on_poll(uv_poll_t *uv, int fault, int events)
{
    struct hangup *hangup = (struct hangup *)uv;
    char piece[4096];
    (void)events;
    ssize_t size = fault == 0 ? read(hangup->fd, piece, sizeof(piece)) : 0;
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        uv_poll_stop(uv);
        hangup->gone(hangup->context);
    }
}

static void hangup_release(uv_handle_t *handle)
{
    free(handle);
}

struct hangup *hangup_watch(struct loop *loop, int fd, loop_fn *gone, void *context)
{
    struct hangup *hangup = HEAP_NEW(struct hangup);
    hangup->fd = fd;
    hangup->gone = gone;
    hangup->context = context;
    if (uv_poll_init(loop_uv(loop), &hangup->uv, fd) != 0) {
        free(hangup);
        return NULL;
    }
    if (uv_poll_start(&hangup->uv, UV_READABLE | UV_DISCONNECT, hangup_on_poll) != 0) {
        hangup_end(hangup);
        return NULL;
    }
    return hangup;
}

void hangup_end(struct hangup *hangup)
{
    if (hangup) {
        uv_close((uv_handle_t *)&hangup->uv, hangup_release);
    }
}
