/* gcs_internal.h: the lifecycle of a call to a GCS, for the files that make calls. */
#pragma once

#include "base/buf.h"
#include "io/loop.h"
#include "ray/gcs.h"

#define GCS_NODES "/ray.rpc.NodeInfoGcsService/"

struct gcs_call;
struct Shoal__Gcs__Status;

/* Called once; `body` is the reply message on success. The call is freed afterwards. */
typedef void gcs_finish_fn(struct gcs_call *call, const struct gcs_answer *answer, struct str body);

/* In the list of its client while it exists. `gcs` is NULL after the client was closed. */
struct gcs_call {
    struct gcs *gcs;
    const char *method;
    struct http_call *http; /* NULL while it waits for the cluster id or is being refused */
    gcs_finish_fn *finish;
    union {
        gcs_alive_fn *alive;
        gcs_nodes_fn *nodes;
        gcs_draining_fn *draining;
        gcs_versions_fn *versions;
        gcs_state_fn *state;
        gcs_drain_fn *drain;
        gcs_done_fn *plain;
        gcs_drivers_fn *drivers;
        gcs_requesters_fn *requesters;
        gcs_entrypoint_fn *entrypoint;
    } done;
    void *context;
    struct buf body; /* request; written before the start */
    struct loop_task refusal;
    struct err refused;
    struct gcs_call *next, *before;
};

struct gcs_call *gcs_call_new(struct gcs *gcs, const char *method, gcs_finish_fn *finish,
                              void *context);

/* Sends the call now, or once the cluster id is known. */
void gcs_call_start(struct gcs_call *call);

/* Alternative to gcs_call_start(): never sends, and reports the error from the loop. */
void gcs_call_refuse(struct gcs_call *call, const struct err *why);

/* A complete reply that cannot be parsed. */
struct gcs_answer gcs_garbled(const char *method);

/* Most services include a status of their own in a successful reply. */
bool gcs_is_refused(const struct Shoal__Gcs__Status *status, const char *method,
                    struct gcs_answer *answer);
