/*
 * head_context.h: the cluster that this head runs, for the modules of the service.
 *
 * A module has its own state and its own header, and gets this context when it is opened. It reads
 * the context and calls what is open in it. Only the files named below write it.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "app/control/controller.h"
#include "app/core_setup.h"
#include "app/handover/handover.h"
#include "app/head/ctl/ctl_server.h"
#include "app/head/events.h"
#include "app/head/metrics/metrics.h"
#include "app/head/ray/gcs_poller.h"
#include "app/head/ray/ray_view.h"
#include "app/head/workers/setup_record.h"

#define LOG(head, level, ...) log_write(&(head)->session.log, LOG_LEVEL_##level, __VA_ARGS__)

/* Ray on the head, as of its last reply (service_ray.c). */
struct head_ray {
    struct gcs_poller *poller;
    struct ray_view *view;
    size_t alive;                  /* nodes, including the head */
    bool is_alive;                 /* the head's Ray */
    bool has_seen;                 /* since the controller was opened */
    bool has_lost;                 /* Ray answered before and does not now */
    int64_t seen_wall_ms;          /* last reply; 0 if none */
    char id[RAY_NODE_SIZE];        /* id of the living head; empty if none */
    char noted_id[RAY_NODE_SIZE];  /* the id stored in the journal */
    char id_before[RAY_NODE_SIZE]; /* the id before a handover that restarts Ray; else empty */
};

struct head_context {
    /* Constant after head_context_load(). */
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
    /* Open as long as the service (service.c). */
    struct cloud_session session;
    struct journal *journal;
    struct provider *provider;
    struct events *events;
    struct ctl_server *ctl_server;
    struct metrics metrics; /* counters */
    /* The state of the service (service_activity.c). */
    struct controller *controller; /* NULL if it is not acting */
    bool is_leading;               /* we hold the lease */
    bool is_ending;                /* terminating the workers, then this machine */
    struct head_ray ray;
};

/* ---- head_context.c ---- */

/* `folder` and `arena` are set. */
bool head_context_load(struct head_context *head, struct err *err) MUST_USE;
/* Takes handover.json if it is newer than the one in force. An older one is an error. */
bool head_context_take_handover(struct head_context *head, bool *ret_is_new,
                                struct err *err) MUST_USE;
/* Does the file start Ray on the head with Ray's own autoscaler? */
bool head_context_has_monitor_option(const struct head_context *head);
/* The minimum number of workers, from the file. */
size_t head_context_min_workers(const struct head_context *head);
/* "the journal cannot be written (disk full): no launches until space is free", or empty. */
struct str head_context_journal_text(const struct head_context *head, struct arena *arena);

/* ---- head_ray.c ---- */

/* Records Ray's id of the head for the next process of the service. */
void head_ray_note(struct head_context *head);
/* Records which Ray was running when a handover arrived, for the next process of the service. */
bool head_ray_note_before(struct head_context *head, int64_t serial, struct err *err) MUST_USE;
void head_ray_read_before(struct head_context *head);
/* The head's setup will restart Ray and has not done so yet. */
bool head_ray_is_restarting(const struct head_context *head);
/* Is this worker in Ray? */
bool head_ray_has(const struct head_context *head, uint64_t instance);
