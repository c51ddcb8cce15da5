/* train_view.c: asks the trainer of a job, or reads the record of the job. */
#include "app/train/train_view.h"

#include "app/train/trainer.h"
#include "base/require.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/line_socket.h"
#include "io/lock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, ANSWER_BYTES = 1 << 20, STATUS_MS = 5000 };

/* ---- the object ---- */

static void read_slots(const json_t *list, struct arena *arena, struct train_view *view)
{
    size_t count = json_array_size(list);
    count = count < TRAIN_SLOTS_MAX ? count : TRAIN_SLOTS_MAX;
    struct train_view_slot *slots = ARENA_ARRAY(arena, count + 1, struct train_view_slot);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        slots[i] = (struct train_view_slot){
            .id = (uint32_t)json_take_number(row, "id", 1, UINT32_MAX),
            .state = (enum train_slot_state)json_take_number(row, "state", TRAIN_SLOT_PENDING,
                                                             TRAIN_SLOT_RETURNED),
            .rank = json_take_number(row, "rank", 0, TRAIN_SLOTS_MAX) - 1,
            .checkpoint = json_take_number(row, "checkpoint", 0, INT64_MAX),
            .node = json_take_text(row, "node", arena),
            .host = json_take_text(row, "host", arena),
        };
    }
    view->slots = slots;
    view->slot_count = count;
}

void train_view_read(const json_t *object, struct arena *arena, struct train_view *ret_view)
{
    *ret_view = (struct train_view){
        .name = json_take_text(object, "job", arena),
        .phase = (enum train_phase)json_take_number(object, "phase", 0, TRAIN_STOPPED),
        .why = json_take_text(object, "why", arena),
        .since = json_number_value(json_object_get(object, "since")),
        .generation = json_take_number(object, "generation", 0, INT64_MAX),
        .replicas = json_take_number(object, "world", 0, TRAIN_SLOTS_MAX),
        .min = json_take_number(object, "min", 0, TRAIN_SLOTS_MAX),
        .max = json_take_number(object, "max", 0, TRAIN_SLOTS_MAX),
        .step = json_take_number(object, "step", 0, INT64_MAX),
        .rate = json_number_value(json_object_get(object, "steps_per_s")),
        .samples = json_number_value(json_object_get(object, "samples_per_s")),
        .stalled = json_number_value(json_object_get(object, "stalled_s")),
        .checkpoint = json_take_number(object, "checkpoint", 0, INT64_MAX),
        .checkpoint_step = json_take_number(object, "checkpoint_step", 0, INT64_MAX) - 1,
        .stored = json_take_number(object, "stored", 0, INT64_MAX),
        .dollars_per_hour = json_number_value(json_object_get(object, "dollars_per_hour")),
        .ray = json_take_text(object, "ray", arena),
        .gcs = json_take_text(object, "gcs", arena),
        .token = json_take_text(object, "token", arena),
    };
    read_slots(json_object_get(object, "slots"), arena, ret_view);
}

const char *train_view_phase(const struct train_view *view)
{
    static const char *const names[] = {
        [TRAIN_WAITING] = "waiting",     [TRAIN_RUNNING] = "training",   [TRAIN_SAVING] = "saving",
        [TRAIN_SETTLING] = "recovering", [TRAIN_SUCCEEDED] = "complete", [TRAIN_FAILED] = "failed",
        [TRAIN_STOPPED] = "stopped",
    };
    require(view->phase < ARRAY_LEN(names), "every phase has a name");
    return view->phase < TRAIN_SUCCEEDED && !view->is_running ? "interrupted" : names[view->phase];
}

/* ---- talking to a trainer ---- */

static bool ask_fail(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "the trainer of the job does not answer: %s",
                   strerror(errno));
}

/* Reads a line; empty if the trainer closes the connection. */
static bool read_answer(int fd, int64_t timeout_ms, struct buf *line, struct err *err)
{
    int64_t end = clock_monotonic_ms(&clock_of_machine) + timeout_ms;
    char piece[4096];
    while (line->len == 0 || line->ptr[line->len - 1] != '\n') {
        int64_t left = end - clock_monotonic_ms(&clock_of_machine);
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&waiting, 1, (int)(left < INT32_MAX ? left : INT32_MAX)) : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            errno = ETIMEDOUT;
            return ask_fail(err);
        }
        ssize_t size = ready > 0 ? read(fd, piece, sizeof(piece)) : -1;
        if (size == 0) {
            return true;
        }
        buf_add(line, (struct str){piece, size > 0 ? (size_t)size : 0});
        if (size < 0 || line->is_full) {
            return ask_fail(err);
        }
    }
    return true;
}

bool trainer_ask(const char *folder, const char *request, int64_t timeout_ms, json_t **ret_answer,
                 struct err *err)
{
    AUTO_BUF struct buf line;
    char path[PATH_BYTES];
    int fd;
    buf_init(&line, ANSWER_BYTES);
    *ret_answer = NULL;
    snprintf(path, sizeof(path), "%s/" TRAINER_SOCKET, folder);
    if (!line_socket_connect(path, &fd, err)) {
        return err_set(err, ERR_NOT_FOUND, "the job has no trainer");
    }
    buf_addf(&line, "{\"request\": \"%s\"}\n", request);
    bool is_sent = write(fd, line.ptr, line.len) == (ssize_t)line.len || ask_fail(err);
    line.len = 0;
    bool is_read = is_sent && read_answer(fd, timeout_ms, &line, err);
    close(fd);
    if (!is_read || line.len == 0) {
        return is_read;
    }
    return json_line_read(buf_str(&line), "the trainer's answer", ret_answer, err);
}

/* ---- a job ---- */

static bool read_record(const char *folder, json_t **ret_object, struct err *err)
{
    AUTO_BUF struct buf text;
    char path[PATH_BYTES];
    buf_init(&text, ANSWER_BYTES);
    snprintf(path, sizeof(path), "%s/job.json", folder);
    if (file_stat(path).kind == FILE_MISSING) {
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
    }
    return file_read_secret(path, &text, err) &&
           json_line_read(buf_str(&text), "the record of the job", ret_object, err);
}

bool train_view_of(const char *folder, struct str name, struct arena *arena,
                   struct train_view *ret_view, struct err *err)
{
    AUTO_BUF struct buf holder;
    char lock[PATH_BYTES];
    json_t *record;
    json_t *live = NULL;
    struct err ignored;
    buf_init(&holder, 256);
    if (!read_record(folder, &record, err)) {
        return false;
    }
    snprintf(lock, sizeof(lock), "%s/" TRAINER_LOCK, folder);
    bool is_running = lock_is_held(lock);
    struct str token = json_take_text(record, "token", arena);
    if (is_running && trainer_ask(folder, "status", STATUS_MS, &live, &ignored) && live) {
        train_view_read(live, arena, ret_view);
    } else {
        train_view_read(record, arena, ret_view);
    }
    if (is_running) {
        lock_holder(lock, &holder);
    }
    ret_view->token = token;
    ret_view->name = arena_str(arena, name);
    ret_view->is_running = is_running;
    ret_view->holder = arena_str(arena, buf_str(&holder));
    json_decref(record);
    json_decref(live);
    return true;
}
