/* test_child.c: real programs on a real loop: their output, their exit, and how they are killed. */
#include "io/child.h"

#include "io/file.h"
#include "io/file_limit.h"
#include "open_files.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGV(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

struct bench {
    struct loop *loop;
    struct child_pool *pool;
};

/* The result of one child. */
struct seen {
    int calls;
    struct child_result result;
    char out[4096], err[4096];
    size_t line_count;
    char lines[4096];
    struct child *child;
    struct bench *bench;
    int drained;
};

static struct bench open_bench(size_t running_max)
{
    struct bench bench = {0};
    struct err err = {0};
    assert_true(loop_open(&clock_of_machine, &bench.loop, &err));
    bench.pool = child_pool_new(bench.loop, running_max);
    return bench;
}

static void close_bench(struct bench *bench)
{
    child_pool_free(bench->pool);
    loop_close(bench->loop);
}

static void note_done(void *context, const struct child_result *result)
{
    struct seen *seen = context;
    seen->calls++;
    seen->result = *result;
    snprintf(seen->out, sizeof(seen->out), "%.*s", STR_ARG(result->output[0]));
    snprintf(seen->err, sizeof(seen->err), "%.*s", STR_ARG(result->output[1]));
    seen->child = NULL;
}

static void note_line(void *context, enum child_stream stream, struct str line)
{
    struct seen *seen = context;
    size_t used = strlen(seen->lines);
    seen->line_count++;
    snprintf(seen->lines + used, sizeof(seen->lines) - used, "%d[%.*s]", stream, STR_ARG(line));
}

static struct child_spec collect(const char *const *argv, struct seen *seen)
{
    return (struct child_spec){.argv = argv,
                               .output = {{.bytes_max = 4000}, {.bytes_max = 4000}},
                               .deadline_ms = 8000,
                               .done = note_done,
                               .context = seen};
}

/* Runs one child to its end in a loop of its own. */
static void run(const struct child_spec *spec)
{
    struct bench bench = open_bench(1);
    struct seen *seen = spec->context;
    child_start(bench.pool, spec);
    assert_int_equal(seen->calls, 0); /* never from inside the call */
    assert_int_equal(child_pool_waiting(bench.pool), 1);
    loop_run(bench.loop);
    assert_int_equal(seen->calls, 1);
    assert_int_equal(child_pool_running(bench.pool), 0);
    close_bench(&bench);
}

static void output_and_status_are_told(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "echo out; echo err >&2; exit 7"),
                                     &seen);
    (void)state;
    run(&spec);
    assert_int_equal(seen.result.end, CHILD_EXITED);
    assert_int_equal(seen.result.exit_status, 7);
    assert_false(child_was_fine(&seen.result));
    assert_string_equal(seen.out, "out\n");
    assert_string_equal(seen.err, "err\n");
    assert_string_equal(seen.result.err.text, "sh: exited with status 7");
    assert_false(seen.result.is_cut[0]);
    struct seen fine = {0};
    spec = collect(ARGV("true"), &fine); /* found in the default PATH */
    run(&spec);
    assert_true(child_was_fine(&fine.result));
    assert_int_equal(fine.result.err.kind, ERR_NONE);
}

static void input_arrives_whole(void **state)
{
    enum { SIZE = 300000 };
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/usr/bin/wc", "-c"), &seen);
    char *input = malloc(SIZE);
    (void)state;
    assert_non_null(input);
    memset(input, 'x', SIZE);
    spec.input = (struct str){input, SIZE};
    run(&spec);
    assert_string_equal(seen.out, "300000\n");
    memset(&seen, 0, sizeof(seen));
    spec.argv = ARGV("/bin/true"); /* reads nothing: no harm */
    run(&spec);
    assert_true(child_was_fine(&seen.result));
    free(input);
    memset(&seen, 0, sizeof(seen));
    spec = collect(ARGV("/bin/cat"), &seen); /* no input is an end of file, not a wait */
    run(&spec);
    assert_string_equal(seen.out, "");
    assert_true(child_was_fine(&seen.result));
}

