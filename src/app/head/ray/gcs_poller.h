/*
 * gcs_poller.h: polls the complete state of the head's GCS.
 *
 * The interval is 400 ms, and 100 ms while a node is expected to join. It is longer in a large
 * cluster, where replies would cost us more than 1 % of a core or load the GCS too much, and while
 * Ray does not answer. Owns the client, which is also used for reports, drains and messages to
 * drivers.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "io/http.h"
#include "io/loop.h"
#include "ray/gcs.h"

struct gcs_poller;

struct gcs_poller_hooks {
    void *context;
    /* A complete reply (ray/state.h) to a request sent at that monotonic time; valid during the
     * call. Returns false if it cannot be parsed, which is treated as no answer. */
    bool (*seen)(void *context, struct str bytes, int64_t asked_at_ms, struct err *err);
    /* Ray started or stopped answering, or its address started or stopped accepting connections. */
    void (*changed)(void *context);
    /* A different cluster answers at the address: discard all state of the previous one. */
    void (*replaced)(void *context);
    /* The client is about to be closed: its calls in flight will not be answered. */
    void (*closing)(void *context);
};

struct gcs_poller_setup {
    struct loop *loop;
    struct http *http;
    struct str address;     /* "10.0.0.4:6379" */
    const char *token_path; /* NULL if the file configures Ray's authentication */
    struct gcs_poller_hooks hooks;
};

/* Texts are copied. The first request is sent at once. */
struct gcs_poller *gcs_poller_open(const struct gcs_poller_setup *setup);
void gcs_poller_close(struct gcs_poller *watch); /* NULL is fine; not from a hook */

/* A node is expected to join soon. */
void gcs_poller_expect(struct gcs_poller *watch, bool expects);
/* The number of nodes in the last reply; for large clusters the cost limits the interval. */
void gcs_poller_size(struct gcs_poller *watch, size_t nodes);
/* Sends the next request at once, or as soon as the last one is answered. */
void gcs_poller_hurry(struct gcs_poller *watch);

/* For other calls; NULL while Ray does not answer. Valid until control returns to the loop. */
struct gcs *gcs_poller_gcs(struct gcs_poller *watch);

/* Of the Ray that answers; may be empty. */
struct str gcs_poller_version(const struct gcs_poller *watch);
/* Why Ray does not answer, for users; empty if it does. */
struct str gcs_poller_trouble(const struct gcs_poller *watch);

/* Nothing accepts connections at its address: the GCS does not run. One that is slow does. */
bool gcs_poller_is_gone(const struct gcs_poller *watch);

struct gcs_poller_figures {
    int64_t polls;     /* answered */
    int64_t failed;    /* polls that were not answered or not parsed */
    double poll_ms;    /* the last one, from the request to the end of its hook */
    double cost_ms;    /* least processor time for a reply */
    int64_t pause_ms;  /* between two requests */
    int64_t answer_at; /* monotonic; -1 if none yet */
};
struct gcs_poller_figures gcs_poller_figures(const struct gcs_poller *watch);

/* The time between two requests. Pure. */
struct ray_pace {
    bool expects;
    size_t nodes;
    double cost_ms;    /* processor time for one reply */
    unsigned failures; /* consecutive */
    double wait_ms;    /* wait for a reply: mostly the work of the GCS */
};
int64_t ray_pace_ms(const struct ray_pace *pace);
