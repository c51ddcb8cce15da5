/*
 * ray_watch.h: who is in Ray, as the head's own GCS says it.
 *
 * Asks often while somebody is expected, less and less often while nothing changes.
 */
#pragma once

#include "base/str.h"
#include "io/http.h"
#include "io/loop.h"
#include "ray/gcs.h"

struct ray_watch;

struct ray_watch_hooks {
    void *context;
    /* All that Ray lists, dead ones too. Valid during the call. */
    void (*seen)(void *context, const struct gcs_node *nodes, size_t count, int64_t asked_at_ms);
    /* It answers, or not any more. */
    void (*changed)(void *context);
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

/* Somebody should join soon: the pace begins anew. */
void ray_watch_expect(struct ray_watch *watch, bool expects);

/* Of the Ray that answers; empty: none does. */
struct str ray_watch_version(const struct ray_watch *watch);
/* Why it does not, for people; empty: it does. */
struct str ray_watch_trouble(const struct ray_watch *watch);
