/*
 * service_internal.h: struct service, shared by the files that implement it.
 *
 *     service.c            opening, acting, stopping
 *     service_config.c     handover, configuration, folder
 *     service_crashloop.c  a service that crashed too often
 *     service_idle.c, service_setup.c  (service_ray_internal.h) an idle cluster; worker setup
 *     service_ray.c        (service_ray_internal.h) passes the state of Ray to the core; drains
 *     service_death.c      (service_ray_internal.h) why nodes died in Ray
 *     service_report.c     reports to Ray, node types, messages for drivers
 *     service_events.c     writes events with their reasons (events.h)
 *     service_decision.c   the last decision, for status, explain, top and metrics
 *     service_status.c     the cluster as model/node_view.h and ctl.h describe it
 *     service_ctl.c        answers requests on the control socket
 *     service_reasons.c    the reasons of launches
 *     service_retention.c  removes logs and records of machines that are gone
 *     service_metrics.c    metrics for Prometheus
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "app/control/controller.h"
#include "app/core_setup.h"
#include "app/head/ctl/ctl.h"
#include "app/head/ctl/ctl_server.h"
#include "app/head/events.h"
#include "app/head/handover.h"
#include "app/head/metrics/metrics.h"
#include "app/head/ray/gcs_poller.h"
#include "app/head/ray/ray_view.h"
#include "app/head/service.h"
#include "app/head/service_ray_internal.h"
#include "app/head/workers/convergence.h"
#include "app/head/workers/setup_record.h"
#include "app/head/workers/worker_setup.h"
#include "app/idle_stop.h"
#include "app/model/cluster_status.h"
#include "app/retention.h"

#define LOG(service, level, ...) log_write(&(service)->session.log, LOG_LEVEL_##level, __VA_ARGS__)

enum service_exit {
    SERVICE_GOES_ON,
    SERVICE_STANDS_DOWN, /* on request; the supervisor exits too */
    SERVICE_ENDS,        /* shut down the machine */
    SERVICE_RESTART,     /* restart with a new handover */
};

struct service {
    struct arena arena;
    const char *folder;
    struct str program; /* path of our executable, which a newer version may replace */
    struct handover handover;
    struct config *config;
    struct cluster_state state;
    const char *identity;   /* private key for ssh to workers */
    const char *token_path; /* NULL if the file configures Ray's authentication */
    struct str ray_address;
    struct core_setup core;
    struct cloud_session session;
    struct journal *journal;
    struct provider *provider;
    struct controller *controller; /* NULL if frozen or if Ray's own autoscaler runs */
    struct worker_setups *setups;
    struct gcs_poller *ray;
    struct ctl_server *ctl_server;
    struct slots slots;
    struct loop_timer *again; /* reopens the controller after the lease was lost */
    struct loop_timer *guard; /* checks for Ray's own autoscaler */
    struct loop_timer *shortage;
    struct loop_timer *idle_look; /* checks whether the cluster is idle */
    bool has_drivers;             /* `drivers` is known */
    size_t drivers;               /* connected to Ray: running jobs */
    struct idle_stop idle_stop;
    struct loop_timer *prepare; /* prepares future launches */
    struct retention retention;
    struct loop_timer *tidy; /* removes files and records of machines that are gone */
    struct loop_timer *journal_look;
    bool was_journal_failing;
    struct loop_timer *late; /* retries setups that wait for the state of Ray */
    bool has_late;
    bool has_seen_ray; /* since the controller was opened */
    struct ray_view *mirror;
    struct drain_call *drains; /* drains in flight */
    struct deaths *deaths;     /* deaths whose cause Ray is asked for */
    struct reporter *reporter;
    struct event_log *event_log;
    struct last_decision *judgement;
    struct events *events;
    struct reasons *reasons;           /* of launches */
    bool is_requesting;                /* a client's resource request is in flight */
    bool is_asking_status;             /* a `ray status` request is in flight */
    int64_t status_asked_us;           /* wall clock */
    struct metrics metrics;            /* counters */
    struct metrics_site *metrics_site; /* the port that serves them */
    size_t ray_alive;                  /* alive nodes, including the head */
    bool is_head_alive;
    bool has_lost_ray;              /* Ray answered before and does not now */
    int64_t seen_wall_ms;           /* last answer; 0 if never */
    char ray_head[RAY_NODE_SIZE];   /* Ray's id of the living head; empty if none */
    char noted_head[RAY_NODE_SIZE]; /* ray_head as stored in the journal */
    char ray_before[RAY_NODE_SIZE]; /* ray_head before a handover that restarts Ray; else empty */
    uint64_t ray_mark;              /* ray_view_mark() when workers were last checked */
    struct setup_records pasts;
    struct resume
        *resume; /* restart of Ray on the head after a reboot (supervisor/service_supervisor.h) */
    struct contacts *contacts; /* with workers that are not in Ray */
    enum service_exit end;
    bool is_frozen;    /* only answers requests (supervise.h) */
    bool is_leading;   /* we hold the lease */
    bool is_ending;    /* terminating the workers, then this machine */
    int monitor_pid;   /* of Ray's own autoscaler; 0 if none */
    char old_ray[64];  /* version of a Ray that keeps its own autoscaler; else empty */
    char refusal[400]; /* who holds the lease, or why it cannot be taken */
    char launch_trouble[300];
    char past_refusal[100];    /* refusal of the last launch before this service; may be empty */
    int64_t launch_trouble_ms; /* monotonic; no launch has succeeded since; 0 if none failed */
    int64_t short_since_ms;    /* monotonic; too few workers and none pending since; 0 if not so */
};

