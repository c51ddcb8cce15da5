/*
 * gcs.h: calls to Ray's GCS.
 *
 * Some well-formed requests crash a GCS (ids of a wrong length, an address in CheckAlive); this
 * interface cannot send them. The first call requests the cluster's id, and all others include it,
 * so that a new cluster at an old address is detected and not controlled by mistake.
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
    struct str token;   /* empty if authentication is off */
    const char *ca_file, *cert_file, *key_file;
    int64_t deadline_ms; /* per call; default 10 s */
};

/* Strings are copied; `http` must outlive the client. Sends nothing. */
struct gcs *gcs_open(const struct gcs_setup *setup);
void gcs_close(struct gcs *gcs); /* cancels its calls without callbacks */

/* Why a call failed, by how the caller must react. */
enum gcs_trouble {
    GCS_FINE,
    GCS_AWAY,          /* unreachable, starting or too slow: retry, conclude nothing */
    GCS_OTHER_CLUSTER, /* another cluster is at this address: discard all state */
    GCS_TOKEN_REFUSED,
    GCS_TOO_OLD, /* the call is not supported */
    GCS_REFUSED, /* any other refusal */
};

struct gcs_answer {
    enum gcs_trouble trouble;
    struct err err;     /* unless GCS_FINE */
    bool has_no_server; /* of GCS_AWAY: nothing accepts connections at the address */
};

typedef void gcs_alive_fn(void *context, const struct gcs_answer *answer, struct str ray_version);
void gcs_check_alive(struct gcs *gcs, gcs_alive_fn *done, void *context);

struct gcs_node {
    struct str id;      /* 56 hexadecimal digits */
    struct str address; /* address of the raylet, without port */
    struct str hostname;
    struct str instance_id; /* instance id with which the node was started; empty if not given */
    struct str type;        /* likewise */
    struct str death;       /* Ray's message; empty while alive */
    bool is_preempted;      /* drained because of an interruption of its machine */
    int64_t started_ms;     /* since 1970 */
    int64_t ended_ms;       /* 0 while alive */
    bool is_alive;
    bool is_head;
};

/* Includes dead nodes, as long as Ray remembers them. Valid during the call. */
typedef void gcs_nodes_fn(void *context, const struct gcs_answer *answer,
                          const struct gcs_node *nodes, size_t count);
void gcs_list_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context);
/* Lists dead nodes; some releases also return the others. */
void gcs_list_dead_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context);

/* Parses the reply to both; strings live in `arena`. */
struct gcs_answer gcs_nodes_read(struct str reply, struct arena *arena,
                                 const struct gcs_node **ret_nodes, size_t *ret_count);

/* Nodes that drain, with the time at which they end. */
struct gcs_draining {
    struct str id;       /* 56 hexadecimal digits */
    int64_t deadline_ms; /* wall clock, since 1970; 0: none */
};
typedef void gcs_draining_fn(void *context, const struct gcs_answer *answer,
                             const struct gcs_draining *nodes, size_t count);
void gcs_list_draining(struct gcs *gcs, gcs_draining_fn *done, void *context);

/* Parses the reply; nodes with an invalid id are skipped. */
struct gcs_answer gcs_draining_read(struct str reply, struct arena *arena,
                                    const struct gcs_draining **ret_nodes, size_t *ret_count);

/* The versions on which all nodes of a cluster must agree. Empty if unknown. Valid during the
 * call. */
struct gcs_versions {
    struct str ray, python; /* "2.60.0", "3.11.2" */
};

/* Reads the versions that Ray's head publishes shortly after the GCS starts to answer: until then
 * `versions` is NULL in a successful answer. */
typedef void gcs_versions_fn(void *context, const struct gcs_answer *answer,
                             const struct gcs_versions *versions);
void gcs_read_versions(struct gcs *gcs, gcs_versions_fn *done, void *context);

/* Parses the reply. */
struct gcs_answer gcs_versions_read(struct str reply, struct arena *arena, bool *ret_is_there,
                                    struct gcs_versions *ret_versions);
/* Parses the published text. */
bool gcs_versions_from(struct str json, struct arena *arena, struct gcs_versions *ret_versions,
                       struct err *err) MUST_USE;

/* ---- calls of an autoscaler ---- */

/* GetClusterResourceState. `bytes` are for ray_state_pass() (state.h), valid during the call. */
typedef void gcs_state_fn(void *context, const struct gcs_answer *answer, struct str bytes);
void gcs_read_state(struct gcs *gcs, gcs_state_fn *done, void *context);

/* GetClusterStatus, as used by `ray status`. `bytes` are for ray_status_text() (status_text.h). */
void gcs_read_status(struct gcs *gcs, gcs_state_fn *done, void *context);

