/*
 * http_multi.c: connects libcurl's multi interface to libuv's sockets and timers.
 *
 * libcurl must not be called from its own callbacks, so they only record what it needs. Finished
 * transfers are reported after libcurl has returned.
 */
#include "io/http_internal.h"
#include "io/loop_uv.h"

#include <uv.h>

struct http_multi {
    struct loop *loop;
    CURLM *curl;
    uv_timer_t timer;
    http_multi_done_fn *done;
    struct http_multi_watch *watches;
};

/* One of libcurl's sockets. */
struct http_multi_watch {
    struct http_multi_watch *next, *before;
    struct http_multi *multi;
    curl_socket_t socket;
    uv_poll_t uv;
};

CURLM *http_multi_curl(struct http_multi *multi)
{
    return multi->curl;
}

static void hand_on_ended(struct http_multi *multi)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi->curl, &left));) {
        if (message->msg == CURLMSG_DONE) {
            multi->done(message->easy_handle, message->data.result);
        }
    }
}

/* ---- sockets ---- */

static void on_socket(uv_poll_t *uv, int status, int events)
{
    struct http_multi_watch *watch = uv->data;
    struct http_multi *multi = watch->multi;
    int running;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;
    flags |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    curl_multi_socket_action(multi->curl, watch->socket, flags, &running);
    hand_on_ended(multi);
}

static void http_multi_free_data(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop_watch(struct http_multi_watch *watch)
{
    *(watch->before ? &watch->before->next : &watch->multi->watches) = watch->next;
    if (watch->next) {
        watch->next->before = watch->before;
    }
    uv_close((uv_handle_t *)&watch->uv, http_multi_free_data);
}

static struct http_multi_watch *http_multi_add_watch(struct http_multi *multi, curl_socket_t socket)
{
    struct http_multi_watch *watch = HEAP_NEW(struct http_multi_watch);
    if (uv_poll_init_socket(loop_uv(multi->loop), &watch->uv, socket) != 0) {
        free(watch);
        return NULL;
    }
    watch->multi = multi;
    watch->socket = socket;
    watch->uv.data = watch;
    watch->next = multi->watches;
    if (watch->next) {
        watch->next->before = watch;
    }
    multi->watches = watch;
    curl_multi_assign(multi->curl, socket, watch);
    return watch;
}

static int want_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *assigned)
{
    struct http_multi *multi = context;
    struct http_multi_watch *watch = assigned;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch) {
            curl_multi_assign(multi->curl, socket, NULL);
            drop_watch(watch);
        }
        return 0;
    }
    watch = watch ? watch : http_multi_add_watch(multi, socket);
    if (!watch) {
        return -1; /* libcurl aborts the transfers */
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watch->uv, events, on_socket) == 0 ? 0 : -1;
}

/* ---- timers ---- */

static void http_multi_on_timer(uv_timer_t *uv)
{
    struct http_multi *multi = uv->data;
    int running;
    curl_multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    hand_on_ended(multi);
}

static int want_timer(CURLM *curl, long delay_ms, void *context)
{
    struct http_multi *multi = context;
    (void)curl;
    if (delay_ms < 0) {
        uv_timer_stop(&multi->timer);
    } else {
        uv_update_time(multi->timer.loop);
        uv_timer_start(&multi->timer, http_multi_on_timer, (uint64_t)delay_ms, 0);
    }
    return 0;
}

/* ---- life ---- */

struct http_multi *http_multi_new(struct loop *loop, http_multi_done_fn *done)
{
    struct http_multi *multi = HEAP_NEW(struct http_multi);
    multi->loop = loop;
    multi->done = done;
    multi->curl = curl_multi_init();
    if (!multi->curl) {
        panic("out of memory (libcurl)");
    }
    uv_timer_init(loop_uv(loop), &multi->timer);
    multi->timer.data = multi;
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    return multi;
}

void http_multi_free(struct http_multi *multi)
{
    if (!multi) {
        return;
    }
    curl_multi_cleanup(multi->curl);
    while (multi->watches) {
        drop_watch(multi->watches);
    }
    uv_close((uv_handle_t *)&multi->timer, http_multi_free_data);
}
