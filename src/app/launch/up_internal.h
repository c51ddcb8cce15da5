/* up_internal.h: state of one `up`, shared by the up*.c files. */
#pragma once

#include "app/launch/cluster_session.h"
#include "app/launch/head_launch.h"
#include "app/launch/head_plan.h"
#include "app/launch/head_setup.h"

struct up {
    struct cluster_session launch;
    struct head_launch *head_launch;
    struct head_setup *head_setup;
    struct ctl_client *ctl;
    struct loop_timer *again; /* reconnects the control channel */
    int64_t again_ms;
    struct loop_timer *wait_note; /* reports what `up` is waiting for */
    char waits_for[500];          /* text of the service */
    int64_t no_lease_since_ms;    /* the service has been without the lease since; 0 if it has it */
    int64_t no_answer_since_ms;   /* the head has not answered since; 0 if it does */
    struct node_view head;
    struct str head_id, head_private_ip, head_public_ip, head_address;
    uint64_t head_number; /* launch number */
    struct str uid;
    uint64_t epoch;
    int64_t service_until; /* end of the lease of the head's service, as it was read */
    int64_t serial;
    bool is_surveyed; /* the preflight found no error */
    bool has_asked_owner;
    struct err owner_failure;
    bool has_records;           /* the journal is ours */
    enum preflight_scope scope; /* of the last preflight */
    bool is_update;             /* the head's service holds the lease */
    bool is_role_done;          /* the role of the head was written, or may not be */
    bool is_role_old;           /* it may not be: the next `up` tries again */
    bool is_keyless;            /* this machine had no key of the cluster when `up` began */
    bool is_others;             /* another machine set the cluster up and has its key */
    bool has_begun;             /* resources may have been created */
    bool has_head;              /* launched or found */
    bool is_released;           /* the lease was handed over */
    bool is_given_back;         /* the lease was released, because the service does not take it */
    bool is_head_done;          /* all steps of the head are done */
    bool is_head_in_ray;        /* the service reported the head in Ray */
    bool waits_for_key;         /* the head's host key, from the cloud */
    bool is_tagging;
    bool had_failed;     /* the tag of the head says so: `ls` must not show it after this `up` */
    struct err head_err; /* why the setup of the head failed */
    bool waits_for_stop; /* the head is stopping */
    int start_tries;
    struct loop_timer *start_timer;
    bool is_ray_gone;            /* the service found no Ray on a head whose steps are done */
    struct loop_timer *ray_wait; /* until Ray is started there again */
    bool is_settled;
    bool is_ray_scaling;           /* Ray's own autoscaler manages the workers */
    struct str autoscaler_message; /* why */
    struct head_plan plan;         /* the plan that was sent to the head */
    struct str wanted;             /* identifies the desired state (head_plan.h) */
    struct arena lines;            /* memory of one view at a time */
    struct seen *seen;             /* every node that was reported */
    size_t seen_count, seen_capacity;
    size_t wanted_count; /* nodes */
};

/* State of a node for the final summary. */
struct seen {
    struct str name, type;
    enum node_phase phase;
    bool has_failed;
};

/* ---- up.c ---- */

void up_fail(struct up *up, const struct err *err);
void up_show(struct up *up, const struct node_view *view);
void up_show_head(struct up *up);
void up_end_if_done(struct up *up);

/* ---- up_follow.c: follows the head's service ---- */

void up_follow(struct up *up);
void up_follow_again_now(void *context);
/* Call when the head did not answer, with the reason. Fails `up` and returns true if the head has
 * been silent for too long. */
bool up_has_lost_head(struct up *up, const struct err *why);
/* Handles one line from the service; exported for tests. */
void up_take_line(void *context, const struct ctl_line *line);
/* Timer callback: Ray on a head that is set up does not run. */
void up_start_ray_again(void *context);
/* Timer callback: reports what `up` is waiting for. */
void up_say_wait(void *context);
/* Marks the head ready once its steps are done and the service has seen it in Ray. */
void up_show_head_ready(struct up *up);

/* ---- up_head.c: the head, from its launch to its last step ---- */

void up_launch_head(struct up *up);
/* Finds a head that is stopped or stopping. */
bool up_stopped_head(struct up *up, struct managed_node *ret_head);
bool up_is_head_usable(struct up *up, const struct machine *head, struct err *err) MUST_USE;
void up_start_head(struct up *up);
void up_start_head_again(void *context);
/* Updates the head's state from the cloud, and connects to it once it has an address. */
void up_know_head(struct up *up, const struct machine *machine, uint64_t launch_number);
uint64_t up_launch_number(const struct machine *machine);
/* Runs the head's steps, for a head that is known. */
void up_set_head_up(struct up *up);
/* The cluster is as the last `up` from here left it, provided no other process has changed it. */
bool up_is_up_to_date(struct up *up);
/* Records for the next `up` that the cluster matches the file. */
bool up_note_applied(struct up *up, struct err *err) MUST_USE;