static void answer_line(void *context, enum child_stream stream, struct str line)
{
    struct seen *seen = context;
    note_line(context, stream, line);
    if (seen->line_count == 1) {
        assert_true(child_write(seen->child, STR("second\n")));
    } else {
        child_end_input(seen->child);
    }
}

static void a_fed_child_is_talked_to(void **state)
{
    struct bench bench = open_bench(4);
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/cat"), &seen);
    (void)state;
    spec.is_fed = true;
    spec.output[0].line = answer_line;
    seen.child = child_start(bench.pool, &spec);
    assert_true(child_write(seen.child, STR("first\n"))); /* before it runs */
    static char much[CHILD_INPUT_MAX];
    assert_false(child_write(seen.child, (struct str){much, sizeof(much)}));
    loop_run(bench.loop);
    assert_string_equal(seen.lines, "0[first]0[second]");
    assert_true(child_was_fine(&seen.result));
    close_bench(&bench);
}

/* A piece at a time, the next when the one before is written. */
static void feed_more(void *context)
{
    static char piece[100 * 1000];
    struct seen *seen = context;
    if (++seen->drained > 50) {
        child_end_input(seen->child);
    } else {
        memset(piece, 'x', sizeof(piece));
        assert_true(child_write(seen->child, (struct str){piece, sizeof(piece)}));
    }
}

static void more_than_fits_is_fed_in_pieces(void **state)
{
    struct bench bench = open_bench(4);
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/usr/bin/wc", "-c"), &seen);
    (void)state;
    spec.is_fed = true;
    spec.drained = feed_more;
    seen.child = child_start(bench.pool, &spec);
    assert_true(child_write(seen.child, STR("first\n")));
    loop_run(bench.loop);
    assert_string_equal(seen.out, "5000006\n");
    close_bench(&bench);
}

static void lines_come_one_by_one(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/usr/bin/printf", "a\\n\\nlong line of words\\r\\nend"),
                                     &seen);
    (void)state;
    spec.output[0] = (struct child_output){.bytes_max = 8, .line = note_line};
    run(&spec);
    assert_string_equal(seen.lines, "0[a]0[]0[long lin]0[e of wor]0[ds]0[end]");
    assert_true(seen.result.is_cut[0]);
    assert_string_equal(seen.out, "");
}

static void output_has_a_bound(void **state)
{
    static const struct {
        size_t bytes_max;
        bool keeps_tail;
        const char *kept;
        bool is_cut;
    } rows[] = {
        {5, false, "1\n2\n3", true},
        {5, true, "9\n10\n", true},
        {21, false, NULL, false},
        {21, true, NULL, false},
        {1, false, "1", true},
        {1, true, "\n", true},
        {20, true, "\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen = {0};
        struct child_spec spec = collect(ARGV("/usr/bin/seq", "10"), &seen);
        spec.output[0].bytes_max = rows[i].bytes_max;
        spec.output[0].keeps_tail = rows[i].keeps_tail;
        run(&spec);
        assert_string_equal(seen.out,
                            rows[i].kept ? rows[i].kept : "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
        assert_int_equal(seen.result.is_cut[0], rows[i].is_cut);
    }
}

static void endless_output_does_not_block_or_grow(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "seq 200000; seq 200000 >&2"), &seen);
    (void)state;
    spec.output[0].bytes_max = 12;
    spec.output[1] = (struct child_output){.bytes_max = 12, .keeps_tail = true};
    run(&spec);
    assert_string_equal(seen.out, "1\n2\n3\n4\n5\n6\n");
    assert_string_equal(seen.err, "9999\n200000\n");
    assert_true(child_was_fine(&seen.result));
    memset(&seen, 0, sizeof(seen));
    spec.output[0].bytes_max = 0; /* to /dev/null */
    run(&spec);
    assert_string_equal(seen.out, "");
    assert_false(seen.result.is_cut[0]);
}

