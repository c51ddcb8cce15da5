/*
 * desk.h: the service's end of the control channel: everybody who asks, everybody who follows.
 *
 * Knows the protocol and the connections; what there is to say it asks of its owner.
 */
#pragma once

#include "app/head/ctl.h"
#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"

struct desk;

typedef void desk_view_fn(void *context, const struct node_view *view);

struct desk_hooks {
    void *context;
    void (*greeting)(void *context, struct ctl_line *line);
    void (*status)(void *context, struct arena *arena, struct ctl_status *ret_status);
    /* All nodes, in a lasting order. */
    void (*each)(void *context, struct arena *arena, desk_view_fn *take, void *taker);
    /* One; false: not known. */
    bool (*one)(void *context, uint64_t instance, struct arena *arena, struct node_view *ret_view);
    /* Answered now when it returns true (or false with err), later with desk_answer() when
     * *ret_is_later. */
    bool (*update)(void *context, struct err *err);
    bool (*stand_down)(void *context, bool *ret_is_later, struct err *err);
    bool (*end)(void *context, bool *ret_is_later, struct err *err);
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

/* To whoever asked to stand down, or to end it all. NULL: it went well. */
void desk_answer(struct desk *desk, const char *what, const struct err *err);
