/* up_parts.h: one `up` from inside: what its files share. */
#pragma once

#include "app/launch/head_launch.h"
#include "app/launch/head_plan.h"
#include "app/launch/head_setup.h"
#include "app/launch/launch_parts.h"

struct up {
    struct launch launch;
    struct head_launch *head_launch;
    struct head_setup *head_setup;
    struct ctl_client *ctl;
    struct loop_timer *again; /* the control channel is tried again */
    int64_t again_ms;
    struct node_view head;
    struct str head_id, head_private_ip, head_public_ip, head_address;
    uint64_t head_number; /* of its launch */
    struct str uid, anchor;
    uint64_t epoch;
    int64_t serial;
    bool is_update;      /* the head's service has the lease */
    bool has_begun;      /* something may have been made */
    bool has_head;       /* it was launched, or found */
    bool is_released;    /* the lease was handed over */
    bool is_given_back;  /* or given back, because nobody takes it */
    bool is_head_done;   /* all its steps */
    bool is_head_in_ray; /* says the service */
    bool is_tagging;
    bool waits_for_stop; /* the head is on its way to standing still */
    int start_tries;
    struct loop_timer *start_timer;
    bool is_settled;
    bool is_rays;          /* Ray's own autoscaler keeps the workers */
    struct str stance;     /* why, in the service's words */
    struct head_plan plan; /* what the head was sent */
    struct str wanted;     /* what the cluster is brought to, as a text to compare (head_plan.h) */
    struct arena lines;    /* of one view at a time */
    struct seen *seen;     /* every node that was told of */
    size_t seen_count, seen_capacity;
    size_t wanted_count; /* nodes */
};

/* What the summary at the end needs of a node. */
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

/* ---- up_follow.c: the head's service, watched from here ---- */

void up_follow(struct up *up);
void up_follow_again_now(void *context);
/* The head is ready when its steps are done and the service has seen it in Ray. */
void up_show_head_ready(struct up *up);

/* ---- up_head.c: the head, from its launch to the end of its steps ---- */

void up_launch_head(struct up *up);
/* A head that was stopped, or is about to stand still. */
bool up_stopped_head(struct up *up, struct controlled *ret_head);
bool up_is_head_usable(struct up *up, const struct machine *head, struct err *err) MUST_USE;
void up_start_head(struct up *up);
void up_start_head_again(void *context);
/* What the cloud says of it now; with an address it is connected to. */
void up_know_head(struct up *up, const struct machine *machine, uint64_t launch_number);
uint64_t up_launch_number(const struct machine *machine);
/* That the cluster is what the file asks for, for the next `up`. */
bool up_note_applied(struct up *up, struct err *err) MUST_USE;
