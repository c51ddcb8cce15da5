/*
 * service_parts.h: the service from inside; shared by the files that make it up.
 *
 *     service.c        opening, acting, ending
 *     service_load.c   what it is told: handover, configuration, folder
 *     service_frozen.c one that died too often
 *     service_idle.c   the whole cluster rests when it has nothing to do
 *     service_update.c set-ups of workers, first ones and later ones
 *     service_ray.c    what Ray says, told to the core; drains
 *     service_report.c what Ray is told: reports, types, lines for drivers
 *     service_happen.c what happens, written down in words (events.h)
 *     service_insight.c what is known beyond machines, for status, explain, top and metrics
 *     service_view.c   the cluster in the words of view.h and ctl.h
 *     service_answer.c what guests ask
 *     service_reasons.c what launches were for
 *     service_metrics.c what Prometheus asks
 *     desk.c           who asks and who follows, on the control socket
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "app/control/controller.h"
#include "app/core_setup.h"
#include "app/head/channel/ctl.h"
#include "app/head/channel/desk.h"
#include "app/head/events.h"
#include "app/head/handover.h"
#include "app/head/insight.h"
#include "app/head/metrics/metrics.h"
#include "app/head/ray/ray_mirror.h"
#include "app/head/ray/ray_watch.h"
#include "app/head/service.h"
#include "app/head/workers/slots.h"
#include "app/head/workers/worker_past.h"
#include "app/head/workers/worker_setup.h"
#include "app/idle_stop.h"

#define LOG(service, level, ...) log_write(&(service)->session.log, LOG_LEVEL_##level, __VA_ARGS__)

enum service_end {
    SERVICE_GOES_ON,
    SERVICE_STANDS_DOWN, /* told to; the supervisor ends as well */
    SERVICE_ENDS,        /* the machine is switched off */
    SERVICE_AGAIN,       /* there is a new handover: begin anew with it */
};

struct service {
    struct arena arena;
    const char *folder;
    struct str program; /* ours, by path: a newer one may lie there when we begin anew */
    struct handover handover;
    struct config *config;
    struct cluster_state state;
    const char *identity;   /* the key that workers let in */
    const char *token_path; /* NULL: the file says how Ray authenticates */
    struct str ray_address;
    struct core_setup core;
    struct cloud_session session;
    struct journal *journal;
    struct provider *provider;
    struct controller *controller; /* NULL: somebody else acts */
    struct worker_setups *setups;
    struct ray_watch *ray;
    struct desk *desk;
    struct slots slots;
    struct loop_timer *again; /* tries to act again */
    struct loop_timer *guard; /* looks for Ray's own autoscaler */
    struct loop_timer *shortage;
    struct loop_timer *idle_look; /* may the whole cluster rest? */
    struct idle_stop idle_stop;
    struct loop_timer *prepare; /* for launches to come */
    struct loop_timer *late;    /* set-ups wait for what Ray says */
    bool has_late;
    bool has_seen_ray; /* since this core listens */
    struct ray_mirror *mirror;
    struct drain_call *drains; /* that raylets were asked for */
    struct reporter *reporter;
    struct happenings *happenings;
    struct judgement *judgement; /* the last decision */
    struct events *events;
    struct reasons *reasons;           /* of launches */
    bool is_requesting;                /* Ray is asked for resources, by a guest */
    bool is_asking_status;             /* Ray is asked what `ray status` asks */
    int64_t status_asked_us;           /* wall clock */
    struct metrics metrics;            /* what was counted */
    struct metrics_site *metrics_site; /* where it is told */
    size_t ray_alive;                  /* nodes, the head included */
    bool is_head_alive;
    bool has_lost_ray;              /* it answered, and does not */
    int64_t seen_wall_ms;           /* it answered last; 0: never */
    char ray_head[RAY_NODE_SIZE];   /* Ray's id of the head that lives; empty: none does */
    char ray_before[RAY_NODE_SIZE]; /* when the handover came that starts it anew; empty: none */
    uint64_t ray_mark;              /* who lived in Ray when workers were last looked at */
    struct worker_pasts pasts;
    enum service_end end;
    bool is_frozen;    /* it only answers (supervise.h) */
    bool is_leading;   /* the lease is ours */
    bool is_ending;    /* the workers, then this machine */
    int monitor_pid;   /* of Ray's own autoscaler; 0: none */
    char old_ray[64];  /* the version of a Ray that is left its own autoscaler; empty: it is not */
    char refusal[300]; /* who has the lease */
    char launch_trouble[300];
    int64_t launch_trouble_ms; /* monotonic: since then no launch went well; 0: none failed */
    int64_t short_since_ms;    /* monotonic: nothing on its way, and fewer than wanted; 0: not so */
};

/* ---- service_load.c ---- */

bool service_load(struct service *service, struct err *err) MUST_USE;
/* Was Ray on the head to be started with its own autoscaler, by the file? */
bool service_has_monitor_option(const struct service *service);
/* Puts what only the handover has where it is looked for. */
bool service_keep_handover(struct service *service, struct err *err) MUST_USE;
bool service_read_handover(struct service *service, struct arena *arena,
                           struct handover *ret_handover, struct err *err) MUST_USE;

/* ---- service.c ---- */

/* All workers end, then this machine is switched off. */
bool service_end(struct service *service, struct err *err) MUST_USE;

/* ---- service_idle.c ---- */

void service_open_idle(struct service *service);

/* ---- service_frozen.c ---- */

/* Says why in its status, and waits for SIGHUP to begin anew. */
bool service_freeze(struct service *service, const char *last_end, struct err *err) MUST_USE;

