/*
 * service_crashloop.c: a service that crashed repeatedly only answers requests.
 *
 * The machines are left as they are. A new handover restarts the service at once (service.c);
 * SIGHUP restarts it a moment later, because `shoal up` sends it before the handover.
 */
#include "app/head/service_internal.h"
#include "app/head/supervisor/supervise.h"

#include <signal.h>
#include <stdio.h>

enum { MOMENT_MS = 2000 };

static void service_crashloop_restart(void *context)
{
    struct service *service = context;
    service->end = SERVICE_RESTART;
    cloud_session_stop(&service->session);
}

static void service_crashloop_on_hangup(void *context, int number)
{
    struct service *service = context;
    (void)number;
    LOG(service, INFO, "acting again by request");
    loop_timer_start(loop_timer_new(service->session.loop, service_crashloop_restart, service),
                     MOMENT_MS);
}

bool service_freeze(struct service *service, const char *last_end, struct err *err)
{
    struct loop_signal *watch; /* freed by the loop */
    snprintf(service->refusal, sizeof(service->refusal),
             "the service died %d times within %d s (it %.100s): it now only answers requests and "
             "launches or terminates nothing until `shoal up`",
             SUPERVISE_DEATHS, SUPERVISE_WINDOW_MS / 1000, last_end);
    LOG(service, ERROR, "frozen: %s", service->refusal);
    return loop_signal_new(service->session.loop, SIGHUP, service_crashloop_on_hangup, service,
                           &watch, err);
}
