/* watch.c: libuv's word that a file has changed. */
#include "io/watch.h"

#include "io/heap.h"
#include "io/loop_parts.h"

#include <uv.h>

struct watch {
    uv_fs_event_t uv;
    loop_fn *changed;
    void *context;
};

static void tell(uv_fs_event_t *uv, const char *name, int events, int status)
{
    struct watch *watch = (struct watch *)uv;
    (void)name;
    (void)events;
    (void)status; /* whatever it was, whoever watches looks at the file itself */
    watch->changed(watch->context);
}

static void let_go(uv_handle_t *handle)
{
    free(handle);
}

bool watch_start(struct loop *loop, const char *path, loop_fn *changed, void *context,
                 struct watch **ret_watch, struct err *err)
{
    struct watch *watch = HEAP_NEW(struct watch);
    watch->changed = changed;
    watch->context = context;
    int code = uv_fs_event_init(loop_uv(loop), &watch->uv);
    if (code == 0) {
        code = uv_fs_event_start(&watch->uv, tell, path, 0);
        if (code != 0) {
            uv_close((uv_handle_t *)&watch->uv, let_go);
        }
    } else {
        free(watch);
    }
    if (code != 0) {
        return err_set(err, ERR_IO, "%s: cannot be watched: %s", path, uv_strerror(code));
    }
    *ret_watch = watch;
    return true;
}

void watch_end(struct watch *watch)
{
    if (watch) {
        uv_close((uv_handle_t *)&watch->uv, let_go);
    }
}
