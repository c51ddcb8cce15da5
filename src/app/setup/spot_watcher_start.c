/*
 * spot_watcher_start.c: starts the watcher in the background, one per machine, from a step that
 * then exits.
 */
#include "app/node/spot_watcher.h"

#include "app/program.h"
#include "app/setup/node_tools.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OTHER_ENDS_MS = 3000,
    OTHER_LOOK_MS = 20,
    LOG_BYTES_MAX = 1 << 20, /* the log is truncated beyond this */
    HOLDER_BYTES = 200,
};

/* ---- one at a time ---- */

/* Terminates the process only if it runs the same program, since the pid may have been reused. */
static void end_other(const char *path)
{
    static const char mark[] = "pid ";
    AUTO_BUF struct buf holder;
    int64_t pid = 0;
    buf_init(&holder, HOLDER_BYTES);
    lock_holder(path, &holder);
    size_t at = str_find(buf_str(&holder), mark);
    if (at == SIZE_MAX) {
        return;
    }
    struct str number = str_sub(buf_str(&holder), at + strlen(mark), holder.len);
    if (str_to_i64(str_trim(number), &pid) && pid > 1 && program_is_same(pid)) {
        kill((pid_t)pid, SIGTERM);
    }
}

/* A watcher that was started earlier may use an old head address or be an older program. */
static bool take_place(const char *path, struct lock **ret_lock, struct err *err)
{
    char holder[64];
    int64_t until = clock_monotonic_ms(&clock_of_machine) + OTHER_ENDS_MS;
    snprintf(holder, sizeof(holder), "shoal node watch, pid %ld", (long)getpid());
    bool is_taken = lock_take(path, holder, ret_lock, err);
    if (!is_taken && err->kind == ERR_EXISTS) {
        end_other(path);
    }
    while (!is_taken && err->kind == ERR_EXISTS && clock_monotonic_ms(&clock_of_machine) < until) {
        const struct timespec nap = {0, OTHER_LOOK_MS * 1000000L};
        nanosleep(&nap, NULL);
        is_taken = lock_take(path, holder, ret_lock, err);
    }
    return is_taken;
}

/* ---- the background process ---- */

static int spot_watcher_start_open_log(const char *path)
{
    struct stat status;
    bool is_long = stat(path, &status) == 0 && status.st_size > LOG_BYTES_MAX;
    return open(path,
                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (is_long ? O_TRUNC : 0),
                0600);
}

static int stay(const struct node_watch_setup *setup, struct arena *arena)
{
    int descriptor = setup->is_foreground
                         ? STDERR_FILENO
                         : spot_watcher_start_open_log(tools_home(arena, WATCH_LOG));
    struct redact *redact = redact_new();
    struct log log = {&clock_of_machine, redact, LOG_LEVEL_INFO, log_to_descriptor, &descriptor};
    struct lock *lock;
    struct err err;
    bool ok = take_place(tools_home(arena, WATCH_LOCK), &lock, &err);
    if (ok) {
        ok = watch_run(setup, &log, &err);
        lock_drop(lock);
    }
    if (!ok) {
        log_write(&log, LOG_LEVEL_ERROR, "cannot watch for interruption notices: %s", err.text);
    }
    redact_free(redact);
    if (descriptor > STDERR_FILENO) {
        close(descriptor);
    }
    return ok ? 0 : 1;
}

int node_watch(const struct node_watch_setup *given)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct node_watch_setup setup = *given;
    setup.token_file = given->token_file ? tools_home(&arena, given->token_file) : NULL;
    mkdir(tools_home(&arena, "~/.shoal"), 0700);
    int status = 0;
    if (setup.is_foreground) {
        status = stay(&setup, &arena);
    } else if (program_leave(&status)) {
        _exit(stay(&setup, &arena));
    } else if (status != 0) {
        printf("warning: cannot start the watcher for spot interruption notices: %s\n",
               strerror(status));
    } else {
        printf("watching for spot interruption notices from %s\n", setup.provider);
    }
    return setup.is_foreground ? status : 0;
}