/* ---- service_config.c ---- */

bool service_load(struct service *service, struct err *err) MUST_USE;
/* Does the file start Ray on the head with Ray's own autoscaler? */
bool service_has_monitor_option(const struct service *service);
/* Writes the handover's secret and key to the folder. */
bool service_keep_handover(struct service *service, struct err *err) MUST_USE;
/* Takes handover.json if it is newer than the one in force. An older one is an error. */
bool service_take_handover(struct service *service, bool *ret_is_new, struct err *err) MUST_USE;

/* ---- service.c ---- */

/* After service_load(), with an open session and provider: opens the rest and starts acting. */
bool service_open(struct service *service, struct err *err) MUST_USE;
/* Also closes a partly opened service. */
void service_close(struct service *service);
/* Terminates all workers, then shuts this machine down. */
bool service_terminate(struct service *service, struct err *err) MUST_USE;

/* ---- service_crashloop.c ---- */

/* Shows the reason in its status and waits for SIGHUP to restart. */
bool service_freeze(struct service *service, const char *last_end, struct err *err) MUST_USE;

/* ---- service_report.c ---- */

typedef void service_done_fn(struct service *service);

void service_open_report(struct service *service);
void service_close_report(struct service *service);
/* Schedules a report. service_report_reset(): the GCS may be new, report the node types too. */
void service_report_soon(struct service *service);
void service_report_reset(struct service *service);
void service_report_lost(struct service *service);
/* Sends an empty report, then calls `done`, after FAREWELL_MS at the latest. */
void service_report_farewell(struct service *service, service_done_fn *done);
/* A launch of that type failed (requested at `asked_ms`, wall clock), or succeeded. */
void service_report_failed(struct service *service, uint32_t type, int64_t count, int64_t asked_ms,
                           struct str reason);
void service_report_came(struct service *service, uint32_t type);
/* Prints "(autoscaler +9s) TEXT" in every driver. */
void service_tell_drivers(struct service *service, struct str text, bool is_warning);

/* ---- service_events.c ---- */

void service_open_events(struct service *service);
void service_close_events(struct service *service);
void service_decided(struct service *service, const struct core_answer *answer);
void service_log_changed(struct service *service, const struct managed_node *managed_node);
void service_log_joined(struct service *service, const struct managed_node *managed_node);
void service_log_drained(struct service *service, uint64_t instance, enum drain_answer answer,
                         struct str why);
