/*
 * loop.h: the one event loop of a program: timers, signals, and "call me later".
 *
 * One thread. Every callback runs from loop_run(), never from inside the call that asked for it.
 * Children (child.h) and requests (http.h) live on a loop and end before it does.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

typedef void loop_fn(void *context);

/*
 * From here on the program ignores SIGPIPE: a peer that goes away is an error of that write, not
 * the end of the program. `clock` must outlive the loop.
 */
bool loop_open(const struct clock *clock, struct loop **ret_loop, struct err *err) MUST_USE;

/*
 * Frees the loop with the timers and signal watches left on it; their callbacks are not called.
 * Not from a callback. Children and requests must have been freed before.
 */
void loop_close(struct loop *loop);

const struct clock *loop_clock(const struct loop *loop);
int64_t loop_now_ms(const struct loop *loop); /* monotonic */

/* Until loop_stop(), or until nothing is left that could still happen. Signals do not count. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* after the callbacks of this turn */

/* ---- timers ---- */

struct loop_timer;

/* At rest until started. Fires once per start. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fire, void *context);
void loop_timer_start(struct loop_timer *timer, int64_t delay_ms); /* again: from now */
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* also from its own callback */

/* ---- later ---- */

/* Lives in its owner; set `run` and `context`, leave the rest zero. */
struct loop_task {
    loop_fn *run;
    void *context;
    struct loop_task *next, *before; /* the loop's */
    bool is_waiting;                 /* the loop's */
};

/*
 * Runs the task in the next turn, in the order of the calls; nothing when it waits already. A task
 * that asks again while it runs gets another turn, so that sockets and timers have theirs.
 */
void loop_later(struct loop *loop, struct loop_task *task);
void loop_later_cancel(struct loop *loop, struct loop_task *task);

/* ---- signals ---- */

struct loop_signal;
typedef void loop_signal_fn(void *context, int number);

/* Watches until freed. Several watches of one signal are all told. */
bool loop_signal_new(struct loop *loop, int number, loop_signal_fn *tell, void *context,
                     struct loop_signal **ret_signal, struct err *err) MUST_USE;
void loop_signal_free(struct loop_signal *watch);
