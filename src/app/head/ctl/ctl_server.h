/*
 * ctl_server.h: serves the control protocol to clients and followers.
 *
 * Handles the protocol and the connections; the owner's hooks provide the content.
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"

struct ctl_server;

typedef void ctl_server_view_fn(void *context, const struct node_view *view);
typedef void ctl_server_event_fn(void *context, const struct cluster_event *event);
typedef void ctl_server_explain_fn(void *context, const struct ctl_answer *answer);

struct ctl_server_hooks {
    void *context;
    void (*greeting)(void *context, struct ctl_line *line);
    void (*status)(void *context, struct arena *arena, struct ctl_status *ret_status);
    /* All nodes, in a stable order, with their state in Ray. */
    void (*each)(void *context, struct arena *arena, ctl_server_view_fn *take, void *taker);
    /* One node without its state in Ray; false if unknown. */
    bool (*one)(void *context, uint64_t instance, struct arena *arena, struct node_view *ret_view);
    /* Answered when the hook returns, or later with ctl_server_answer() if *ret_is_later is set. */
    bool (*update)(void *context, struct err *err);
    bool (*stand_down)(void *context, bool *ret_is_later, struct err *err);
    bool (*end)(void *context, bool *ret_is_later, struct err *err);
    /* Pending demand. */
    void (*cluster_status)(void *context, struct arena *arena,
                           struct cluster_status *ret_cluster_status);
    /* Events after that number, oldest first. */
    bool (*events)(void *context, int64_t after, ctl_server_event_fn *take, void *taker,
                   struct err *err);
    /* `about` is a node, a shape, or empty. */
    bool (*explain)(void *context, struct str about, struct arena *arena,
                    ctl_server_explain_fn *take, void *taker, struct err *err);
    /* Before explain(): true if facts are being collected. Then explain() is called after
     * ctl_server_explain(). */
    bool (*explain_later)(void *context, struct arena *arena);
    /* Answered later with ctl_server_answer("request-resources"), or ctl_server_answer_text() with
     * a warning. */
    bool (*request_resources)(void *context, const struct gcs_bundle *bundles, size_t count,
                              struct err *err);
    /* `ret_why` is in `arena`: why no node is launched for it; empty if that is not known. */
    bool (*train_demand)(void *context, const struct ctl_request *request, struct arena *arena,
                         struct str *ret_why, struct err *err);
    /* Answered later with ctl_server_answer_text("ray-status"), or ctl_server_answer() on
     * failure. */
    bool (*ray_status)(void *context, struct err *err);
};

/* `folder` contains the socket and the logs. */
bool ctl_server_open(struct loop *loop, const char *folder, const struct ctl_server_hooks *hooks,
                     struct ctl_server **ret_ctl_server, struct err *err) MUST_USE;
void ctl_server_close(struct ctl_server *server); /* NULL is fine */

/* A node, or the cluster (INSTANCE_NONE), changed. Followers are notified soon, in batches. */
void ctl_server_notify(struct ctl_server *server, uint64_t instance);

/* Sends an error that is not the answer to a request to all followers. */
void ctl_server_broadcast_error(struct ctl_server *server, struct str text);

/* Answers the clients that wait for `what`. `err` is NULL on success. */
void ctl_server_answer(struct ctl_server *server, const char *what, const struct err *err);
void ctl_server_answer_text(struct ctl_server *server, const char *what, struct str text);
/* Answers the clients that wait for an explanation. */
void ctl_server_explain(struct ctl_server *server);
