/*
 * loop.c: wraps libuv's loop.
 *
 * A libuv handle must not be freed before its close callback has run, one turn later. So timers and
 * signal watches are separate allocations: freeing one unlinks it and closes the handle, and the
 * callback frees the memory. loop_close() runs the loop until all close callbacks were called.
 */
#include "io/loop.h"

#include "base/require.h"
#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <signal.h>
#include <uv.h>

/* Common part of timers and signal watches: the node in the loop's list. */
struct link {
    struct link *next, *before;
};

struct loop {
    uv_loop_t uv;
    const struct clock *clock;
    uv_idle_t idle; /* active while tasks are pending, so that the loop does not sleep */
    uv_prepare_t turn;
    int64_t ahead_ms; /* our clock minus libuv's, which stops while the machine is suspended */
    struct loop_task *first_task, *last_task;
    struct link timers, signals; /* list heads */
};

struct loop_timer {
    struct link link; /* must be first */
    uv_timer_t uv;
    struct loop *loop;
    int64_t due_ms; /* due time on our clock */
    loop_fn *fire;
    void *context;
};

struct loop_signal {
    struct link link; /* must be first */
    uv_signal_t uv;
    loop_signal_fn *tell;
    void *context;
};

static void link_add(struct link *ring, struct link *link)
{
    require(ring->before->next == ring, "the ring is closed");
    link->next = ring;
    link->before = ring->before;
    ring->before->next = link;
    ring->before = link;
}

static void link_remove(struct link *link)
{
    require(link->before->next == link && link->next->before == link,
            "the neighbors point to the link");
    link->before->next = link->next;
    link->next->before = link->before;
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

const struct clock *loop_clock(const struct loop *loop)
{
    return loop->clock;
}

int64_t loop_now_ms(const struct loop *loop)
{
    return clock_monotonic_ms(loop->clock);
}

/* ---- life ---- */

static int64_t ahead_of_libuv(struct loop *loop)
{
    uv_update_time(&loop->uv);
    return loop_now_ms(loop) - (int64_t)uv_now(&loop->uv);
}

/* After a suspend, restarts timers that have expired by our clock but not by libuv's. */
static void loop_catch_up(uv_prepare_t *turn)
{
    enum { DRIFT_MS = 500 };
    struct loop *loop = turn->data;
    int64_t ahead_ms = ahead_of_libuv(loop);
    if (ahead_ms < loop->ahead_ms + DRIFT_MS) {
        loop->ahead_ms = ahead_ms < loop->ahead_ms ? ahead_ms : loop->ahead_ms;
        return;
    }
    loop->ahead_ms = ahead_ms;
    int64_t now_ms = loop_now_ms(loop);
    for (struct link *link = loop->timers.next; link != &loop->timers; link = link->next) {
        struct loop_timer *timer = (struct loop_timer *)link;
        if (uv_is_active((uv_handle_t *)&timer->uv)) {
            loop_timer_start(timer, timer->due_ms - now_ms);
        }
    }
}

bool loop_open(const struct clock *clock, struct loop **ret_loop, struct err *err)
{
    struct loop *loop = HEAP_NEW(struct loop);
    int fault = uv_loop_init(&loop->uv);
    if (fault != 0) {
        free(loop);
        return err_set(err, ERR_IO, "cannot create an event loop: %s", uv_strerror(fault));
    }
    signal(SIGPIPE, SIG_IGN);
    loop->clock = clock;
    loop->timers.next = loop->timers.before = &loop->timers;
    loop->signals.next = loop->signals.before = &loop->signals;
    uv_idle_init(&loop->uv, &loop->idle);
    uv_prepare_init(&loop->uv, &loop->turn);
    loop->turn.data = loop;
    loop->ahead_ms = ahead_of_libuv(loop);
    uv_prepare_start(&loop->turn, loop_catch_up);
    uv_unref((uv_handle_t *)&loop->turn);
    *ret_loop = loop;
    return true;
}

/* A child or request that was not freed would get callbacks on freed memory. */
static void refuse_strangers(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        panic("the event loop was closed with a %s still on it",
              uv_handle_type_name(uv_handle_get_type(handle)));
    }
}