/* ---- service_update.c ---- */

/* The core asks for it. */
void service_set_up(struct service *service, const struct controlled *controlled);
/* Those for which it was too early. */
void service_set_up_late(struct service *service);
void service_set_up_news(struct service *service, uint64_t instance, enum setup_news news);
/* Sets those up again of which something else is wanted now, or whose head's Ray is a new one. */
void service_update(struct service *service);
/* Was it in the Ray of today, as an earlier process has written down? */
bool service_had_joined(struct service *service, uint64_t instance);
bool service_is_updating(const struct service *service, uint64_t instance, bool *ret_keeps_ray);
/* The head's steps will start Ray anew, and have not yet. */
bool service_waits_for_ray(const struct service *service);
/* Which Ray there was when a handover came: written down for the process that comes after. */
void service_note_before(struct service *service, int64_t serial);
void service_read_before(struct service *service);
void service_tag(struct service *service, uint64_t instance, struct str status);

/* ---- service_ray.c ---- */

void service_open_ray(struct service *service);
void service_close_ray(struct service *service);
/* A core listens from now on, or not any more. */
void service_ray_begin(struct service *service);
void service_ray_end(struct service *service);
/* Is somebody to join soon? */
void service_expect_ray(struct service *service);
void service_drain(struct service *service, const struct controlled *controlled,
                   const struct action *action);

/* ---- service_report.c ---- */

typedef void service_done_fn(struct service *service);

void service_open_report(struct service *service);
void service_close_report(struct service *service);
/* Something has changed that a report tells of; another Ray is there, which knows nothing yet. */
void service_report_soon(struct service *service);
void service_report_anew(struct service *service);
void service_report_lost(struct service *service);
/* An empty report, then `done`: soon in any case. */
void service_report_farewell(struct service *service, service_done_fn *done);
/* A launch of that type failed (asked for then, by the wall clock), or went well. */
void service_report_failed(struct service *service, uint32_t type, int64_t count, int64_t asked_ms,
                           struct str reason);
void service_report_came(struct service *service, uint32_t type);
/* "(autoscaler +9s) TEXT" for every driver. */
void service_tell_drivers(struct service *service, struct str text, bool is_warning);

/* ---- service_happen.c: events, and what drivers are told of them ---- */

void service_open_happenings(struct service *service);
void service_close_happenings(struct service *service);
void service_decided(struct service *service, const struct core_answer *answer);
void service_happen_changed(struct service *service, const struct controlled *controlled);
void service_happen_joined(struct service *service, const struct controlled *controlled);
void service_happen_drained(struct service *service, uint64_t instance, enum drain_answer answer,
                            struct str why);
/* Written down and told to drivers, unless it was lately. */
void service_happen_infeasible(struct service *service, const struct insight_demand *demand);
/* A launch did not go well; `what` begins with its number, as the controller tells it. */
void service_happen_refused(struct service *service, struct str what);

/* ---- service_insight.c ---- */

void service_open_judgement(struct service *service);
void service_close_judgement(struct service *service);
/* What waits, in the mirror's memory until it is told anew; what was decided about it. */
void service_note_load(struct service *service, const struct ray_load *load);
void service_judge(struct service *service, const struct core_answer *answer);
/* Requests that no type could ever take, as Ray gave them; they are noted as having happened. */
void service_infeasible(struct service *service, struct arena *arena, struct ray_report *report);
/* The most numerous of what waits: "9 x {CPU: 4}, 2 x {GPU: 1}"; empty: nothing. */
struct str service_load_words(const struct service *service, struct arena *arena);

/* Everything in it lives in `arena`, or as long as the loop does not go on. */
void service_insight(const struct service *service, struct arena *arena, struct insight *ret);

/* ---- service_view.c ---- */

/* As many as there are in any case, by the file. */
size_t service_wanted_workers(const struct service *service);
/* Ray's own autoscaler keeps the workers. */
bool service_is_rays(const struct service *service);

/* Texts live in `arena` or as long as the loop does not go on. */
void service_view(const struct service *service, const struct controlled *controlled,
                  struct arena *arena, struct node_view *ret_view);
/* What Ray says of it, as of then (wall clock). */
void service_view_insight(struct node_view *view, const struct insight_node *node, int64_t seen_ms);
/* Looked at now and then: is there less than wanted, and nothing on its way? */
void service_note_shortage(struct service *service);
void service_status(const struct service *service, struct arena *arena,
                    struct ctl_status *ret_status);
struct str service_node_name(const struct controlled *controlled, struct arena *arena);
/* Why a node ends; empty: it does not. */
struct str service_reason(const struct node *node, struct arena *arena);
enum slot_state service_slot(const struct service *service, const struct controlled *controlled);

/* ---- service_answer.c ---- */

/* Sets the hooks of those who ask. */
void service_answers(struct desk_hooks *hooks);
/* Calls of Ray that are under way will never be answered. */
void service_answers_lost(struct service *service);

/* ---- service_reasons.c ---- */

void service_open_reasons(struct service *service);
void service_close_reasons(struct service *service);
/* What that launch was for, in words; empty: not known any more. */
struct str service_why_launched(const struct service *service, uint64_t launch);

/* ---- service_metrics.c ---- */

void service_open_metrics(struct service *service);
void service_close_metrics(struct service *service);
/* Ray answers, perhaps another one: where the metrics are is told to it. */
void service_metrics_tell(struct service *service);
void service_count_launch(struct service *service, enum outcome outcome, size_t count, size_t came,
                          int64_t took_ms);
void service_count_set_up(struct service *service, uint64_t instance, enum setup_news news);
