/* test_loop.c: timers, tasks and signals on a real loop, and no leaks at its end. */
#include "io/loop.h"

#include "unit.h"

#include <signal.h>
#include <unistd.h>

static struct loop *open_loop(void)
{
    struct err err = {0};
    struct loop *loop = NULL;
    assert_true(loop_open(&clock_of_machine, &loop, &err));
    return loop;
}

/* What callbacks record: one letter each, in the order of the calls. */
struct notes {
    struct loop *loop;
    char text[64];
    size_t count;
};

struct note {
    struct notes *notes;
    char letter;
    struct loop_timer *timer;
    struct loop_task task;
};

static void write_down(void *context)
{
    struct note *note = context;
    note->notes->text[note->notes->count++] = note->letter;
}

static struct str read_notes(const struct notes *notes)
{
    return (struct str){notes->text, notes->count};
}

static void nothing_to_do_ends_at_once(void **state)
{
    struct loop *loop = open_loop();
    (void)state;
    loop_run(loop);
    assert_ptr_equal(loop_clock(loop), &clock_of_machine);
    loop_close(loop);
    loop_close(NULL);
}

static void timers_fire_in_their_order(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct note a = {&notes, 'a'}, b = {&notes, 'b'}, c = {&notes, 'c'};
    int64_t began = loop_now_ms(notes.loop);
    (void)state;
    a.timer = loop_timer_new(notes.loop, write_down, &a);
    b.timer = loop_timer_new(notes.loop, write_down, &b);
    c.timer = loop_timer_new(notes.loop, write_down, &c);
    loop_timer_start(a.timer, 30);
    loop_timer_start(b.timer, 10);
    loop_timer_start(c.timer, -5); /* overdue */
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "cba");
    assert_true(loop_now_ms(notes.loop) - began >= 29);
    loop_timer_free(a.timer);
    loop_timer_free(b.timer);
    loop_close(notes.loop); /* with c's timer still there */
}

/* A clock that a test moves, as the machine's does while it is suspended. */
static int64_t moved(void *context)
{
    return clock_monotonic_ms(&clock_of_machine) + *(int64_t *)context;
}

struct sleep {
    int64_t shift_ms;
    struct loop *loop;
};

static void fall_asleep(void *context)
{
    struct sleep *sleep = context;
    sleep->shift_ms = 3600 * 1000;
}

/* libuv's timers stand still while the machine is suspended; ours are due when it wakes up. */
static void suspended_time_counts(void **state)
{
    struct sleep sleep = {0};
    const struct clock clock = {moved, moved, &sleep.shift_ms};
    struct err err;
    struct notes notes = {0};
    struct note a = {&notes, 'a'}, b = {&notes, 'b'};
    (void)state;
    assert_true(loop_open(&clock, &sleep.loop, &err));
    a.timer = loop_timer_new(sleep.loop, write_down, &a);
    b.timer = loop_timer_new(sleep.loop, write_down, &b);
    struct loop_timer *lid = loop_timer_new(sleep.loop, fall_asleep, &sleep);
    struct loop_timer *other = loop_timer_new(sleep.loop, write_down, &b);
    loop_timer_start(a.timer, 1800 * 1000); /* due within the suspension */
    loop_timer_start(b.timer, 3600 * 1000 + 100);
    loop_timer_start(lid, 5);
    loop_timer_stop(other); /* an inactive timer stays inactive */
    int64_t began = clock_monotonic_ms(&clock_of_machine);
    loop_run(sleep.loop);
    assert_str(read_notes(&notes), "ab");
    assert_true(clock_monotonic_ms(&clock_of_machine) - began < 20 * 1000);
    loop_close(sleep.loop);
}

static void stopped_and_restarted_timers_do_as_told(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct note a = {&notes, 'a'}, b = {&notes, 'b'}, c = {&notes, 'c'};
    (void)state;
    a.timer = loop_timer_new(notes.loop, write_down, &a);
    b.timer = loop_timer_new(notes.loop, write_down, &b);
    c.timer = loop_timer_new(notes.loop, write_down, &c);
    loop_timer_start(a.timer, 1);
    loop_timer_stop(a.timer);
    loop_timer_start(b.timer, 100000);
    loop_timer_start(b.timer, 2);
    loop_timer_start(c.timer, 5);
    loop_timer_free(c.timer);
    loop_timer_free(NULL);
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "b");
    loop_timer_start(b.timer, 1);
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "bb");
    loop_close(notes.loop);
}