/* Adds an event and notifies drivers, unless that was done recently. */
void service_log_infeasible(struct service *service, const struct pending_demand *demand);
/* A launch was refused; `what` starts with its number, as in the controller's message. */
void service_log_refused(struct service *service, struct str what);

/* ---- service_decision.c ---- */

void service_open_judgement(struct service *service);
void service_close_judgement(struct service *service);
/* The pending load, in memory of the Ray view until the next one; the decision about it. */
void service_note_load(struct service *service, const struct ray_load *load);
void service_judge(struct service *service, const struct core_answer *answer);
/* Requests that no node type could ever hold, as received from Ray. Adds an event for each. */
void service_infeasible(struct service *service, struct arena *arena, struct ray_report *report);
/* The most numerous pending requests, "9 x {CPU: 4}, 2 x {GPU: 1}"; may be empty. */
struct str service_load_text(const struct service *service, struct arena *arena);

/* The result is in `arena` or valid until control returns to the loop. */
void service_cluster_status(const struct service *service, struct arena *arena,
                            struct cluster_status *ret);

/* ---- service_status.c ---- */

/* The minimum number of workers, from the file. */
size_t service_wanted_workers(const struct service *service);
/* Does Ray's own autoscaler manage the workers? */
bool service_ray_scales(const struct service *service);

/* Texts are in `arena` or valid until control returns to the loop. */
void service_view(const struct service *service, const struct managed_node *managed_node,
                  struct arena *arena, struct node_view *ret_view);
/* Adds Ray's state of the node as of `seen_ms` (wall clock). */
void service_view_cluster_status(struct node_view *view, const struct node_usage *node,
                                 int64_t seen_ms);
/* Called periodically: are there too few workers and none pending? */
void service_note_shortage(struct service *service);
void service_status(const struct service *service, struct arena *arena,
                    struct ctl_status *ret_status);
struct str service_node_name(const struct managed_node *managed_node, struct arena *arena);
/* The text of REASON_NOTICE. */
struct str service_notice_text(const struct managed_node *managed_node);
/* Why a node is being terminated; empty if it is not. */
struct str service_reason(const struct node *node, struct arena *arena);
enum slot_state service_slot(const struct service *service,
                             const struct managed_node *managed_node);

/* ---- service_ctl.c ---- */

/* Sets the hooks for requests. */
void service_answers(struct ctl_server_hooks *hooks);
/* Fails requests whose call to Ray will not be answered. */
void service_answers_lost(struct service *service);

/* ---- service_retention.c ---- */

/* With the machine's id: the record of a worker's last setup (setup_record.h). */
#define WORKER_FACT "worker "
void service_open_tidy(struct service *service);
/* Removes logs, host keys and records of machines that have been gone for a day. */
void service_tidy(struct service *service, int64_t wall_ms);
/* Should it be removed, gone since then and with `newer` machines gone later? Pure. */
bool tidy_is_due(const struct retention *keep, int64_t gone_since_ms, size_t newer, int64_t now_ms);
/* "the journal cannot be written (disk full): no launches until space is free", or empty. */
struct str service_journal_text(const struct service *service, struct arena *arena);

/* ---- service_reasons.c ---- */

void service_open_reasons(struct service *service);
void service_close_reasons(struct service *service);
/* The reason of that launch; empty if no longer known. */
struct str service_why_launched(const struct service *service, uint64_t launch);
/* Would an immediate retry get the same answer? */
bool service_is_refusal(enum outcome outcome);
/* Sets `past_refusal` from the journal: launches of `up` or of an earlier service process. */
void service_note_past_refusal(struct service *service);
/* Why the cloud refuses launches; empty if unknown. */
const char *service_launch_trouble(const struct service *service);

/* ---- service_metrics.c ---- */

void service_open_metrics(struct service *service);
void service_close_metrics(struct service *service);
/* Registers the metrics address with Ray, after each connect. */
void service_metrics_tell(struct service *service);
void service_count_launch(struct service *service, enum outcome outcome, size_t count, size_t came,
                          int64_t took_ms);
void service_count_set_up(struct service *service, uint64_t instance, enum setup_news news);
