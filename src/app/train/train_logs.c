/* train_logs.c: lists the Ray jobs of the slots, and reads their logs one after the other. */
#include "app/train/train_logs.h"

#include "app/train/trainer.h"
#include "io/http.h"
#include "io/loop.h"
#include "ray/gcs_access.h"
#include "ray/jobs.h"

#include <signal.h>
#include <string.h>

enum { ROUND_MS = 1000, SLOTS_MAX = 1024 };

struct slot_log {
    uint32_t slot;
    int64_t rank;
    size_t shown; /* bytes */
};

struct logs {
    const struct train_logs_setup *setup;
    struct arena arena;
    struct loop *loop;
    struct http *http;
    struct jobs *jobs;
    struct loop_timer *timer;
    struct loop_signal *interrupt;
    struct train_view view;
    struct arena views[2]; /* of the view, and for the next one */
    size_t turn;           /* the one of the view */
    struct str prefix;
    struct slot_log slots[SLOTS_MAX];
    size_t count, next;
    size_t read; /* slots whose output Ray had, in this round */
    struct err err;
    struct err missing; /* why Ray has no output of a slot */
};

static void logs_end(struct logs *logs, const struct err *err)
{
    if (err) {
        logs->err = *err;
    }
    loop_stop(logs->loop);
}

/* ---- a round ---- */

/* Nothing more is printed after this round. */
static bool logs_is_last(const struct logs *logs)
{
    return !logs->setup->follows || (logs->view.phase >= TRAIN_SUCCEEDED && !logs->view.is_running);
}

static void logs_next(struct logs *logs);

static void on_log(void *context, struct str text, const struct err *err)
{
    struct logs *logs = context;
    struct slot_log *slot = &logs->slots[logs->next++];
    struct str news = str_sub(text, slot->shown, text.len);
    while (!logs_is_last(logs) && news.len > 0 && news.ptr[news.len - 1] != '\n') {
        news.len--; /* the rest of the line comes later */
    }
    if (err) {
        logs->missing = *err;
    }
    logs->read += err == NULL;
    if (news.len > 0) {
        slot->shown += news.len;
        logs->setup->text(logs->setup->context, slot->slot, slot->rank, news);
    }
    logs_next(logs);
}

static void logs_next(struct logs *logs)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    if (logs->next < logs->count) {
        struct str id = arena_printf(&arena, "%.*s%u", STR_ARG(logs->prefix),
                                     logs->slots[logs->next].slot);
        jobs_logs(logs->jobs, id, on_log, logs);
    } else if (!logs_is_last(logs)) {
        loop_timer_start(logs->timer, ROUND_MS);
    } else { /* nodes may be gone, but not all */
        logs_end(logs, logs->read == 0 ? &logs->missing : NULL);
    }
}

static int64_t rank_of(const struct logs *logs, uint32_t slot)
{
    for (size_t i = 0; i < logs->view.slot_count && logs->view.is_running; i++) {
        if (logs->view.slots[i].id == slot) {
            return logs->view.slots[i].rank;
        }
    }
    return -1;
}

static void note_slot(struct logs *logs, uint32_t slot)
{
    int64_t rank = rank_of(logs, slot);
    if (logs->setup->rank >= 0 && rank != logs->setup->rank) {
        return;
    }
    for (size_t i = 0; i < logs->count; i++) {
        if (logs->slots[i].slot == slot) {
            logs->slots[i].rank = rank;
            return;
        }
    }
    if (logs->count < SLOTS_MAX) {
        logs->slots[logs->count++] = (struct slot_log){slot, rank, 0};
    }
}

static void on_list(void *context, const struct jobs_list *list, const struct err *err)
{
    struct logs *logs = context;
    struct err none;
    if (err) {
        logs_end(logs, err);
        return;
    }
    for (size_t i = list->count; i > 0; i--) { /* Ray lists the newest first */
        struct str id = list->jobs[i - 1].submission_id;
        uint32_t slot;
        if (str_to_u32(str_sub(id, logs->prefix.len, id.len), &slot)) {
            note_slot(logs, slot);
        }
    }
    if (logs->count == 0 && logs_is_last(logs)) {
        err_set(&none, ERR_NOT_FOUND,
                logs->setup->rank >= 0
                    ? "no slot of job %s has rank %lld now; shoal train status shows the ranks"
                    : "Ray has no logs of job %s any more",
                logs->setup->job, (long long)logs->setup->rank);
        logs_end(logs, &none);
        return;
    }
    logs->next = logs->read = 0;
    logs_next(logs);
}

static void logs_round(void *context)
{
    struct logs *logs = context;
    struct err ignored; /* the ranks of the last round are used */
    struct train_view view;
    size_t other = 1 - logs->turn;
    arena_clear(&logs->views[other]);
    if (train_view_of(logs->setup->folder, str_from(logs->setup->job), &logs->views[other], &view,
                      &ignored)) {
        logs->view = view;
        logs->turn = other;
    }
    jobs_list(logs->jobs, logs->prefix, on_list, logs);
}

/* ---- opening ---- */

static void logs_on_signal(void *context, int number)
{
    (void)number;
    logs_end(context, NULL);
}

static bool logs_open(struct logs *logs, struct err *err)
{
    char server[JOBS_SERVER_SIZE];
    struct gcs_setup gcs = {0};
    struct arena secrets;
    arena_init_secret(&secrets);
    const struct train_view *view = &logs->view;
    struct gcs_access access = gcs_access_find(view->gcs.ptr, &secrets);
    bool is_open = jobs_address_parse(view->ray, server, err) &&
                   gcs_access_apply(&access, view->gcs.ptr, &secrets, &gcs, err) &&
                   loop_open(&clock_of_machine, &logs->loop, err) &&
                   http_open(logs->loop, &(struct http_limits){0}, &logs->http, err) &&
                   loop_signal_new(logs->loop, SIGINT, logs_on_signal, logs, &logs->interrupt, err);
    if (is_open) {
        logs->jobs = jobs_open(&(struct jobs_setup){
            .http = logs->http, .server = server, .token = gcs.token, .is_direct = true});
        logs->timer = loop_timer_new(logs->loop, logs_round, logs);
    }
    arena_clear(&secrets);
    return is_open;
}

static void logs_close(struct logs *logs)
{
    if (logs->jobs) {
        jobs_close(logs->jobs);
        loop_timer_free(logs->timer);
    }
    if (logs->http) {
        http_close(logs->http);
    }
    if (logs->loop) {
        loop_signal_free(logs->interrupt);
        loop_close(logs->loop);
    }
    arena_clear(&logs->arena);
    arena_clear(&logs->views[0]);
    arena_clear(&logs->views[1]);
}

bool train_logs_run(const struct train_logs_setup *setup, struct err *err)
{
    static struct logs logs; /* large; one thread */
    logs = (struct logs){.setup = setup};
    arena_init(&logs.arena);
    arena_init(&logs.views[0]);
    arena_init(&logs.views[1]);
    bool is_open = train_view_of(setup->folder, str_from(setup->job), &logs.views[0], &logs.view,
                                 err) &&
                   logs_open(&logs, err);
    if (is_open) {
        logs.prefix = trainer_slot_prefix(setup->job, logs.view.token, &logs.arena);
        loop_timer_start(logs.timer, 0);
        loop_run(logs.loop);
    }
    logs_close(&logs);
    if (logs.err.kind != ERR_NONE) {
        *err = logs.err;
    }
    return is_open && logs.err.kind == ERR_NONE;
}
