/*
 * virtual_loop.c: a list of timers and one of tasks per loop; a step takes the earliest.
 *
 * Defines all of io/loop.h and io/clock.h, so that the linker takes neither from the library.
 */
#include "virtual_loop.h"

#include "base/panic.h"
#include "io/xalloc.h"

#include <inttypes.h>
#include <stdio.h>

struct loop_timer {
    struct loop *loop;
    loop_fn *fire;
    void *context;
    int64_t due_ms;
    bool is_active;
    struct loop_timer *next, *before; /* of all timers of the loop */
};

struct loop {
    struct virtual_time *time;
    struct virtual_clocks clocks;
    struct clock clock;
    int64_t suspended_until_ms;
    struct loop_timer *timers;
    struct loop_task *first_task, *last_task;
};

/* ---- clocks ---- */

static struct loop *running;

static int64_t monotonic_ms(void *context)
{
    const struct loop *loop = context ? context : running;
    return loop->time->now_ms + loop->clocks.monotonic_base_ms;
}

static int64_t wall_ms(void *context)
{
    const struct loop *loop = context ? context : running;
    return loop->time->now_ms + loop->clocks.wall_base_ms;
}

const struct clock clock_of_machine = {monotonic_ms, wall_ms, NULL};

void clock_boot_id(char ret_id[CLOCK_BOOT_ID_MAX])
{
    snprintf(ret_id, CLOCK_BOOT_ID_MAX, "boot-%" PRIu32, running->clocks.boot);
}

void clock_add_utc(struct buf *out, int64_t time_ms)
{
    buf_addf(out, "%" PRId64 " ms", time_ms);
}

void virtual_loop_enter(struct loop *loop)
{
    running = loop;
}

/* ---- loops ---- */

struct loop *virtual_loop_new(struct virtual_time *time, const struct virtual_clocks *clocks)
{
    struct loop *loop = HEAP_NEW(struct loop);
    if (time->loop_count == VIRTUAL_LOOPS_MAX) {
        panic("too many loops");
    }
    loop->time = time;
    loop->clocks = *clocks;
    loop->clock = (struct clock){monotonic_ms, wall_ms, loop};
    time->loops[time->loop_count++] = loop;
    return loop;
}

void loop_close(struct loop *loop)
{
    struct virtual_time *time = loop->time;
    size_t at = 0;
    while (time->loops[at] != loop) {
        at++;
    }
    time->loops[at] = time->loops[--time->loop_count];
    while (loop->timers) {
        loop_timer_free(loop->timers);
    }
    free(loop);
}

const struct clock *loop_clock(const struct loop *loop)
{
    return &loop->clock;
}

int64_t loop_now_ms(const struct loop *loop)
{
    return loop->time->now_ms + loop->clocks.monotonic_base_ms;
}

void virtual_loop_shift_wall(struct loop *loop, int64_t shift_ms)
{
    loop->clocks.wall_base_ms += shift_ms;
}

void virtual_loop_suspend(struct loop *loop, int64_t until_ms)
{
    if (until_ms > loop->suspended_until_ms) {
        loop->suspended_until_ms = until_ms;
    }
}

bool virtual_loop_is_suspended(const struct loop *loop)
{
    return loop->time->now_ms < loop->suspended_until_ms;
}

/* ---- timers ---- */

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fire, void *context)
{
    struct loop_timer *timer = HEAP_NEW(struct loop_timer);
    *timer = (struct loop_timer){
        .loop = loop, .fire = fire, .context = context, .next = loop->timers};
    if (loop->timers) {
        loop->timers->before = timer;
    }
    loop->timers = timer;
    return timer;
}

void loop_timer_start(struct loop_timer *timer, int64_t delay_ms)
{
    timer->is_active = true;
    timer->due_ms = timer->loop->time->now_ms + (delay_ms > 0 ? delay_ms : 0);
}

void loop_timer_stop(struct loop_timer *timer)
{
    timer->is_active = false;
}