static void only_allowed_variables_are_seen(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/usr/bin/env"), &seen);
    (void)state;
    setenv("SHOAL_SECRET", "s3cret", 1);
    setenv("SHOAL_SHOWN", "yes", 1);
    setenv("SHOAL_BOTH", "ours", 1);
    run(&spec);
    assert_string_equal(seen.out, "");
    memset(&seen, 0, sizeof(seen));
    spec.env_names = ARGV("SHOAL_SHOWN", "SHOAL_UNSET", "SHOAL_BOTH");
    spec.env_extra = ARGV("A=1", "SHOAL_BOTH=theirs");
    run(&spec);
    assert_string_equal(seen.out, "A=1\nSHOAL_BOTH=theirs\nSHOAL_SHOWN=yes\n");
    memset(&seen, 0, sizeof(seen));
    spec.env_names = child_usual_env;
    run(&spec);
    assert_null(strstr(seen.out, "s3cret"));
    assert_non_null(strstr(seen.out, "PATH="));
}

/* Lists its descriptors without opening any. */
#define LIST_OPEN \
    "i=0; while [ $i -lt 99 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i + 1)); done; true"

static void no_descriptor_is_inherited(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", LIST_OPEN), &seen);
    int leaky[2];
    (void)state;
    assert_int_equal(pipe(leaky), 0); /* as a library would: not close-on-exec */
    run(&spec);
    close(leaky[0]);
    close(leaky[1]);
    assert_string_equal(seen.out, "0\n1\n2\n");
}

/* As on Linux before 5.11 and on macOS. It stays so until the process ends. */
static bool forbid_close_range(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void the_same_without_close_range(void **state)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = forbid_close_range();
        no_descriptor_is_inherited(state);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            ok = ok && fcntl(fd, F_GETFD) == 0; /* programs in the foreground inherit them */
        }
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void pipes_can_be_opened_again(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "echo again > /dev/stderr; pwd"), &seen);
    (void)state;
    spec.folder = "/usr";
    run(&spec);
    assert_string_equal(seen.err, "again\n");
    assert_string_equal(seen.out, "/usr\n");
}

static void what_cannot_start_says_why(void **state)
{
    static const struct {
        const char *program, *folder;
        enum err_kind kind;
    } rows[] = {
        {"/no/such/program", NULL, ERR_NOT_FOUND},
        {"no-such-program", NULL, ERR_NOT_FOUND},
        {"/etc/passwd", NULL, ERR_IO},
        {"/bin/true", "/no/such/folder", ERR_NOT_FOUND},
        {NULL, NULL, ERR_IO},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen = {0};
        struct child_spec spec = collect(ARGV(rows[i].program), &seen);
        spec.folder = rows[i].folder;
        run(&spec);
        assert_int_equal(seen.result.end, CHILD_NOT_STARTED);
        assert_int_equal(seen.result.err.kind, rows[i].kind);
        assert_like(str_from(seen.result.err.text), "*: cannot start: *");
    }
}

static void a_foreign_signal_is_told(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "kill -SEGV $$"), &seen);
    (void)state;
    run(&spec);
    assert_int_equal(seen.result.end, CHILD_SIGNALLED);
    assert_int_equal(seen.result.signal, SIGSEGV);
    assert_like(str_from(seen.result.err.text), "sh: killed by signal 11 (*)");
}

static void the_deadline_ends_it(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sleep", "20"), &seen);
    (void)state;
    spec.deadline_ms = 50;
    run(&spec);
    assert_int_equal(seen.result.end, CHILD_TIMED_OUT);
    assert_int_equal(seen.result.signal, SIGTERM);
    assert_int_equal(seen.result.err.kind, ERR_TIMEOUT);
    assert_true(seen.result.ran_ms >= 49 && seen.result.ran_ms < 3000);
}

