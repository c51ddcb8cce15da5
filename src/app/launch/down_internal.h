/* down_internal.h: state of one `down`, shared by the down_*.c files. */
#pragma once

#include "app/launch/cluster_session.h"
#include "app/launch/down_decide.h"

/* One instance of the cluster. */
struct down_node {
    struct ending_node ending;
    struct str id;
    struct str name;         /* "head", "worker-2" */
    uint64_t launch;         /* launch number; 0 if unknown */
    bool is_seen;            /* was in at least one listing */
    bool is_listed;          /* is in the latest listing */
    bool is_asked;           /* named by the request in flight */
    int64_t expires_at;      /* EXPIRY_NEVER: never */
    bool was_living;         /* was alive when first seen, so it is included in terminated_count */
    int64_t launched_ms;     /* wall clock, from the journal; 0 if unknown */
    int64_t hidden_since_ms; /* wall clock: missing from the listings since then; 0 while listed */
    struct str refusal;      /* why the cloud refuses to terminate it */
};

struct down {
    struct cluster_session launch;
    struct ending_rules rules;
    struct ending_times times;
    /* ---- evidence ---- */
    struct str journal_uid;
    struct str holders;   /* holder names that this machine has used for the lease, one per line */
    bool has_journal_uid; /* the journal is readable and names a cluster */
    bool has_no_past;     /* the journal is readable: its `up` never took a lease */
    struct cluster_found found;
    struct machine *named; /* all instances with the cluster's name, from any launcher */
    size_t named_count;
    struct ending_launch *launches; /* launches recorded in the journal */
    size_t launch_count, launch_capacity;
    struct str uid;
    /* ---- the lease ---- */
    bool has_lease;
    uint64_t take_from; /* epoch of the lease being taken over; 0 if none */
    uint64_t epoch;     /* epoch of our own lease; 0 if none */
    enum ending_others others;
    int64_t others_until_ms; /* wall clock */
    struct ctl_client *ctl;
    struct loop_timer *patience, *renew;
    unsigned restarts; /* restarts of the head's service, detected by its newer lease */
    bool was_asked;    /* the head's service was asked to stand down */
    bool is_told;      /* the service stood down and reported all its nodes */
    bool has_nameless; /* one of these nodes has no instance id yet */
    /* ---- instances ---- */
    struct down_node *nodes;
    size_t node_count, node_capacity;
    int64_t *kept;    /* workers that stay, by node type; NULL unless `keeps_min` */
    uint64_t highest; /* highest number in a node name */
    struct loop_timer *again;
    int64_t pause_ms;
    int64_t give_up_at;         /* loop clock */
    int64_t taken_at_ms;        /* wall clock: no other process can launch instances after this */
    int64_t asked_at_ms;        /* wall clock: when the listing in flight was requested */
    const struct str *stopping; /* ids of the stop that waits for its note */
    size_t stopping_count;
    bool is_one_by_one; /* a request for several instances was refused */
    bool is_waiting_told;
    bool is_over; /* no more requests are sent */
    struct arena round;
};

/* ---- down_journal.c: evidence from this machine's journal ---- */

/* Reads as much as possible. A missing or unreadable journal only makes the proof take longer. */
void down_read_past(struct down *down);

/* ---- down_lease.c ---- */

/* Takes the lease, or continues without one if there is no lease object; then calls down_look(). */
void down_take(struct down *down);
void down_lease_close(struct down *down);
/* Handles one line from the head's service; exported for tests. */
void down_take_line(void *context, const struct ctl_line *line);

/* ---- down_terminate.c: terminates the instances ---- */

void down_look(struct down *down);
struct down_node *down_know(struct down *down, struct str id);
/* Called once it is proven that no instance is alive; down.c continues from there. */
void down_proven(struct down *down);
/* Called if some instances could not be terminated. */
void down_refused(struct down *down);

void down_fail(struct down *down, const struct err *err);

/* After a successful `down`: may this machine's key and journal for the cluster be deleted? */
bool down_may_forget(const struct down *down);

/* Runs the loop until `down` is finished. The provider and the journal must be open. */
bool down_run(struct down *down, struct err *err) MUST_USE;
