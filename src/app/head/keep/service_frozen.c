/*
 * service_frozen.c: a service that died again and again answers and does nothing.
 *
 * Whatever it died of, the machines stay as they are. A new handover begins anew at once (desk);
 * SIGHUP does so a moment later, because `shoal up` sends it before it brings the handover.
 */
#include "app/head/keep/supervise.h"
#include "app/head/service_parts.h"

#include <signal.h>
#include <stdio.h>

enum { MOMENT_MS = 2000 };

static void begin_anew(void *context)
{
    struct service *service = context;
    service->end = SERVICE_AGAIN;
    cloud_session_stop(&service->session);
}

static void on_hangup(void *context, int number)
{
    struct service *service = context;
    (void)number;
    LOG(service, INFO, "told to act again");
    loop_timer_start(loop_timer_new(service->session.loop, begin_anew, service), MOMENT_MS);
}

bool service_freeze(struct service *service, const char *last_end, struct err *err)
{
    struct loop_signal *watch; /* the loop frees it */
    snprintf(service->refusal, sizeof(service->refusal),
             "the service died %d times within %d s (it %.100s): it only answers, and nothing is "
             "launched or ended, until `shoal up`",
             SUPERVISE_DEATHS, SUPERVISE_WINDOW_MS / 1000, last_end);
    LOG(service, ERROR, "frozen: %s", service->refusal);
    return loop_signal_new(service->session.loop, SIGHUP, on_hangup, service, &watch, err);
}
