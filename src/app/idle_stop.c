/* idle_stop.c: measures how long the cluster has been idle. */
#include "app/idle_stop.h"

#include "config/workload/quantity.h"

enum {
    MINUTE_MS = 60 * 1000,
    USUAL_MINUTES = 60,
    LOOK_MS = 10 * 1000,
    MINUTES_MAX = 10 * 365 * 24 * 60
};

int64_t idle_stop_after(const struct value *shoal)
{
    const struct value *given = value_get_c(shoal, "idle_stop");
    double minutes = 0;
    if (!value_number(given, &minutes) || !(minutes > 0)) {
        return 0;
    }
    if (value_is(given, VALUE_BOOL)) {
        minutes = USUAL_MINUTES;
    }
    return (int64_t)((minutes < MINUTES_MAX ? minutes : MINUTES_MAX) * MINUTE_MS);
}

int64_t idle_terminate_after(const struct value *shoal)
{
    int64_t ms;
    struct str text = value_text(value_get_c(shoal, "idle_terminate"));
    return text.len > 0 && quantity_duration(text, &ms) ? ms / 1000 : 0;
}

/* ---- what keeps it running ---- */

static void idle_stop_add_count(struct buf *out, size_t count, const char *one, const char *many)
{
    if (count > 0) {
        buf_addf(out, "%s%zu %s", out->len > 0 ? ", " : "", count, count == 1 ? one : many);
    }
}

void idle_stop_add_reason(const struct idle_stop_view *view, struct buf *out)
{
    if (!view->sees_ray || view->idle_ms < 0) {
        buf_add_c(out, "an unknown state of Ray");
    }
    idle_stop_add_count(out, view->drivers, "connected driver", "connected drivers");
    idle_stop_add_count(out, view->busy, "busy node", "busy nodes");
    idle_stop_add_count(out, view->waiting, "kind of pending request", "kinds of pending requests");
    idle_stop_add_count(out, view->on_way, "node that starts or ends", "nodes that start or end");
    idle_stop_add_count(out, view->logins, "ssh session on the head", "ssh sessions on the head");
    idle_stop_add_count(out, view->editors, "process of a remote editor on the head",
                        "processes of a remote editor on the head");
    idle_stop_add_count(out, view->notebooks, "Jupyter server on the head",
                        "Jupyter servers on the head");
    idle_stop_add_count(out, view->gpus, "GPU in use on the head", "GPUs in use on the head");
}

static bool idle_stop_is_idle(const struct idle_stop_view *view)
{
    AUTO_BUF struct buf reason;
    buf_init(&reason, IDLE_STOP_REASON_BYTES_MAX);
    idle_stop_add_reason(view, &reason);
    return reason.len == 0;
}

/* A GPU without work shows 0; programs that only watch it cause a percent or two. */
size_t idle_stop_gpus(struct str output)
{
    enum { LEAST_PERCENT = 5 };
    size_t count = 0;
    while (output.len > 0) {
        int64_t percent;
        count += str_to_i64(str_trim(str_cut(&output, '\n')), &percent) && percent >= LEAST_PERCENT;
    }
    return count;
}

/* ---- when to stop ---- */

bool idle_stop_is_due(struct idle_stop *stop, const struct idle_stop_view *view, int64_t now_ms,
                      int64_t *ret_wait_ms)
{
    *ret_wait_ms = LOOK_MS;
    if (stop->after_ms == 0 || !idle_stop_is_idle(view)) {
        stop->idle_since_ms = 0;
        return false;
    }
    if (stop->idle_since_ms == 0) {
        stop->idle_since_ms = now_ms;
    }
    if (now_ms - view->idle_ms > stop->idle_since_ms) {
        stop->idle_since_ms = now_ms - view->idle_ms;
    }
    int64_t left = stop->after_ms - (now_ms - stop->idle_since_ms);
    if (left > 0) {
        *ret_wait_ms = left < LOOK_MS ? left : LOOK_MS;
    }
    return left <= 0;
}
