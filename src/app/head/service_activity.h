/*
 * service_activity.h: whether the service manages the cluster, and how it stops.
 *
 * It is active with an open controller that holds the lease. It is standby while another process
 * holds the lease or Ray's own autoscaler runs. It is frozen after too many crashes. This module
 * opens and closes the controller; what the controller reports goes to the owner's hooks.
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/head/head_context.h"
#include "app/head/ray_autoscaler.h"
#include "app/head/service_exit.h"
#include "app/head/service_report.h"

struct activity {
    /* Set by the owner. */
    struct head_context *head;
    struct reporter *reporter;
    struct controller_hooks hooks; /* call activity_acquired(), _lost(), _emptied(), _refused() */
    loop_fn *stopped;              /* the controller was closed; with the context of `hooks` */
    /* Read by others. */
    struct ray_autoscaler ray_autoscaler;
    char refusal[400];     /* who holds the lease, or why it cannot be taken; may be empty */
    enum service_exit end; /* after the session stopped */
    /* Its own. */
    struct loop_timer *again; /* reopens the controller after the lease was lost */
    struct loop_timer *guard; /* checks for Ray's own autoscaler */
    bool is_noting;           /* the time of the stop is being written to a tag */
    bool is_frozen;           /* only answers requests (supervise.h) */
};

/* Is the cluster being terminated, according to the journal? Sets `is_ending`. */
bool activity_read_goal(struct head_context *head, struct err *err) MUST_USE;
/* The timers belong to the loop. */
void activity_open(struct activity *activity);
/* Opens the controller, unless Ray's own autoscaler runs. With `last_end` (how the last process
 * crashed; NULL if it did not crash too often) it is frozen, until SIGHUP restarts the process. */
bool activity_begin(struct activity *activity, const char *last_end, struct err *err) MUST_USE;
/* Closes the controller. May be called at any time, also before activity_open(). */
void activity_stop(struct activity *activity);
/* After a signal, for example from systemd: clears our report, which Ray would show forever. */
void activity_farewell(struct activity *activity);

/* ---- reports of the controller ---- */

void activity_acquired(struct activity *activity, const struct cluster_lease *lease);
void activity_lost(struct activity *activity, const struct cluster_lease *lease);
/* A call failed before the lease was acquired. */
void activity_refused(struct activity *activity, struct str why);
void activity_emptied(struct activity *activity);
/* Ray on the head answers again, or no longer: a new Ray may have its own autoscaler. */
void activity_check(struct activity *activity);

/* ---- how it stops ---- */

/* Terminates all workers, then shuts this machine down. Noted in the journal, so that a restarted
 * service continues. */
bool activity_terminate(struct activity *activity, struct err *err) MUST_USE;
/* Releases the lease and stops. True if the request is answered later. */
bool activity_release(struct activity *activity);
/* The process restarts. */
void activity_restart(struct activity *activity);

/* ---- for the status ---- */

enum autoscaler_state activity_state(const struct activity *activity);
/* Why it is not active; may be empty. */
struct str activity_message(const struct activity *activity, struct arena *arena);
