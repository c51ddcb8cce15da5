/*
 * service_crashloop.c: a service that crashed repeatedly only answers requests.
 *
 * The machines are left as they are. A new handover restarts the service at once (service.c);
 * SIGHUP restarts it a moment later, because `shoal up` sends it before the handover.
 */
#include "app/head/supervisor/service_crashloop.h"

#include "app/head/supervisor/supervise.h"

#include <signal.h>

enum { MOMENT_MS = 2000 };

static void service_crashloop_on_hangup(void *context, int number)
{
    struct loop_timer *restart = context;
    (void)number;
    loop_timer_start(restart, MOMENT_MS);
}

struct str crashloop_text(const char *last_end, struct arena *arena)
{
    return arena_printf(arena,
                        "the service died %d times within %d s (the last time, it %.100s); until "
                        "the next `shoal up`, it only answers requests and does not launch or "
                        "terminate nodes",
                        SUPERVISE_DEATHS, SUPERVISE_WINDOW_MS / 1000, last_end);
}

bool crashloop_wait(struct loop *loop, loop_fn *restart, void *context, struct err *err)
{
    struct loop_signal *watch; /* the loop frees it, like the timer */
    struct loop_timer *timer = loop_timer_new(loop, restart, context);
    return loop_signal_new(loop, SIGHUP, service_crashloop_on_hangup, timer, &watch, err);
}
