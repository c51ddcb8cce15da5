/* train_history.c: appends events, and reads them again. */
#include "app/train/train_history.h"

#include "app/train/train_progress.h"
#include "base/buf.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/json_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static const char *const kind_names[HISTORY_KIND_COUNT] = {
    [HISTORY_RUN] = "run",   [HISTORY_GENERATION] = "generation",
    [HISTORY_RATE] = "rate", [HISTORY_MESSAGE] = "message",
    [HISTORY_END] = "end",
};

/* ---- writing ---- */

static void history_path(const char *folder, bool is_old, char ret[PATH_BYTES])
{
    snprintf(ret, PATH_BYTES, "%s/events%s.jsonl", folder, is_old ? ".1" : "");
}

static bool history_fail(const char *path, struct err *err)
{
    return err_set(err, ERR_IO, "cannot record an event in %s: %s", path, strerror(errno));
}

/* One write, so that a kill leaves the whole line or none of it on a working disk. */
static bool history_write(int fd, const char *path, off_t size, struct str line, struct err *err)
{
    AUTO_BUF struct buf bytes;
    char last = '\n';
    buf_init(&bytes, HISTORY_LINE_BYTES_MAX + 8);
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1) {
        return history_fail(path, err);
    }
    if (last != '\n') {
        buf_add_char(&bytes, '\n'); /* ends a line that was cut off */
    }
    buf_add(&bytes, line);
    ssize_t written = write(fd, bytes.ptr, bytes.len);
    if (written == (ssize_t)bytes.len) {
        return true;
    }
    errno = written < 0 ? errno : ENOSPC;
    return history_fail(path, err);
}

static bool history_rotate(const char *folder, struct err *err)
{
    char path[PATH_BYTES];
    char old[PATH_BYTES];
    history_path(folder, false, path);
    history_path(folder, true, old);
    failpoint("rename", "events", "before");
    return rename(path, old) == 0 || history_fail(old, err);
}

static bool history_append(const char *folder, struct str line, struct err *err)
{
    char path[PATH_BYTES];
    struct stat status;
    history_path(folder, false, path);
    if (stat(path, &status) == 0 && status.st_size >= HISTORY_FILE_BYTES_MAX &&
        !history_rotate(folder, err)) {
        return false;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return history_fail(path, err);
    }
    bool is_done = fstat(fd, &status) == 0 ? history_write(fd, path, status.st_size, line, err)
                                           : history_fail(path, err);
    close(fd);
    return is_done;
}

bool train_history_add(const char *folder, const json_t *event, struct err *err)
{
    AUTO_BUF struct buf line;
    buf_init(&line, HISTORY_LINE_BYTES_MAX);
    if (!json_add(event, &line)) {
        return err_set(err, ERR_INTERNAL, "an event is too large for the history of the job");
    }
    buf_add_char(&line, '\n');
    return history_append(folder, buf_str(&line), err);
}

/* ---- reading ---- */

static double take_real(const json_t *object, const char *name)
{
    double value = json_number_value(json_object_get(object, name));
    return value > 0 && value < 1e12 ? value : 0;
}

static bool read_event(const json_t *object, struct arena *arena, struct history_event *event)
{
    struct str name = json_take_text(object, "event", arena);
    size_t kind = 0;
    while (kind < HISTORY_KIND_COUNT && !str_is(name, kind_names[kind])) {
        kind++;
    }
    if (kind == HISTORY_KIND_COUNT || take_real(object, "time") == 0) {
        return false;
    }
    *event = (struct history_event){
        .kind = (enum history_kind)kind,
        .time = take_real(object, "time"),
        .generation = json_take_number(object, "generation", 0, INT64_MAX),
        .replicas = json_take_number(object, "replicas", 0, INT32_MAX),
        .replicas_before = json_take_number(object, "replicas_before", 0, INT32_MAX),
        .checkpoint = json_take_number(object, "checkpoint", 0, INT64_MAX),
        .step = json_take_number(object, "step", 0, TRAIN_STEPS_MAX),
        .repeated = json_take_number(object, "steps_repeated", 0, INT32_MAX),
        .text = json_take_text(object, kind == HISTORY_MESSAGE ? "message" : "cause", arena),
        .pause = {.total = take_real(object, "pause_s"),
                  .save = take_real(object, "save_s"),
                  .transfer = take_real(object, "transfer_s"),
                  .start = take_real(object, "start_s"),
                  .rendezvous = take_real(object, "rendezvous_s"),
                  .load = take_real(object, "load_s")},
        .rate = take_real(object, "steps_per_s"),
        .dollars_per_hour = take_real(object, "dollars_per_hour"),
    };
    return true;
}

static void read_lines(struct str text, struct arena *arena, struct train_history *history,
                       struct history_event *events)
{
    while (text.len > 0) {
        bool is_whole = str_find_char(text, '\n') != SIZE_MAX;
        struct str line = str_trim(str_cut(&text, '\n'));
        json_t *object;
        struct err err;
        if (line.len == 0) {
            continue;
        }
        if (!is_whole || !json_line_read(line, "an event", &object, &err)) {
            history->skipped++;
            continue;
        }
        bool is_known = read_event(object, arena, &events[history->count]);
        history->count += is_known; /* a newer release may have other kinds */
        json_decref(object);
    }
}

static size_t count_lines(struct str text)
{
    size_t count = 0;
    for (; text.len > 0; count++) {
        str_cut(&text, '\n');
    }
    return count;
}

void train_history_read(const char *folder, struct arena *arena, struct train_history *ret_history)
{
    AUTO_BUF struct buf old;
    AUTO_BUF struct buf text;
    char path[PATH_BYTES];
    struct err err;
    buf_init(&old, HISTORY_FILE_BYTES_MAX + 2 * HISTORY_LINE_BYTES_MAX);
    buf_init(&text, HISTORY_FILE_BYTES_MAX + 2 * HISTORY_LINE_BYTES_MAX);
    history_path(folder, true, path);
    bool has_old = file_stat(path).kind == FILE_REGULAR && file_read(path, &old, &err);
    history_path(folder, false, path);
    bool has_new = file_stat(path).kind == FILE_REGULAR && file_read(path, &text, &err);
    size_t most = count_lines(buf_str(&old)) + count_lines(buf_str(&text));
    struct history_event *events = ARENA_ARRAY(arena, most + 1, struct history_event);
    *ret_history = (struct train_history){.events = events};
    if (has_old) {
        read_lines(buf_str(&old), arena, ret_history, events);
    }
    if (has_new) {
        read_lines(buf_str(&text), arena, ret_history, events);
    }
}

struct history_sums train_history_sums(const struct train_history *history)
{
    struct history_sums sums = {0};
    for (size_t i = 0; i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        if (event->kind != HISTORY_GENERATION || event->generation <= 1) {
            continue; /* before the first step there is nothing to interrupt */
        }
        sums.pauses++;
        sums.repeated += event->repeated;
        sums.parts.total += event->pause.total;
        sums.parts.save += event->pause.save;
        sums.parts.transfer += event->pause.transfer;
        sums.parts.start += event->pause.start;
        sums.parts.rendezvous += event->pause.rendezvous;
        sums.parts.load += event->pause.load;
    }
    return sums;
}
