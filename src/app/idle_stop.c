/* idle_stop.c: measures how long the cluster has been idle. */
#include "app/idle_stop.h"

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

static bool idle_stop_is_idle(const struct idle_stop_view *view)
{
    return view->sees_ray && view->drivers == 0 && view->busy == 0 && view->waiting == 0 &&
           view->on_way == 0 && view->idle_ms >= 0;
}

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
