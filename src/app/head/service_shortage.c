/* service_shortage.c: checks periodically whether workers are missing and none is pending. */
#include "app/head/service_shortage.h"

#include "app/head/workers/convergence.h"
#include "base/require.h"

enum { CHECK_MS = 2000, LASTING_MS = 8 * 1000 };

static bool shortage_exists(const struct shortage *shortage)
{
    const struct head_context *head = shortage->head;
    return head->is_leading && head->ray.is_alive &&
           convergence_count(shortage->workers, CONVERGE_PENDING) == 0 &&
           !convergence_is_reached(shortage->workers, head_context_min_workers(head));
}

static void shortage_check(void *context)
{
    struct shortage *shortage = context;
    int64_t before = shortage->since_ms;
    if (!shortage_exists(shortage)) {
        shortage->since_ms = 0;
    } else if (shortage->since_ms == 0) {
        shortage->since_ms = loop_now_ms(shortage->head->session.loop);
    }
    require(shortage->since_ms <= loop_now_ms(shortage->head->session.loop),
            "a shortage began before now");
    if (before > 0 || shortage->since_ms > 0) {
        ctl_server_notify(shortage->head->ctl_server, INSTANCE_NONE);
    }
    loop_timer_start(shortage->timer, CHECK_MS);
}

void shortage_open(struct shortage *shortage)
{
    shortage->timer = loop_timer_new(shortage->head->session.loop, shortage_check, shortage);
    loop_timer_start(shortage->timer, CHECK_MS);
}

bool shortage_is_lasting(const struct shortage *shortage)
{
    return shortage->since_ms > 0 &&
           loop_now_ms(shortage->head->session.loop) - shortage->since_ms >= LASTING_MS;
}