void loop_close(struct loop *loop)
{
    if (!loop) {
        return;
    }
    while (loop->timers.next != &loop->timers) {
        loop_timer_free((struct loop_timer *)loop->timers.next);
    }
    while (loop->signals.next != &loop->signals) {
        loop_signal_free((struct loop_signal *)loop->signals.next);
    }
    uv_close((uv_handle_t *)&loop->idle, NULL);
    uv_close((uv_handle_t *)&loop->turn, NULL);
    uv_walk(&loop->uv, refuse_strangers, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int fault = uv_loop_close(&loop->uv);
    if (fault != 0) {
        panic("cannot close the event loop: %s", uv_strerror(fault));
    }
    require(loop->timers.next == &loop->timers && loop->signals.next == &loop->signals,
            "no timer or signal is left");
    free(loop);
}

void loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

/* ---- timers ---- */

static void loop_on_timer(uv_timer_t *uv)
{
    struct loop_timer *timer = uv->data;
    timer->fire(timer->context);
}

static void loop_free_data(uv_handle_t *handle)
{
    free(handle->data);
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fire, void *context)
{
    struct loop_timer *timer = HEAP_NEW(struct loop_timer);
    timer->fire = fire;
    timer->context = context;
    timer->loop = loop;
    timer->uv.data = timer;
    uv_timer_init(&loop->uv, &timer->uv);
    link_add(&loop->timers, &timer->link);
    return timer;
}

void loop_timer_start(struct loop_timer *timer, int64_t delay_ms)
{
    timer->due_ms = loop_now_ms(timer->loop) + delay_ms;
    /* libuv measures from the start of the turn; after a long turn the timer would fire too
     * early. */
    uv_update_time(timer->uv.loop);
    uv_timer_start(&timer->uv, loop_on_timer, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

void loop_timer_stop(struct loop_timer *timer)
{
    uv_timer_stop(&timer->uv);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer) {
        link_remove(&timer->link);
        uv_close((uv_handle_t *)&timer->uv, loop_free_data);
    }
}

/* ---- later ---- */

static struct loop_task *take_first(struct loop *loop)
{
    struct loop_task *task = loop->first_task;
    require(task && task->is_waiting, "a queued task is marked as waiting");
    require(!task->before, "the first task has no predecessor");
    loop_later_cancel(loop, task);
    return task;
}

static void on_idle(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    /* A task may free itself and any other task, so the end of this turn is marked by a task of our
     * own. */
    struct loop_task end = {0};
    loop_defer(loop, &end);
    for (struct loop_task *task; (task = take_first(loop)) != &end;) {
        task->run(task->context);
    }
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
    if (task->is_waiting) {
        return;
    }
    task->is_waiting = true;
    require((loop->first_task == NULL) == (loop->last_task == NULL),
            "an empty queue has neither a first nor a last task");
    task->next = NULL;
    task->before = loop->last_task;
    if (loop->last_task) {
        loop->last_task->next = task;
    } else {
        loop->first_task = task;
    }
    loop->last_task = task;
    loop->idle.data = loop;
    uv_idle_start(&loop->idle, on_idle);
}

void loop_later_cancel(struct loop *loop, struct loop_task *task)
{
    if (!task->is_waiting) {
        return;
    }
    require(task->before ? task->before->next == task : loop->first_task == task,
            "the task is in this queue");
    require(task->next ? task->next->before == task : loop->last_task == task,
            "the task is in this queue");
    *(task->before ? &task->before->next : &loop->first_task) = task->next;
    *(task->next ? &task->next->before : &loop->last_task) = task->before;
    task->is_waiting = false;
    if (!loop->first_task) {
        uv_idle_stop(&loop->idle);
    }
}

/* ---- signals ---- */

static void loop_on_signal(uv_signal_t *uv, int number)
{
    struct loop_signal *watch = uv->data;
    watch->tell(watch->context, number);
}

bool loop_signal_new(struct loop *loop, int number, loop_signal_fn *tell, void *context,
                     struct loop_signal **ret_signal, struct err *err)
{
    struct loop_signal *watch = HEAP_NEW(struct loop_signal);
    watch->tell = tell;
    watch->context = context;
    watch->uv.data = watch;
    uv_signal_init(&loop->uv, &watch->uv);
    int fault = uv_signal_start(&watch->uv, loop_on_signal, number);
    if (fault != 0) {
        uv_close((uv_handle_t *)&watch->uv, loop_free_data);
        return err_set(err, ERR_IO, "cannot watch signal %d: %s", number, uv_strerror(fault));
    }
    /* A signal watch alone does not keep the loop running. */
    uv_unref((uv_handle_t *)&watch->uv);
    link_add(&loop->signals, &watch->link);
    *ret_signal = watch;
    return true;
}

void loop_signal_free(struct loop_signal *watch)
{
    if (watch) {
        link_remove(&watch->link);
        uv_close((uv_handle_t *)&watch->uv, loop_free_data);
    }
}
