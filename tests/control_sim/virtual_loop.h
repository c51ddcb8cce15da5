/*
 * virtual_loop.h: io/loop.h and io/clock.h in virtual time.
 *
 * Every simulated process has a loop of its own; all loops share one time line. A step runs one
 * callback. The order of callbacks that are due at the same time is drawn from the seed, as far as
 * loop.h leaves it open. A suspended loop runs nothing, but its clock continues, like the boot-time
 * clock of a suspended machine.
 */
#pragma once

#include "base/rng.h"
#include "io/loop.h"

enum { VIRTUAL_LOOPS_MAX = 8 };

struct virtual_time {
    int64_t now_ms; /* since the start of the world */
    struct rng rng; /* order of callbacks */
    struct loop *loops[VIRTUAL_LOOPS_MAX];
    size_t loop_count;
};

/* The clocks of a machine. */
struct virtual_clocks {
    int64_t monotonic_base_ms; /* monotonic time at the start of the world */
    int64_t wall_base_ms;      /* wall time at the start of the world */
    uint32_t boot;             /* number of the boot */
};

struct loop *virtual_loop_new(struct virtual_time *time, const struct virtual_clocks *clocks);
/* The wall clock is set by this much. */
void virtual_loop_shift_wall(struct loop *loop, int64_t shift_ms);
void virtual_loop_suspend(struct loop *loop, int64_t until_ms);
bool virtual_loop_is_suspended(const struct loop *loop);

/* Runs the next callback; false if there is none before `end_ms`, which is the time then. */
bool virtual_time_step(struct virtual_time *time, int64_t end_ms);

/* The loop whose clock clock_of_machine shows: of the process that runs now. */
void virtual_loop_enter(struct loop *loop);
