/* step_follow.c: reports the events of a bundle from the first to the last. */
#include "io/file_watch.h"
#include "io/lock.h"
#include "io/xalloc.h"
#include "remote/step_event.h"
#include "remote/step_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    FIRST_BYTES_MAX = 4096,
    EVENTS_MAX = 16 << 20,
    ALIVE_MS = 500, /* how often to check that the runner is alive */
};

struct step_follow {
    struct loop *loop;
    struct arena arena;
    const char *events, *lock; /* paths */
    struct file_watch *watch;
    struct loop_timer *alive;
    struct loop_task look;
    size_t told;    /* bytes of the file already reported */
    uint64_t first; /* hash of its first line: a change means that another bundle has started */
    step_line_fn *line;
    step_follow_done_fn *done;
    void *context;
    bool has_ended;
};

static void step_follow_end_with(struct step_follow *follow, bool is_ok, const struct err *err)
{
    follow->has_ended = true;
    file_watch_end(follow->watch);
    follow->watch = NULL;
    loop_timer_stop(follow->alive);
    follow->done(follow->context, is_ok, err);
}

/* ---- reading the file ---- */

/* Hash of the first line, which has the start time. 0 if the line is not complete yet. */
static uint64_t first_line(int fd)
{
    char line[FIRST_BYTES_MAX];
    ssize_t size = pread(fd, line, sizeof(line), 0);
    struct str bytes = {line, size > 0 ? (size_t)size : 0};
    size_t end = str_find_char(bytes, '\n');
    return end != SIZE_MAX ? str_hash(str_sub(bytes, 0, end)) : 0;
}

static bool step_follow_is_replaced(struct step_follow *follow, int fd)
{
    uint64_t first = first_line(fd);
    struct stat status;
    if (follow->told == 0) {
        follow->first = first;
    }
    return fstat(fd, &status) != 0 || (size_t)status.st_size < follow->told ||
           (first != 0 && first != follow->first);
}

static bool read_new(const struct step_follow *follow, int fd, struct buf *out, struct err *err)
{
    char piece[64 * 1024];
    ssize_t size;
    while ((size = pread(fd, piece, sizeof(piece), (off_t)(follow->told + out->len))) > 0) {
        buf_add(out, (struct str){piece, (size_t)size});
        if (out->is_full) {
            return err_set(err, ERR_PROTOCOL, "%s: incomplete line", follow->events);
        }
    }
    return size == 0 || err_set(err, ERR_IO, "%s: %s", follow->events, strerror(errno));
}

/* Reports complete lines. True if one of them ended the bundle. */
static bool step_follow_report_lines(struct step_follow *follow, struct str bytes)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct step_event event = {0};
    struct err err;
    bool is_end = false;
    struct str rest = bytes;
    size_t end;
    while (!is_end && (end = str_find_char(rest, '\n')) != SIZE_MAX) {
        struct str line = str_sub(rest, 0, end + 1);
        rest = str_sub(rest, end + 1, rest.len);
        follow->told += line.len;
        follow->line(follow->context, line);
        is_end = step_event_read(line, &arena, &event, &err) &&
                 (event.kind == STEP_BUNDLE_DONE || event.kind == STEP_BUNDLE_FAILED);
    }
    if (is_end) {
        step_follow_end_with(follow, event.kind == STEP_BUNDLE_DONE, NULL);
    }
    return is_end;
}

static bool step_follow_do_inspect(struct step_follow *follow, int fd)
{
    AUTO_BUF struct buf bytes;
    struct err err = {0};
    buf_init(&bytes, EVENTS_MAX);
    if (step_follow_is_replaced(follow, fd)) {
        err_set(&err, ERR_CANCELLED,
                "another setup of this node was started and has replaced this one");
        step_follow_end_with(follow, false, &err);
        return true;
    }
    if (!read_new(follow, fd, &bytes, &err)) {
        step_follow_end_with(follow, false, &err);
        return true;
    }
    return step_follow_report_lines(follow, buf_str(&bytes));
}

static bool look(struct step_follow *follow)
{
    struct err err = {0};
    int fd = open(follow->events, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(&err, ERR_IO, "%s: %s", follow->events, strerror(errno));
        step_follow_end_with(follow, false, &err);
        return true;
    }
    bool has_ended = step_follow_do_inspect(follow, fd);
    close(fd);
    return has_ended;
}

static void step_follow_inspect_later(void *context)
{
    struct step_follow *follow = context;
    if (!follow->has_ended) {
        (void)look(follow);
    }
}

static bool step_follow_is_full(const struct step_follow *follow)
{
    enum { EVENT_BYTES_MAX = 64 * 1024 }; /* about as much as one event needs */
    struct statvfs disk;
    return statvfs(follow->events, &disk) == 0 && disk.f_bavail * disk.f_frsize < EVENT_BYTES_MAX;
}

/* The runner holds the lock while it lives. The file is read once more after the lock was found
 * free. */
static void look_for_runner(void *context)
{
    struct step_follow *follow = context;
    struct err err = {0};
    if (lock_is_held(follow->lock)) {
        loop_timer_start(follow->alive, ALIVE_MS);
    } else if (!look(follow)) {
        err_set(&err, ERR_UNAVAILABLE,
                step_follow_is_full(follow)
                    ? "the setup process on this node ended, because it could not write: No space "
                      "left on device"
                    : "the setup process on this node died (killed, or out of memory)");
        step_follow_end_with(follow, false, &err);
    }
}

bool step_follow_start(struct loop *loop, const char *folder, step_line_fn *line,
                       step_follow_done_fn *done, void *context, struct step_follow **ret_follow,
                       struct err *err)
{
    struct step_follow *follow = HEAP_NEW(struct step_follow);
    follow->loop = loop;
    follow->line = line;
    follow->done = done;
    follow->context = context;
    follow->look = (struct loop_task){.run = step_follow_inspect_later, .context = follow};
    arena_init(&follow->arena);
    follow->events = arena_printf(&follow->arena, "%s/events", folder).ptr;
    follow->lock = arena_printf(&follow->arena, "%s/lock", folder).ptr;
    follow->alive = loop_timer_new(loop, look_for_runner, follow);
    if (!file_watch_start(loop, follow->events, step_follow_inspect_later, follow, &follow->watch,
                          err)) {
        step_follow_end(follow);
        return false;
    }
    loop_timer_start(follow->alive, ALIVE_MS);
    loop_defer(loop, &follow->look);
    *ret_follow = follow;
    return true;
}

void step_follow_end(struct step_follow *follow)
{
    if (follow) {
        file_watch_end(follow->watch);
        loop_timer_free(follow->alive);
        loop_later_cancel(follow->loop, &follow->look);
        arena_clear(&follow->arena);
        free(follow);
    }
}
