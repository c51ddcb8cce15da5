/*
 * trainer_ctl.c: what other commands ask a running trainer, and the lock of a job.
 *
 * The trainer listens on FOLDER/ctl.sock, which only this user can open. A request is one line:
 *
 *     {"request": "status"}  -> the state of the job, see train_view.h
 *     {"request": "stop"}    saves and ends the job; the connection closes when it has ended
 *     {"request": "store"}   -> {"stored": 1000000004}: the newest checkpoint is in FOLDER/kept
 *
 * An error is {"error": "..."}.
 */
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/xalloc.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LINE_BYTES = 1 << 20, LOCK_TRIES = 10, LOCK_PAUSE_MS = 100 };

/* ---- the lock ---- */

/* A trainer that was killed leaves a process that serves files; it ends a moment later. */
static bool lock_wait(const char *path, const char *holder, struct lock **ret_lock, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (lock_take(path, holder, ret_lock, err)) {
            return true;
        }
        if (err->kind != ERR_EXISTS) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

bool trainer_lock(const char *folder, const char *job, struct lock **ret_lock, struct err *err)
{
    AUTO_BUF struct buf other;
    char path[PATH_BYTES];
    char holder[64];
    buf_init(&other, 256);
    snprintf(path, sizeof(path), "%s/" TRAINER_LOCK, folder);
    snprintf(holder, sizeof(holder), "shoal train, pid %ld", (long)getpid());
    if (!file_make_private_folder(folder, err)) {
        return false;
    }
    if (lock_wait(path, holder, ret_lock, err)) {
        return true;
    }
    if (err->kind == ERR_EXISTS) {
        lock_holder(path, &other);
        err_set(err, ERR_EXISTS,
                "job %s is already running (%.*s). To see it: shoal train status %s. To end it: "
                "shoal train stop %s. To run a second job, give it another name with --name",
                job, STR_ARG(buf_str(&other)), job, job);
    }
    return false;
}

/* ---- requests ---- */

struct asker {
    struct trainer *trainer;
    struct line_link *link;
    struct asker *next; /* of all */
};

static void asker_free(struct asker *asker)
{
    struct trainer *trainer = asker->trainer;
    struct asker **place = &trainer->askers;
    while (*place != asker) {
        place = &(*place)->next;
    }
    *place = asker->next;
    trainer->storing = trainer->storing == asker ? NULL : trainer->storing;
    free(asker);
}

static void asker_answer(const struct asker *asker, json_t *answer)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES);
    json_put_out(answer, true, &line);
    if (!line.is_full) {
        line_link_write(asker->link, buf_str(&line));
    }
}

static void asker_refuse(const struct asker *asker, const char *text)
{
    json_t *answer = json_object();
    json_put_text(answer, "error", str_from(text));
    asker_answer(asker, answer);
}

static void answer_stored(struct trainer *trainer, const char *error)
{
    struct asker *asker = trainer->storing;
    json_t *answer = json_object();
    trainer->storing = NULL;
    json_put_number(answer, "stored", trainer->job.stored);
    json_put_text(answer, "error", str_from(error));
    if (asker) {
        asker_answer(asker, answer);
    } else {
        json_decref(answer);
    }
}

static void on_stored(void *context, const struct child_result *result)
{
    struct trainer *trainer = context;
    trainer->is_storing = false;
    if (!child_was_fine(result)) {
        answer_stored(trainer, result->err.text);
        return;
    }
    if (trainer->storing_number > trainer->job.stored) {
        trainer->job.stored = trainer->storing_number;
    }
    trainer_expire_kept(trainer);
    answer_stored(trainer, NULL); /* it can be copied, even if the record cannot be written */
}

static void asker_store(struct asker *asker)
{
    struct trainer *trainer = asker->trainer;
    if (trainer->is_storing || train_job_is_over(&trainer->job)) {
        asker_refuse(asker, "the trainer is storing a checkpoint; try again in a moment");
        return;
    }
    trainer->storing = asker;
    trainer->storing_number = trainer->job.checkpoint;
    trainer->is_storing = trainer_store(trainer, on_stored);
    if (!trainer->is_storing) { /* it has the newest, there is none, or no slot can send it */
        bool is_away = trainer->job.checkpoint > trainer->job.stored;
        answer_stored(trainer, is_away ? "no slot that has the newest one is connected; try again "
                                         "in a moment"
                                       : NULL);
    }
}

static void asker_on_line(void *context, struct str line)
{
    struct asker *asker = context;
    struct trainer *trainer = asker->trainer;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *object;
    struct err err;
    if (!json_line_read(line, "a request", &object, &err)) {
        asker_refuse(asker, err.text);
        return;
    }
    struct str request = json_take_text(object, "request", &arena);
    if (str_is(request, "status")) {
        asker_answer(asker, trainer_status(trainer));
    } else if (str_is(request, "stop")) {
        trainer_stop(trainer);
    } else if (str_is(request, "store")) {
        asker_store(asker);
    } else {
        asker_refuse(asker, "this release does not know the request");
    }
    json_decref(object);
}

static void asker_on_ended(void *context, const struct err *err)
{
    struct asker *asker = context;
    (void)err;
    line_link_close(asker->link);
    asker_free(asker);
}

static void trainer_on_asker(void *context, struct line_link *link)
{
    struct asker *asker = HEAP_NEW(struct asker);
    asker->trainer = context;
    asker->link = link;
    asker->next = asker->trainer->askers;
    asker->trainer->askers = asker;
    line_link_begin(link, &(struct line_link_hooks){
                              .context = asker, .line = asker_on_line, .ended = asker_on_ended});
}

/* Training works without it, for example if the path of the home directory is very long. */
void trainer_open_ctl(struct trainer *trainer)
{
    char path[PATH_BYTES];
    struct err err;
    snprintf(path, sizeof(path), "%s/" TRAINER_SOCKET, trainer->setup->folder);
    if (!line_server_open(trainer->loop, path, NULL, trainer_on_asker, trainer, &trainer->ctl,
                          &err)) {
        trainer_say(trainer, "shoal train status and stop will not reach this trainer: %s",
                    err.text);
    }
}

void trainer_close_ctl(struct trainer *trainer)
{
    line_server_close(trainer->ctl); /* hooks are not called any more */
    while (trainer->askers) {
        asker_free(trainer->askers);
    }
}
