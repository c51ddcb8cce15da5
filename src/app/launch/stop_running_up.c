/*
 * stop_running_up.c: finds the process that holds the journal's lock, stops it and waits for the
 * lock.
 */
#include "app/launch/stop_running_up.h"

#include "app/program.h"
#include "io/lock.h"

#include <signal.h>
#include <sys/types.h>

enum { POLL_MS = 20, PATIENCE_MS = 15000, HOLDER_BYTES_MAX = 200 };

/* ---- the holder ---- */

/* The part of the holder after the pid: " of me@laptop". */
static struct str whose(struct str holder)
{
    size_t at = str_find(holder, " of ");
    return str_sub(holder, at, holder.len);
}

int64_t take_over_pid(struct str holder, struct str own_holder)
{
    const struct str before = STR("shoal up, pid ");
    struct str behind = whose(holder);
    int64_t pid = 0;
    if (!str_starts(holder, before.ptr) || behind.len == 0 || !str_eq(behind, whose(own_holder)) ||
        !str_to_i64(str_sub(holder, before.len, holder.len - behind.len), &pid)) {
        return 0;
    }
    return pid > 1 && pid <= INT32_MAX ? pid : 0;
}

/* ---- waiting ---- */

struct take_over {
    struct cluster_session *launch;
    const char *holder;
    struct loop_timer *timer;
    int64_t give_up_at;
    struct err err;
};

static void stop_running_up_try_again(void *context)
{
    struct take_over *self = context;
    struct cluster_session *launch = self->launch;
    if (journal_open(launch->state.folder, self->holder, &launch->journal, &self->err) ||
        self->err.kind != ERR_EXISTS || loop_now_ms(launch->session->loop) >= self->give_up_at) {
        cloud_session_stop(launch->session);
    } else {
        loop_timer_start(self->timer, POLL_MS);
    }
}

static bool wait_for_it(struct take_over *self, struct err *err)
{
    struct cluster_session *launch = self->launch;
    self->give_up_at = loop_now_ms(launch->session->loop) + PATIENCE_MS;
    self->timer = loop_timer_new(launch->session->loop, stop_running_up_try_again, self);
    loop_timer_start(self->timer, POLL_MS);
    bool ok = cloud_session_run(launch->session, err);
    loop_timer_free(self->timer);
    if (ok && !launch->journal) {
        *err = self->err;
        ok = false;
    }
    return ok;
}

bool take_over_journal(struct cluster_session *launch, const char *holder, struct err *err)
{
    struct take_over self = {.launch = launch, .holder = holder};
    const char *path = arena_printf(launch->arena, "%s/lock", launch->state.folder).ptr;
    AUTO_BUF struct buf other;
    buf_init(&other, HOLDER_BYTES_MAX);
    if (journal_open(launch->state.folder, holder, &launch->journal, err)) {
        return true;
    }
    if (err->kind != ERR_EXISTS) {
        return false;
    }
    lock_holder(path, &other);
    int64_t pid = take_over_pid(buf_str(&other), str_from(holder));
    /* Signal the process that now holds the lock, unless the text was left by an earlier holder. */
    if (pid == 0 || !program_is_same(pid) || kill((pid_t)pid, SIGTERM) != 0) {
        return false;
    }
    launch_note(launch, "`shoal up` is running for this cluster (pid %lld); asked it to stop",
                (long long)pid);
    return wait_for_it(&self, err);
}
