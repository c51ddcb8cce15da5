/* gcs_parts.h: a call of a GCS from its start to its end; for the files that make calls. */
#pragma once

#include "base/buf.h"
#include "io/loop.h"
#include "ray/gcs.h"

#define GCS_NODES "/ray.rpc.NodeInfoGcsService/"

struct gcs_call;
struct Shoal__Gcs__Status;

/* Told once; `body` is the message of the reply when the answer is fine. The call goes after it. */
typedef void gcs_finish_fn(struct gcs_call *call, const struct gcs_answer *answer, struct str body);

/* In the list of its client from its start to its end. Without a client: nobody waits any more. */
struct gcs_call {
    struct gcs *gcs;
    const char *method;
    struct http_call *http; /* NULL: waits for the cluster's id, or is refused */
    gcs_finish_fn *finish;
    union {
        gcs_alive_fn *alive;
        gcs_nodes_fn *nodes;
        gcs_versions_fn *versions;
        gcs_state_fn *state;
        gcs_drain_fn *drain;
        gcs_done_fn *plain;
        gcs_drivers_fn *drivers;
    } done;
    void *context;
    struct buf body; /* of the request: written before the start */
    struct loop_task refusal;
    struct err refused;
    struct gcs_call *next, *before;
};

struct gcs_call *gcs_call_new(struct gcs *gcs, const char *method, gcs_finish_fn *finish,
                              void *context);

/* Sent now, or when the cluster's id is known. */
void gcs_call_start(struct gcs_call *call);

/* Instead: never sent, and told so from the loop. */
void gcs_call_refuse(struct gcs_call *call, const struct err *why);

/* A reply that came whole and makes no sense. */
struct gcs_answer gcs_garbled(const char *method);

/* Most services put a status of their own into a reply that went well. */
bool gcs_is_refused(const struct Shoal__Gcs__Status *status, const char *method,
                    struct gcs_answer *answer);