/* Dies only of SIGKILL, and so does its child, which holds the pipes too. */
#define STUBBORN "trap '' TERM; sleep 20 & echo $!; while :; do wait; done"

static void the_stubborn_are_killed_with_all_they_started(void **state)
{
    struct seen seen = {0};
    (void)state;
    /* On a busy machine the shell may need longer until it ignores the signal and says so. */
    for (int64_t deadline = 100; deadline < 10000 && seen.out[0] == '\0'; deadline *= 4) {
        seen = (struct seen){0};
        struct child_spec spec = collect(ARGV("/bin/sh", "-c", STUBBORN), &seen);
        spec.deadline_ms = deadline;
        spec.grace_ms = 100;
        run(&spec);
    }
    assert_int_equal(seen.result.end, CHILD_TIMED_OUT);
    assert_int_equal(seen.result.signal, SIGKILL);
    assert_true(seen.result.ran_ms < 15000);
    int grandchild = (int)strtol(seen.out, NULL, 10);
    assert_true(grandchild > 1);
    for (int i = 0; i < 100 && kill(grandchild, 0) == 0; i++) {
        usleep(10000); /* its new parent takes a moment to reap it */
    }
    AUTO_BUF struct buf proc;
    buf_init(&proc, 100);
    buf_addf(&proc, "/proc/%d/cwd", grandchild);
    assert_int_equal(access(proc.ptr, R_OK), -1); /* gone, or a zombie at most */
}

static void a_heir_with_the_pipe_does_not_hold_us(void **state)
{
    struct seen seen = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "echo x; setsid sleep 20 & exit 3"),
                                     &seen);
    (void)state;
    spec.linger_ms = 100;
    run(&spec);
    assert_int_equal(seen.result.end, CHILD_EXITED);
    assert_int_equal(seen.result.exit_status, 3);
    assert_string_equal(seen.out, "x\n");
    assert_true(seen.result.is_cut[0]);
    assert_true(seen.result.ran_ms < 15000);
}

static void cancel_now(void *context)
{
    struct seen *seen = context;
    child_cancel(seen->child);
    child_cancel(seen->child); /* a second call has no effect */
}

static void running_and_waiting_ones_can_be_cancelled(void **state)
{
    struct bench bench = open_bench(1);
    struct seen first = {0}, second = {0}, third = {0};
    struct child_spec spec = collect(ARGV("/bin/sleep", "20"), &first);
    (void)state;
    first.child = child_start(bench.pool, &spec);
    spec.context = &second;
    second.child = child_start(bench.pool, &spec);
    spec = collect(ARGV("/bin/true"), &third);
    third.child = child_start(bench.pool, &spec);
    struct loop_timer *timer = loop_timer_new(bench.loop, cancel_now, &first);
    loop_timer_start(timer, 50);
    child_cancel(second.child);
    assert_int_equal(second.calls, 0);
    assert_int_equal(child_pid(second.child), 0);
    loop_run(bench.loop);
    assert_int_equal(first.result.end, CHILD_CANCELLED);
    assert_int_equal(first.result.signal, SIGTERM);
    assert_int_equal(first.result.err.kind, ERR_CANCELLED);
    assert_int_equal(second.result.end, CHILD_CANCELLED);
    assert_int_equal(second.result.signal, 0);
    assert_true(child_was_fine(&third.result));
    assert_int_equal(first.calls + second.calls + third.calls, 3);
    close_bench(&bench);
}

static void forget_now(void *context)
{
    struct seen *seen = context;
    child_forget(seen->child);
}