typedef void gcs_done_fn(void *context, const struct gcs_answer *answer);
void gcs_report(struct gcs *gcs, const struct ray_report *report, gcs_done_fn *done, void *context);

/* The node types of the cluster with their limits; used by Ray Data. */
struct gcs_group {
    struct str name;
    const struct ray_quantity *resources;
    size_t resource_count;
    int64_t min_count, max_count; /* -1 for no limit */
};
void gcs_report_groups(struct gcs *gcs, const struct gcs_group *groups, size_t count,
                       gcs_done_fn *done, void *context);

struct gcs_drain {
    struct str node;   /* RAY_ID_BYTES bytes; other lengths are rejected here */
    bool is_refusable; /* an idle drain; otherwise the node is interrupted at `deadline_ms` */
    struct str message;
    int64_t deadline_ms; /* wall clock, since 1970; a second drain replaces it */
};
typedef void gcs_drain_fn(void *context, const struct gcs_answer *answer, bool is_accepted,
                          struct str why_not);
/* Parses the reply, to which the strings point. A reply that cannot be parsed is not an
 * acceptance. */
struct gcs_answer gcs_drain_read(struct str reply, bool *ret_is_accepted, struct str *ret_why_not);
/* Never call it for the head: Ray would drain it. The caller must check that. */
void gcs_drain(struct gcs *gcs, const struct gcs_drain *drain, gcs_drain_fn *done, void *context);

/* Like request_resources(): replaces the current constraint. Without bundles, removes it. */
struct gcs_bundle {
    const struct ray_quantity *amounts;
    size_t amount_count;
    int64_t count;
    int64_t leaving; /* only of training jobs: replicas on nodes that are about to be interrupted */
};
void gcs_request_resources(struct gcs *gcs, const struct gcs_bundle *bundles, size_t count,
                           gcs_done_fn *done, void *context);

/* Prints the line "(autoscaler +9s) TEXT" in the output of every driver. */
struct gcs_line {
    /* Selects the channel number, which differs between releases: a wrong one crashes the GCS. An
     * unknown release gets "(raylet) TEXT". */
    struct str ray_version;
    struct str head_address; /* Ray's address of the head; remote drivers print it */
    struct str text;
    bool is_warning;
};
void gcs_tell_drivers(struct gcs *gcs, const struct gcs_line *line, gcs_done_fn *done,
                      void *context);

/* Publishes the address of an autoscaler's metrics: "10.0.0.4:44217". Ray writes it to the service
 * discovery file of Prometheus. */
void gcs_note_metrics(struct gcs *gcs, struct str address, gcs_done_fn *done, void *context);

/* The number of connected drivers, without Ray's own, such as the dashboard's. */
typedef void gcs_drivers_fn(void *context, const struct gcs_answer *answer, size_t count);
void gcs_count_drivers(struct gcs *gcs, gcs_drivers_fn *done, void *context);

/* Parses the reply. */
bool gcs_drivers_read(struct str reply, size_t *ret_count, struct err *err) MUST_USE;

/* ---- who requests capacity ---- */

enum { GCS_JOB_SIZE = 9, GCS_ENTRYPOINT_SIZE = 128 };

/* The constraint of request_resources() does not say who set it. This is who may have. */
struct gcs_requesters {
    bool has_coordinator;   /* the actor that requests for Ray Train and Ray Data is alive */
    size_t run_count;       /* Ray Train runs; Ray Data has no actor of its own */
    char job[GCS_JOB_SIZE]; /* of one run, "02000000"; empty if there is none */
    char entrypoint[GCS_ENTRYPOINT_SIZE]; /* its command line, shortened; empty if unknown */
};

/* Reads the living actors, at most 1,000: too much for every poll. */
typedef void gcs_requesters_fn(void *context, const struct gcs_answer *answer,
                               const struct gcs_requesters *requesters);
void gcs_find_requesters(struct gcs *gcs, gcs_requesters_fn *done, void *context);

/* The command line of a driver; empty if Ray does not know it. Valid during the call. */
typedef void gcs_entrypoint_fn(void *context, const struct gcs_answer *answer,
                               struct str entrypoint);
void gcs_find_entrypoint(struct gcs *gcs, struct str job, gcs_entrypoint_fn *done, void *context);

/* Parse the replies. */
bool gcs_requesters_read(struct str reply, struct gcs_requesters *ret_requesters,
                         struct err *err) MUST_USE;
bool gcs_entrypoint_read(struct str reply, struct str *ret_entrypoint, struct err *err) MUST_USE;
