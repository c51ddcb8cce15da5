/* step_follow.c: the events of a bundle, as they come, from its beginning to its end. */
#include "io/heap.h"
#include "io/lock.h"
#include "io/watch.h"
#include "remote/step_event.h"
#include "remote/step_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_BYTES_MAX = 4096,
    EVENTS_MAX = 16 << 20,
    ALIVE_MS = 500, /* how often it is seen whether there still is a runner */
};

struct step_follow {
    struct loop *loop;
    struct arena arena;
    const char *events, *lock; /* paths */
    struct watch *watch;
    struct loop_timer *alive;
    struct loop_task look;
    size_t told;    /* bytes of the file */
    uint64_t first; /* of its first line: another one means another bundle in its place */
    step_line_fn *line;
    step_follow_done_fn *done;
    void *context;
    bool has_ended;
};

static void end_with(struct step_follow *follow, bool is_ok, const struct err *err)
{
    follow->has_ended = true;
    watch_end(follow->watch);
    follow->watch = NULL;
    loop_timer_stop(follow->alive);
    follow->done(follow->context, is_ok, err);
}

/* ---- the file, from where it was told to its end ---- */

/* Of its first line, which says when the bundle began. 0: it is not whole yet. */
static uint64_t first_line(int fd)
{
    char line[FIRST_BYTES_MAX];
    ssize_t size = pread(fd, line, sizeof(line), 0);
    struct str bytes = {line, size > 0 ? (size_t)size : 0};
    size_t end = str_find_char(bytes, '\n');
    return end != SIZE_MAX ? str_hash(str_sub(bytes, 0, end)) : 0;
}

static bool is_replaced(struct step_follow *follow, int fd)
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
            return err_set(err, ERR_PROTOCOL, "%s: a line without an end", follow->events);
        }
    }
    return size == 0 || err_set(err, ERR_IO, "%s: %s", follow->events, strerror(errno));
}

/* Tells whole lines. True when one of them was the last. */
static bool tell_lines(struct step_follow *follow, struct str bytes)
{
    struct arena arena;
    struct step_event event = {0};
    struct err err;
    bool is_end = false;
    arena_init(&arena);
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
    arena_clear(&arena);
    if (is_end) {
        end_with(follow, event.kind == STEP_BUNDLE_DONE, NULL);
    }
    return is_end;
}

static bool look_at(struct step_follow *follow, int fd)
{
    AUTO_BUF struct buf bytes;
    struct err err = {0};
    buf_init(&bytes, EVENTS_MAX);
    if (is_replaced(follow, fd)) {
        err_set(&err, ERR_CANCELLED, "another set-up of this node has begun in place of this one");
        end_with(follow, false, &err);
        return true;
    }
    if (!read_new(follow, fd, &bytes, &err)) {
        end_with(follow, false, &err);
        return true;
    }
    return tell_lines(follow, buf_str(&bytes));
}

static bool look(struct step_follow *follow)
{
    struct err err = {0};
    int fd = open(follow->events, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(&err, ERR_IO, "%s: %s", follow->events, strerror(errno));
        end_with(follow, false, &err);
        return true;
    }
    bool has_ended = look_at(follow, fd);
    close(fd);
    return has_ended;
}

static void look_later(void *context)
{
    struct step_follow *follow = context;
    if (!follow->has_ended) {
        (void)look(follow);
    }
}

/* The runner holds a lock as long as it lives. What it wrote last is read after that is known. */
static void look_for_runner(void *context)
{
    struct step_follow *follow = context;
    struct err err = {0};
    if (lock_is_held(follow->lock)) {
        loop_timer_start(follow->alive, ALIVE_MS);
    } else if (!look(follow)) {
        err_set(&err, ERR_UNAVAILABLE,
                "what ran the set-up on this node has gone without a word: "
                "killed, or out of memory");
        end_with(follow, false, &err);
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
    follow->look = (struct loop_task){.run = look_later, .context = follow};
    arena_init(&follow->arena);
    follow->events = arena_printf(&follow->arena, "%s/events", folder).ptr;
    follow->lock = arena_printf(&follow->arena, "%s/lock", folder).ptr;
    follow->alive = loop_timer_new(loop, look_for_runner, follow);
    if (!watch_start(loop, follow->events, look_later, follow, &follow->watch, err)) {
        step_follow_end(follow);
        return false;
    }
    loop_timer_start(follow->alive, ALIVE_MS);
    loop_later(loop, &follow->look);
    *ret_follow = follow;
    return true;
}

void step_follow_end(struct step_follow *follow)
{
    if (follow) {
        watch_end(follow->watch);
        loop_timer_free(follow->alive);
        loop_later_cancel(follow->loop, &follow->look);
        arena_clear(&follow->arena);
        free(follow);
    }
}