static void forgotten_ones_are_silent(void **state)
{
    struct bench bench = open_bench(1);
    struct seen first = {0}, second = {0}, third = {0};
    struct child_spec spec = collect(ARGV("/bin/sh", "-c",
                                          "trap 'echo late; exit' TERM; sleep 20 & "
                                          "wait"),
                                     &first);
    (void)state;
    spec.output[0].line = note_line;
    first.child = child_start(bench.pool, &spec);
    spec.context = &second;
    second.child = child_start(bench.pool, &spec);
    child_forget(second.child);
    spec = collect(ARGV("/bin/true"), &third);
    third.child = child_start(bench.pool, &spec);
    struct loop_timer *timer = loop_timer_new(bench.loop, forget_now, &first);
    loop_timer_start(timer, 100);
    loop_run(bench.loop);
    assert_int_equal(first.calls + second.calls, 0);
    assert_int_equal(first.line_count + second.line_count, 0);
    assert_true(child_was_fine(&third.result));
    loop_timer_free(timer);
    close_bench(&bench);
}

/* ---- many ---- */

struct crowd {
    struct child_pool *pool;
    size_t done, fine, most;
};

static void count_done(void *context, const struct child_result *result)
{
    struct crowd *crowd = context;
    crowd->done++;
    crowd->fine += child_was_fine(result) && result->output[0].len == 3 ? 1 : 0;
    size_t running = child_pool_running(crowd->pool) + 1;
    crowd->most = running > crowd->most ? running : crowd->most;
}

static void run_crowd(struct crowd *crowd, size_t count, size_t running_max)
{
    struct bench bench = open_bench(running_max);
    crowd->pool = bench.pool;
    for (size_t i = 0; i < count; i++) {
        struct child_spec spec = {.argv = ARGV("/bin/cat"),
                                  .input = STR("abc"),
                                  .output = {{.bytes_max = 10}, {.bytes_max = 10}},
                                  .deadline_ms = 9000,
                                  .done = count_done,
                                  .context = crowd};
        child_start(bench.pool, &spec);
    }
    loop_run(bench.loop);
    close_bench(&bench);
}

static void many_run_but_not_too_many_at_once(void **state)
{
    struct crowd crowd = {0};
    const char *asked = getenv("SHOAL_CHILDREN"); /* more of them, to measure */
    size_t count = asked ? (size_t)strtoul(asked, NULL, 10) : 200;
    (void)state;
    int64_t began = clock_monotonic_ms(&clock_of_machine);
    run_crowd(&crowd, count, 8);
    int64_t took = clock_monotonic_ms(&clock_of_machine) - began;
    print_message("%zu children in %lld ms\n", count, (long long)took);
    assert_int_equal(crowd.done, count);
    assert_int_equal(crowd.fine, count);
    assert_true(crowd.most <= 8 && crowd.most > 1);
}

struct order {
    char text[8];
};

static void note_order(void *context, const struct child_result *result)
{
    struct order *order = context;
    order->text[strlen(order->text)] = result->output[0].ptr[0];
}

static void an_urgent_one_starts_before_those_that_wait(void **state)
{
    static const char *const names[] = {"a", "b", "!", "c"};
    struct bench bench = open_bench(1);
    struct order order = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct child_spec spec = {.argv = ARGV("/bin/echo", names[i]),
                                  .output = {{.bytes_max = 10}, {.bytes_max = 10}},
                                  .is_urgent = names[i][0] == '!',
                                  .done = note_order,
                                  .context = &order};
        child_start(bench.pool, &spec);
    }
    assert_int_equal(child_pool_waiting(bench.pool), ARRAY_LEN(names));
    loop_run(bench.loop);
    assert_string_equal(order.text, "!abc");
    close_bench(&bench);
}

