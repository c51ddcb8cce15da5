/*
 * ray_watch.h: the head's own GCS, asked for its whole state again and again.
 *
 * Every 400 ms; ten times a second while somebody is expected to join; less often in a cluster so
 * large that answers would cost us more than a hundredth of a core, or the GCS more than some; less
 * and less often while nobody answers. Owns the client, which whoever reports, drains or tells
 * drivers uses as well.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "io/http.h"
#include "io/loop.h"
#include "ray/gcs.h"

struct ray_watch;

struct ray_watch_hooks {
    void *context;
    /* The whole reply (ray/state.h), as of when it was asked for (monotonic); valid in the call.
     * False: it cannot be understood, which counts as no answer. */
    bool (*seen)(void *context, struct str bytes, int64_t asked_at_ms, struct err *err);
    /* It answers, or not any more. */
    void (*changed)(void *context);
    /* Another cluster is behind the address: nothing of the one before counts. */
    void (*replaced)(void *context);
    /* The client is about to be closed: its calls that are under way will never be answered. */
    void (*closing)(void *context);
};

struct ray_watch_setup {
    struct loop *loop;
    struct http *http;
    struct str address;     /* "10.0.0.4:6379" */
    const char *token_path; /* NULL: the file says how Ray authenticates, so we say nothing */
    struct ray_watch_hooks hooks;
};

/* Texts are copied. The first question is asked at once. */
struct ray_watch *ray_watch_open(const struct ray_watch_setup *setup);
void ray_watch_close(struct ray_watch *watch); /* NULL is fine; not from a hook */

/* Somebody should join soon. */
void ray_watch_expect(struct ray_watch *watch, bool expects);
/* How many nodes the last reply had: beyond some hundreds what a reply costs is looked at. */
void ray_watch_size(struct ray_watch *watch, size_t nodes);
/* The next question at once, or as soon as the last one is answered. */
void ray_watch_hurry(struct ray_watch *watch);

/* For other calls; NULL: it was never reached, or is not at the moment. Until the loop goes on. */
struct gcs *ray_watch_gcs(struct ray_watch *watch);

/* Of the Ray that answers; empty: none does. */
struct str ray_watch_version(const struct ray_watch *watch);
/* Why it does not, for people; empty: it does. */
struct str ray_watch_trouble(const struct ray_watch *watch);

struct ray_watch_figures {
    int64_t polls;     /* answered */
    int64_t failed;    /* not answered, or not understood */
    double poll_ms;    /* the last one, from asking to the end of its hook */
    double cost_ms;    /* of a processor: what an answer costs at least */
    int64_t pause_ms;  /* between two questions */
    int64_t answer_at; /* monotonic; -1: none yet */
};
struct ray_watch_figures ray_watch_figures(const struct ray_watch *watch);

/* How long from one question to the next. Pure: for tests. */
struct ray_pace {
    bool expects;
    size_t nodes;
    double cost_ms;    /* of a processor, for one answer */
    unsigned failures; /* in a row */
    double wait_ms;    /* for an answer: mostly the GCS's own work */
};
int64_t ray_pace_ms(const struct ray_pace *pace);