static void free_own_timer(void *context)
{
    struct note *note = context;
    write_down(note);
    loop_timer_free(note->timer);
}

static void a_timer_may_free_itself(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct note a = {&notes, 'a'};
    (void)state;
    a.timer = loop_timer_new(notes.loop, free_own_timer, &a);
    loop_timer_start(a.timer, 0);
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "a");
    loop_close(notes.loop);
}

static void tasks_run_later_and_in_order(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct note a = {&notes, 'a'}, b = {&notes, 'b'}, c = {&notes, 'c'};
    (void)state;
    a.task = (struct loop_task){.run = write_down, .context = &a};
    b.task = (struct loop_task){.run = write_down, .context = &b};
    c.task = (struct loop_task){.run = write_down, .context = &c};
    loop_defer(notes.loop, &a.task);
    loop_defer(notes.loop, &b.task);
    loop_defer(notes.loop, &a.task); /* waits already */
    loop_defer(notes.loop, &c.task);
    assert_int_equal(notes.count, 0);
    loop_later_cancel(notes.loop, &b.task);
    loop_later_cancel(notes.loop, &b.task);
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "ac");
    loop_defer(notes.loop, &b.task);
    loop_later_cancel(notes.loop, &b.task);
    loop_run(notes.loop); /* a cancelled task does not keep the loop running */
    loop_close(notes.loop);
}

static void write_and_ask_again(void *context)
{
    struct note *note = context;
    write_down(note);
    if (note->notes->count < 40) {
        loop_defer(note->notes->loop, &note->task);
    }
}

static void write_and_stop(void *context)
{
    struct note *note = context;
    write_down(note);
    loop_stop(note->notes->loop);
}

static void a_task_that_asks_again_leaves_others_a_turn(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct note a = {&notes, 'a'}, b = {&notes, 'b'};
    (void)state;
    a.task = (struct loop_task){.run = write_and_ask_again, .context = &a};
    b.timer = loop_timer_new(notes.loop, write_and_stop, &b);
    loop_defer(notes.loop, &a.task);
    loop_timer_start(b.timer, 0);
    loop_run(notes.loop);
    assert_true(str_find_char(read_notes(&notes), 'b') < 5);
    assert_true(a.task.is_waiting); /* stopped before it was done */
    loop_later_cancel(notes.loop, &a.task);
    loop_close(notes.loop);
}

static void count_signal(void *context, int number)
{
    struct notes *notes = context;
    notes->text[notes->count++] = number == SIGUSR1 ? '1' : '?';
    loop_stop(notes->loop);
}

static void raise_signal(void *context)
{
    (void)context;
    kill(getpid(), SIGUSR1);
}

static void idle_wait(void *context)
{
    (void)context;
}

static void signals_are_told(void **state)
{
    struct notes notes = {.loop = open_loop()};
    struct loop_signal *first = NULL;
    struct loop_signal *second = NULL;
    struct err err = {0};
    (void)state;
    assert_true(loop_signal_new(notes.loop, SIGUSR1, count_signal, &notes, &first, &err));
    assert_true(loop_signal_new(notes.loop, SIGUSR1, count_signal, &notes, &second, &err));
    loop_run(notes.loop); /* a watch alone does not keep it running */
    struct loop_task task = {.run = raise_signal};
    struct loop_timer *wait = loop_timer_new(notes.loop, idle_wait, NULL);
    loop_timer_start(wait, 5000);
    loop_defer(notes.loop, &task);
    loop_run(notes.loop);
    assert_str(read_notes(&notes), "11");
    loop_signal_free(first);
    loop_signal_free(NULL);
    assert_false(loop_signal_new(notes.loop, SIGKILL, count_signal, &notes, &first, &err));
    assert_int_equal(err.kind, ERR_IO);
    loop_close(notes.loop);
}

static void a_broken_pipe_does_not_kill(void **state)
{
    struct loop *loop = open_loop();
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    close(ends[1]);
    loop_close(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do_ends_at_once),
        cmocka_unit_test(timers_fire_in_their_order),
        cmocka_unit_test(suspended_time_counts),
        cmocka_unit_test(stopped_and_restarted_timers_do_as_told),
        cmocka_unit_test(a_timer_may_free_itself),
        cmocka_unit_test(tasks_run_later_and_in_order),
        cmocka_unit_test(a_task_that_asks_again_leaves_others_a_turn),
        cmocka_unit_test(signals_are_told),
        cmocka_unit_test(a_broken_pipe_does_not_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
