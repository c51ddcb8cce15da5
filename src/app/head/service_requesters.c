/*
 * service_requesters.c: asks Ray for the actors that request capacity, then for the command line of
 * the Ray Train run that was found. A slow Ray delays the user's answer by at most two seconds.
 */
#include "app/head/service_requesters.h"

#include "base/utf8.h"

#include <string.h>

enum { ANSWER_MS = 2000 };

static void service_requesters_finish(struct requesters *requesters)
{
    requesters->is_asking = false;
    loop_timer_stop(requesters->timer);
    requesters->done(requesters->context);
}

static void service_requesters_on_timer(void *context)
{
    struct requesters *requesters = context;
    if (requesters->is_asking) {
        service_requesters_finish(requesters);
    }
}

static void keep_entrypoint(struct gcs_requesters *found, struct str entrypoint)
{
    AUTO_BUF struct buf line;
    buf_init(&line, sizeof(found->entrypoint));
    utf8_add_visible(&line, str_sub(entrypoint, 0, sizeof(found->entrypoint) / 2), false);
    struct str text = buf_str(&line);
    size_t len = text.len < sizeof(found->entrypoint) ? text.len : 0;
    memcpy(found->entrypoint, text.ptr, len);
    found->entrypoint[len] = '\0';
}

static void on_entrypoint(void *context, const struct gcs_answer *answer, struct str entrypoint)
{
    struct requesters *requesters = context;
    if (!requesters->is_asking) {
        return; /* too late */
    }
    if (answer->trouble == GCS_FINE) {
        keep_entrypoint(&requesters->found, entrypoint);
    }
    service_requesters_finish(requesters);
}

static void on_found(void *context, const struct gcs_answer *answer,
                     const struct gcs_requesters *found)
{
    struct requesters *requesters = context;
    struct gcs *gcs = gcs_poller_gcs(requesters->head->ray.poller);
    if (!requesters->is_asking) {
        return;
    }
    if (answer->trouble == GCS_FINE) {
        requesters->found = *found;
    }
    if (gcs && requesters->found.job[0] != '\0') {
        gcs_find_entrypoint(gcs, str_from(requesters->found.job), on_entrypoint, requesters);
    } else {
        service_requesters_finish(requesters);
    }
}

bool requesters_ask(struct requesters *requesters)
{
    struct gcs *gcs = gcs_poller_gcs(requesters->head->ray.poller);
    if (!requesters->is_asking && gcs) {
        requesters->is_asking = true;
        requesters->found = (struct gcs_requesters){0};
        loop_timer_start(requesters->timer, ANSWER_MS);
        gcs_find_requesters(gcs, on_found, requesters);
    }
    return requesters->is_asking;
}

void requesters_lost(struct requesters *requesters)
{
    if (requesters->is_asking) {
        service_requesters_finish(requesters);
    }
}

void requesters_open(struct requesters *requesters)
{
    requesters->timer = loop_timer_new(requesters->head->session.loop, service_requesters_on_timer,
                                       requesters);
}

struct str requesters_warning(const struct gcs_requesters *found, struct arena *arena)
{
    if (found->run_count > 0) {
        return arena_printf(arena,
                            "a Ray Train run is active (job %s). It uses the same single request "
                            "and replaces this one within about 20 s",
                            found->job);
    }
    return found->has_coordinator
               ? STR("Ray Train or Ray Data has run in this cluster. Both use the same single "
                     "request, through an actor that replaces this one within about 20 s, also "
                     "when no run is active")
               : STR("");
}