void loop_timer_free(struct loop_timer *timer)
{
    if (!timer) {
        return;
    }
    *(timer->before ? &timer->before->next : &timer->loop->timers) = timer->next;
    if (timer->next) {
        timer->next->before = timer->before;
    }
    free(timer);
}

/* ---- tasks ---- */

void loop_defer(struct loop *loop, struct loop_task *task)
{
    if (task->is_waiting) {
        return;
    }
    task->is_waiting = true;
    task->next = NULL;
    task->before = loop->last_task;
    *(loop->last_task ? &loop->last_task->next : &loop->first_task) = task;
    loop->last_task = task;
}

void loop_later_cancel(struct loop *loop, struct loop_task *task)
{
    if (!task->is_waiting) {
        return;
    }
    task->is_waiting = false;
    *(task->before ? &task->before->next : &loop->first_task) = task->next;
    *(task->next ? &task->next->before : &loop->last_task) = task->before;
}

/* ---- steps ---- */

/* When the loop has something to run; INT64_MAX if it has nothing. */
static int64_t due_of(const struct loop *loop)
{
    int64_t due = loop->first_task ? loop->time->now_ms : INT64_MAX;
    for (const struct loop_timer *timer = loop->timers; timer; timer = timer->next) {
        if (timer->is_active && timer->due_ms < due) {
            due = timer->due_ms;
        }
    }
    if (due != INT64_MAX && due < loop->suspended_until_ms) {
        due = loop->suspended_until_ms;
    }
    return due > loop->time->now_ms ? due : loop->time->now_ms;
}

static struct loop *choose_loop(struct virtual_time *time, int64_t *ret_due)
{
    struct loop *chosen = NULL;
    int64_t seen = 0;
    *ret_due = INT64_MAX;
    for (size_t i = 0; i < time->loop_count; i++) {
        int64_t due = due_of(time->loops[i]);
        if (due < *ret_due) {
            *ret_due = due;
            seen = 0;
        }
        if (due == *ret_due && due != INT64_MAX && rng_below(&time->rng, ++seen) == 0) {
            chosen = time->loops[i];
        }
    }
    return chosen;
}

static void run_task(struct loop *loop)
{
    struct loop_task *task = loop->first_task;
    loop_later_cancel(loop, task);
    task->run(task->context);
}

/* One of the expired timers, or the first task. */
static void run_one(struct loop *loop)
{
    struct loop_timer *chosen = NULL;
    int64_t seen = loop->first_task ? 1 : 0;
    for (struct loop_timer *timer = loop->timers; timer; timer = timer->next) {
        if (timer->is_active && timer->due_ms <= loop->time->now_ms &&
            rng_below(&loop->time->rng, ++seen) == 0) {
            chosen = timer;
        }
    }
    running = loop;
    if (chosen) {
        chosen->is_active = false;
        chosen->fire(chosen->context);
    } else {
        run_task(loop);
    }
}

bool virtual_time_step(struct virtual_time *time, int64_t end_ms)
{
    int64_t due;
    struct loop *loop = choose_loop(time, &due);
    if (!loop || due > end_ms) {
        time->now_ms = end_ms;
        return false;
    }
    time->now_ms = due;
    run_one(loop);
    return true;
}

/* ---- not used by the controller ---- */

bool loop_open(const struct clock *clock, struct loop **ret_loop, struct err *err)
{
    (void)clock;
    (void)ret_loop;
    return err_set(err, ERR_INTERNAL, "use virtual_loop_new()");
}

void loop_run(struct loop *loop)
{
    (void)loop;
    panic("use virtual_time_step()");
}

void loop_stop(struct loop *loop)
{
    (void)loop;
    panic("use virtual_time_step()");
}

bool loop_signal_new(struct loop *loop, int number, loop_signal_fn *tell, void *context,
                     struct loop_signal **ret_signal, struct err *err)
{
    (void)loop;
    (void)number;
    (void)tell;
    (void)context;
    (void)ret_signal;
    return err_set(err, ERR_INTERNAL, "a simulated process receives no signals");
}

void loop_signal_free(struct loop_signal *watch)
{
    (void)watch;
}
