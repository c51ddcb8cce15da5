/* file_watch.c: watches a file with libuv. */
#include "io/file_watch.h"

#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <uv.h>

struct file_watch {
    uv_fs_event_t uv;
    loop_fn *changed;
    void *context;
};

static void file_watch_report(uv_fs_event_t *uv, const char *name, int events, int status)
{
    struct file_watch *watch = (struct file_watch *)uv;
    (void)name;
    (void)events;
    (void)status; /* the receiver checks the file itself */
    watch->changed(watch->context);
}

static void file_watch_release(uv_handle_t *handle)
{
    free(handle);
}

bool file_watch_start(struct loop *loop, const char *path, loop_fn *changed, void *context,
                      struct file_watch **ret_watch, struct err *err)
{
    struct file_watch *watch = HEAP_NEW(struct file_watch);
    watch->changed = changed;
    watch->context = context;
    int code = uv_fs_event_init(loop_uv(loop), &watch->uv);
    if (code == 0) {
        code = uv_fs_event_start(&watch->uv, file_watch_report, path, 0);
        if (code != 0) {
            uv_close((uv_handle_t *)&watch->uv, file_watch_release);
        }
    } else {
        free(watch);
    }
    if (code != 0) {
        return err_set(err, ERR_IO, "%s: cannot watch this path: %s", path, uv_strerror(code));
    }
    *ret_watch = watch;
    return true;
}

void file_watch_end(struct file_watch *watch)
{
    if (watch) {
        uv_close((uv_handle_t *)&watch->uv, file_watch_release);
    }
}
