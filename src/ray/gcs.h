/*
 * gcs.h: calls of Ray's GCS.
 *
 * Some well-formed requests end a GCS (ids of a wrong length, an address given to CheckAlive): none
 * of them can be made through this interface. The first call asks for the cluster's id, every other
 * one carries it, so that a new cluster behind an old address is noticed and not driven by mistake.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/grpc.h"
#include "io/http.h"
#include "ray/report.h"
#include "ray/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gcs;

struct gcs_setup {
    struct http *http;
    const char *server; /* "http://10.0.0.4:6379"; https with the files below */
    struct str token;   /* empty: authentication is off */
    const char *ca_file, *cert_file, *key_file;
    int64_t deadline_ms; /* of a call; 10 s */
};

/* Texts are copied; `http` must outlive it. Asks nobody. */
struct gcs *gcs_open(const struct gcs_setup *setup);
void gcs_close(struct gcs *gcs); /* ends its calls without a word */

/* Why a call failed, for whoever decides what now. */
enum gcs_trouble {
    GCS_FINE,
    GCS_AWAY,          /* not there, or starting, or too slow: try again, decide nothing */
    GCS_OTHER_CLUSTER, /* another cluster is behind this address: forget what was known */
    GCS_TOKEN_REFUSED,
    GCS_TOO_OLD, /* it does not know this call */
    GCS_REFUSED, /* anything else it said no to */
};

struct gcs_answer {
    enum gcs_trouble trouble;
    struct err err; /* unless fine */
};

typedef void gcs_alive_fn(void *context, const struct gcs_answer *answer, struct str ray_version);
void gcs_check_alive(struct gcs *gcs, gcs_alive_fn *done, void *context);

struct gcs_node {
    struct str id;      /* 56 hexadecimal digits */
    struct str address; /* of its raylet, without port */
    struct str hostname;
    struct str instance_id; /* what the node was started with; empty: nothing */
    struct str type;        /* likewise */
    struct str death;       /* Ray's words; empty while it lives */
    int64_t started_ms;     /* since 1970 */
    int64_t ended_ms;       /* 0: it lives */
    bool is_alive;
    bool is_head;
};

/* Dead nodes too, as long as Ray remembers them. Valid during the call. */
typedef void gcs_nodes_fn(void *context, const struct gcs_answer *answer,
                          const struct gcs_node *nodes, size_t count);
void gcs_list_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context);

/* What the nodes of a cluster must have in common. Empty: not known. Valid during the call. */
struct gcs_versions {
    struct str ray, python; /* "2.60.0", "3.11.2" */
};

/* What Ray's head has written about itself. It does so a moment after the GCS answers: until then
 * `versions` is NULL with an answer that is fine. */
typedef void gcs_versions_fn(void *context, const struct gcs_answer *answer,
                             const struct gcs_versions *versions);
void gcs_read_versions(struct gcs *gcs, gcs_versions_fn *done, void *context);

/* Out of the text that it has written there. */
bool gcs_versions_from(struct str json, struct arena *arena, struct gcs_versions *ret_versions,
                       struct err *err) MUST_USE;

/* ---- an autoscaler's calls ---- */

/* GetClusterResourceState. `bytes` are for ray_state_pass() (state.h), valid during the call. */
typedef void gcs_state_fn(void *context, const struct gcs_answer *answer, struct str bytes);
void gcs_read_state(struct gcs *gcs, gcs_state_fn *done, void *context);

/* GetClusterStatus: what `ray status` asks. `bytes` are for ray_status_text() (status_text.h). */
void gcs_read_status(struct gcs *gcs, gcs_state_fn *done, void *context);

typedef void gcs_done_fn(void *context, const struct gcs_answer *answer);
void gcs_report(struct gcs *gcs, const struct ray_report *report, gcs_done_fn *done, void *context);

/* The types of the cluster with their limits: Ray Data reads it. */
struct gcs_group {
    struct str name;
    const struct ray_quantity *resources;
    size_t resource_count;
    int64_t min_count, max_count; /* -1: no limit */
};
void gcs_report_groups(struct gcs *gcs, const struct gcs_group *groups, size_t count,
                       gcs_done_fn *done, void *context);

struct gcs_drain {
    struct str node;   /* RAY_ID_BYTES bytes; another length is refused here */
    bool is_refusable; /* for being idle; else it is taken away at `deadline_ms` */
    struct str message;
    int64_t deadline_ms; /* wall clock, since 1970; told once, a second one replaces it */
};
typedef void gcs_drain_fn(void *context, const struct gcs_answer *answer, bool is_accepted,
                          struct str why_not);
/* Never of the head: Ray would obey. The caller knows which it is. */
void gcs_drain(struct gcs *gcs, const struct gcs_drain *drain, gcs_drain_fn *done, void *context);

/* What request_resources() does: replaces the one wish there is. None: there is none any more. */
struct gcs_wish {
    const struct ray_quantity *amounts;
    size_t amount_count;
    int64_t count;
};
void gcs_request_resources(struct gcs *gcs, const struct gcs_wish *wishes, size_t count,
                           gcs_done_fn *done, void *context);

/* One line "(autoscaler +9s) TEXT" in the output of every driver. */
struct gcs_line {
    struct str ray_version;  /* decides how: numbers differ between releases, and a wrong one ends
                              * the GCS. A release that is not known gets "(raylet) TEXT" */
    struct str head_address; /* as Ray knows the head; drivers elsewhere show it beside the line */
    struct str text;
    bool is_warning;
};
void gcs_tell_drivers(struct gcs *gcs, const struct gcs_line *line, gcs_done_fn *done,
                      void *context);

/* Where an autoscaler's metrics are: "10.0.0.4:44217". Ray writes it into the file by which
 * Prometheus finds what to ask. */
void gcs_note_metrics(struct gcs *gcs, struct str address, gcs_done_fn *done, void *context);

/* How many drivers are connected; Ray's own, as the dashboard's, do not count. */
typedef void gcs_drivers_fn(void *context, const struct gcs_answer *answer, size_t count);
void gcs_count_drivers(struct gcs *gcs, gcs_drivers_fn *done, void *context);

/* Out of the reply to that. */
bool gcs_drivers_read(struct str reply, size_t *ret_count, struct err *err) MUST_USE;
