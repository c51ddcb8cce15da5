/*
 * desk.h: the service's end of the control channel: everybody who asks, everybody who follows.
 *
 * Knows the protocol and the connections; what there is to say it asks of its owner.
 */
#pragma once

#include "app/head/channel/ctl.h"
#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"

struct desk;

typedef void desk_view_fn(void *context, const struct node_view *view);
typedef void desk_event_fn(void *context, const struct insight_event *event);
typedef void desk_explain_fn(void *context, const struct ctl_answer *answer);

struct desk_hooks {
    void *context;
    void (*greeting)(void *context, struct ctl_line *line);
    void (*status)(void *context, struct arena *arena, struct ctl_status *ret_status);
    /* All nodes, in a lasting order, with what Ray says of them. */
    void (*each)(void *context, struct arena *arena, desk_view_fn *take, void *taker);
    /* One, without that; false: not known. */
    bool (*one)(void *context, uint64_t instance, struct arena *arena, struct node_view *ret_view);
    /* Answered now when it returns true (or false with err), later with desk_answer() when
     * *ret_is_later. */
    bool (*update)(void *context, struct err *err);
    bool (*stand_down)(void *context, bool *ret_is_later, struct err *err);
    bool (*end)(void *context, bool *ret_is_later, struct err *err);
    /* Whatever waits. */
    void (*insight)(void *context, struct arena *arena, struct insight *ret_insight);
    /* Those behind that number, oldest first. */
    bool (*events)(void *context, int64_t after, desk_event_fn *take, void *taker, struct err *err);
    /* `about` is a node, a shape, or empty. */
    bool (*explain)(void *context, struct str about, struct arena *arena, desk_explain_fn *take,
                    void *taker, struct err *err);
    /* Answered with desk_answer(), "request-resources". */
    bool (*request_resources)(void *context, const struct gcs_wish *wishes, size_t count,
                              struct err *err);
    /* Answered with desk_answer_text(), "ray-status", or with desk_answer() when it cannot be. */
    bool (*ray_status)(void *context, struct err *err);
};

/* `folder` holds the socket and the logs. */
bool desk_open(struct loop *loop, const char *folder, const struct desk_hooks *hooks,
               struct desk **ret_desk, struct err *err) MUST_USE;
void desk_close(struct desk *desk); /* NULL is fine */

/* Something of that node, or of the cluster (INSTANCE_NONE), has changed: followers are told soon,
 * several changes as one. */
void desk_changed(struct desk *desk, uint64_t instance);

/* Something went wrong that nobody asked about: to all followers. */
void desk_tell_trouble(struct desk *desk, struct str text);

/* To whoever asked to stand down, to end it all, ... NULL: it went well. */
void desk_answer(struct desk *desk, const char *what, const struct err *err);
void desk_answer_text(struct desk *desk, const char *what, struct str text);
