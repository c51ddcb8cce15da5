/* service_ray_internal.h: the parts of the service that follow Ray and set up workers. */
#pragma once

#include "app/control/controller.h"
#include "app/idle_stop.h"
#include "ray/gcs.h"

struct service;

/* ---- service_ray.c ---- */

void service_open_ray(struct service *service);
void service_close_ray(struct service *service);
/* The controller has started, or was closed. */
void service_ray_begin(struct service *service);
void service_ray_end(struct service *service);
/* Polls Ray more often while a node is expected to join. */
void service_expect_ray(struct service *service);
void service_drain(struct service *service, const struct managed_node *managed_node,
                   const struct action *action);

/* An error is not consent. Pure, as the next one. */
enum drain_answer service_drain_meaning(const struct gcs_answer *answer, bool is_accepted);
struct gcs_drain service_drain_request(const struct action *action, struct str node, int64_t now_ms,
                                       int64_t wall_ms, struct arena *arena);
/* Handles a complete reply of the GCS (gcs_poller.h), or a GCS that was replaced. */
bool service_ray_seen(void *service, struct str bytes, int64_t asked_at_ms, struct err *err);
void service_ray_replaced(void *service);

/* ---- service_death.c ---- */

void service_open_deaths(struct service *service);
void service_close_deaths(struct service *service);
/* True if the death is reported to the core later, when Ray has given its cause. */
bool service_hold_death(struct service *service, uint64_t instance);
/* Drops a held death because newer state is known. */
bool service_drop_death(struct service *service, uint64_t instance);
/* Asks Ray for the cause of the held deaths, unless a request is in flight. */
void service_ask_deaths(struct service *service);
/* Handles Ray's answer for the first `asked` held deaths. */
void service_hear_deaths(struct service *service, size_t asked, const struct gcs_node *nodes,
                         size_t count);
/* The GCS will not answer: reports the held deaths. The controller was closed: drops them. */
void service_deaths_lost(struct service *service);
void service_forget_deaths(struct service *service);

/* ---- service_idle.c ---- */

void service_open_idle(struct service *service);
/* The view without the number of drivers. */
struct idle_stop_view service_idle_view(const struct service *service);
/* Handles the number of connected drivers. */
void service_hear_drivers(void *service, const struct gcs_answer *answer, size_t count);

/* ---- service_setup.c ---- */

/* The core requests a setup. */
void service_set_up(struct service *service, const struct managed_node *managed_node);
/* Retries setups that were requested too early. */
void service_set_up_late(struct service *service);
void service_set_up_news(struct service *service, uint64_t instance, enum setup_news news);
/* A setup failed. True if its Ray on the head is being replaced; then it is repeated. */
bool service_set_up_outdated(struct service *service, uint64_t instance);
/* Repeats setups of workers whose configuration changed or whose head's Ray was replaced. */
void service_update(struct service *service);
/* Has a worker that started Ray not joined for too long? */
bool service_is_rejoin_due(const struct service *service);
/* Ray reports the node dead. True if only restored GCS tables had it; then it is set up again. */
bool service_lost_restored(struct service *service, uint64_t instance);
/* Had it joined the current Ray, according to the journal? */
bool service_had_joined(struct service *service, uint64_t instance);
bool service_is_updating(const struct service *service, uint64_t instance, bool *ret_keeps_ray);
/* The head's setup will restart Ray and has not done so yet. */
bool service_waits_for_ray(const struct service *service);
/* Records which Ray was running when a handover arrived, for the next process of the service. */
bool service_note_before(struct service *service, int64_t serial, struct err *err) MUST_USE;
/* Records Ray's id of the head for the next process of the service. */
void service_note_head(struct service *service);
void service_read_before(struct service *service);
void service_tag(struct service *service, uint64_t instance, struct str status);
