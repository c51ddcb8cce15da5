/*
 * service_internal.h: struct service, which connects the modules of the service on the head.
 *
 *     service.c         opens the modules; hooks of the controller and of worker setups
 *     service_ray.c     passes the state of Ray to the core, and ours to Ray; drains
 *     service_status.c  the nodes and the cluster as model/node_view.h and ctl.h describe them
 *     service_ctl.c     answers requests on the control socket
 *
 * Only these files include it. A module gets a struct head_context and the modules it uses; where
 * it needs an answer from the whole service, it has a hook.
 */
#pragma once

#include "app/head/head_context.h"
#include "app/head/head_watch.h"
#include "app/head/launch_failures.h"
#include "app/head/launch_reasons.h"
#include "app/head/mount_sync.h"
#include "app/head/service_activity.h"
#include "app/head/service_contact.h"
#include "app/head/service_death.h"
#include "app/head/service_decision.h"
#include "app/head/service_events.h"
#include "app/head/service_idle.h"
#include "app/head/service_metrics.h"
#include "app/head/service_prepare.h"
#include "app/head/service_prices.h"
#include "app/head/service_report.h"
#include "app/head/service_requesters.h"
#include "app/head/service_resume.h"
#include "app/head/service_retention.h"
#include "app/head/service_setup.h"
#include "app/head/service_shortage.h"
#include "app/head/training_demand.h"
#include "app/head/workers/convergence.h"
#include "app/head/workers/worker_setup.h"

/* Requests of clients that Ray has not answered yet. */
struct service_requests {
    bool is_requesting;    /* resources */
    bool is_requested;     /* accepted; the warning is being looked up */
    bool is_asking_status; /* the text of `ray status` */
    int64_t asked_us;      /* wall clock */
};

struct service {
    struct head_context head;
    struct head_watch head_watch;
    struct worker_records workers;
    struct worker_setups_setup setups_setup;
    struct worker_setups *setups;
    struct setup_scheduler *scheduler;
    struct mount_sync *mount_sync; /* NULL: not asked for */
    struct launch_reasons *reasons;
    struct launch_failures failures;
    struct last_decision *decision;
    struct event_log *event_log;
    struct reporter *reporter;
    struct drain_call *drains; /* in flight */
    struct deaths *deaths;
    struct idle_watch idle;
    struct requesters requesters;
    struct metrics_site *metrics_site;
    struct retention_task *retention;
    struct price_task *prices; /* NULL: nothing to ask */
    struct resume *resume;
    struct contacts *contacts;
    struct activity activity;
    struct shortage shortage;
    struct early_prepare prepare;
    struct service_requests requests;
    struct training_demand *training; /* heap */
};

/* ---- service.c ---- */

/* After head_context_load(), with an open session and provider: opens the rest and acts. */
bool service_open(struct service *service, struct err *err) MUST_USE;
/* The head's setup or its Ray has changed. */
void service_head_changed(void *service);
/* Also closes a partly opened service. */
void service_close(struct service *service);

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
/* For the reporter and idle_watch. */
void service_fill_report(void *service, struct arena *arena, struct ray_report *report);
struct idle_stop_view service_idle_view(void *service);

/* ---- service_status.c ---- */

/* Texts are in `arena` or valid until control returns to the loop. */
void service_view(const struct service *service, const struct managed_node *managed_node,
                  struct arena *arena, struct node_view *ret_view);
enum slot_state service_slot(const struct service *service,
                             const struct managed_node *managed_node);
/* Have all required workers joined, or are no more expected soon? */
bool service_is_settled(const void *service);
void service_status(const struct service *service, struct arena *arena,
                    struct ctl_status *ret_status);
/* All nodes, also failed workers whose machine is gone; or one, false if it is unknown. */
void service_view_all(void *service, struct arena *arena, ctl_server_view_fn *take, void *taker);
bool service_view_one(void *service, uint64_t instance, struct arena *arena,
                      struct node_view *ret_view);

/* ---- service_ctl.c ---- */

/* Sets the hooks for requests. */
void service_answers(struct ctl_server_hooks *hooks);
/* Answers the clients that waited for service->requesters. */
void service_answers_requesters(void *service);
/* Fails requests whose call to Ray will not be answered. */
void service_answers_lost(struct service *service);
/* For metrics_site. */
void service_fill_metrics(void *service, struct arena *arena, struct metrics_scene *scene);
