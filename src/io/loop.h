/*
 * loop.h: the event loop of a program: timers, signals and deferred tasks.
 *
 * Single-threaded. Every callback is called from loop_run(), never from inside the function that
 * registered it. Children (child.h) and requests (http.h) must end before their loop is closed.
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
 * Ignores SIGPIPE from now on: a peer that disconnects is a write error. `clock` must outlive the
 * loop.
 */
bool loop_open(const struct clock *clock, struct loop **ret_loop, struct err *err) MUST_USE;

/*
 * Frees the loop and its remaining timers and signal watches, without calling their callbacks. Not
 * from a callback. Children and requests must have been freed before.
 */
void loop_close(struct loop *loop);

const struct clock *loop_clock(const struct loop *loop);
int64_t loop_now_ms(const struct loop *loop); /* monotonic */

/* Runs until loop_stop() or until nothing is pending. Signal watches are not counted as pending. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* takes effect after the callbacks of this turn */

/* ---- timers ---- */

struct loop_timer;

/* Stopped until started. Fires once per start, by the loop's clock: suspended time is included, and
 * timers that expired during a suspend fire in the first turns after it. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fire, void *context);
void loop_timer_start(struct loop_timer *timer, int64_t delay_ms); /* a second call restarts it */
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* also from its callback */

/* ---- deferred tasks ---- */

/* Embedded in its owner; set `run` and `context`, zero the rest. */
struct loop_task {
    loop_fn *run;
    void *context;
    struct loop_task *next, *before; /* private */
    bool is_waiting;                 /* private */
};

/*
 * Runs the task in the next turn, in the order of the calls; does nothing if it is pending already.
 * A task that defers itself again runs one turn later, after sockets and timers.
 */
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_later_cancel(struct loop *loop, struct loop_task *task);

/* ---- signals ---- */

struct loop_signal;
typedef void loop_signal_fn(void *context, int number);

/* Active until freed. All watches of a signal are called. */
bool loop_signal_new(struct loop *loop, int number, loop_signal_fn *tell, void *context,
                     struct loop_signal **ret_signal, struct err *err) MUST_USE;
void loop_signal_free(struct loop_signal *watch);