static void a_shortage_of_descriptors_is_waited_out(void **state)
{
    struct crowd crowd = {0};
    struct rlimit before;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit few = {40, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    run_crowd(&crowd, 60, 1000);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(crowd.fine, 60);
    assert_true(crowd.most < 20);
}

/* This process may use all descriptors; its children get the original limit. */
static void children_keep_the_usual_limit(void **state)
{
    struct rlimit before;
    struct rlimit now;
    struct rlimit ours;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit few = {200, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    file_limit_raise();
    file_limit_raise();
    getrlimit(RLIMIT_NOFILE, &now);
    struct seen seen = {0};
    struct bench bench = open_bench(1);
    struct child_spec spec = collect(ARGV("/bin/sh", "-c", "ulimit -n"), &seen);
    child_start(bench.pool, &spec);
    loop_run(bench.loop);
    close_bench(&bench);
    getrlimit(RLIMIT_NOFILE, &ours);
    file_limit_restore();
    assert_string_equal(seen.out, "200\n");
    assert_int_equal(now.rlim_cur, before.rlim_max);
    assert_int_equal(ours.rlim_cur, before.rlim_max);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, 200);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void stop_loop(void *context)
{
    loop_stop(((struct bench *)context)->loop);
}

static void a_freed_pool_leaves_no_process(void **state)
{
    struct bench bench = open_bench(2);
    struct seen seen[3] = {0};
    int pids[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct child_spec spec = collect(ARGV("/bin/sleep", "20"), &seen[i]);
        spec.is_fed = true;
        seen[i].child = child_start(bench.pool, &spec);
    }
    struct loop_timer *timer = loop_timer_new(bench.loop, stop_loop, &bench);
    loop_timer_start(timer, 50);
    loop_run(bench.loop);
    for (int i = 0; i < 3; i++) {
        pids[i] = child_pid(seen[i].child);
    }
    assert_true(pids[0] > 0 && pids[1] > 0 && pids[2] == 0);
    close_bench(&bench);
    assert_int_equal(kill(pids[0], 0), -1); /* reaped, too */
    assert_int_equal(kill(pids[1], 0), -1);
    assert_int_equal(seen[0].calls + seen[1].calls + seen[2].calls, 0);
    child_pool_free(NULL);
}

/* ---- no leaked descriptors ---- */

static int open_before;

/* After a first loop: libuv keeps a pipe for signals until the program ends. */
static int note_open(void **state)
{
    (void)state;
    struct bench bench = open_bench(1);
    close_bench(&bench);
    open_before = open_files_count();
    return 0;
}

static void nothing_stays_open(void **state)
{
    (void)state;
    assert_int_equal(open_files_count(), open_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status_are_told),
        cmocka_unit_test(input_arrives_whole),
        cmocka_unit_test(a_fed_child_is_talked_to),
        cmocka_unit_test(more_than_fits_is_fed_in_pieces),
        cmocka_unit_test(lines_come_one_by_one),
        cmocka_unit_test(output_has_a_bound),
        cmocka_unit_test(endless_output_does_not_block_or_grow),
        cmocka_unit_test(only_allowed_variables_are_seen),
        cmocka_unit_test(no_descriptor_is_inherited),
        cmocka_unit_test(the_same_without_close_range),
        cmocka_unit_test(pipes_can_be_opened_again),
        cmocka_unit_test(what_cannot_start_says_why),
        cmocka_unit_test(a_foreign_signal_is_told),
        cmocka_unit_test(the_deadline_ends_it),
        cmocka_unit_test(the_stubborn_are_killed_with_all_they_started),
        cmocka_unit_test(a_heir_with_the_pipe_does_not_hold_us),
        cmocka_unit_test(running_and_waiting_ones_can_be_cancelled),
        cmocka_unit_test(forgotten_ones_are_silent),
        cmocka_unit_test(many_run_but_not_too_many_at_once),
        cmocka_unit_test(an_urgent_one_starts_before_those_that_wait),
        cmocka_unit_test(a_shortage_of_descriptors_is_waited_out),
        cmocka_unit_test(children_keep_the_usual_limit),
        cmocka_unit_test(a_freed_pool_leaves_no_process),
        cmocka_unit_test(nothing_stays_open),
    };
    return cmocka_run_group_tests(tests, note_open, NULL);
}
