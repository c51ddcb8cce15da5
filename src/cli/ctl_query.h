/* ctl_query.h: queries the service on a cluster's head, for verbs. */
#pragma once

#include "app/head/ctl/ctl.h"
#include "cli/target.h"

/* ---- requests ---- */

struct ctl_query_question {
    struct ctl_request request;
    bool is_optional; /* an error is a valid reply: older heads do not know the request */
};

struct ctl_query_setup {
    struct cloud_session *session;
    const struct ssh_target *place; /* over ssh to the head (connected); NULL: this machine */
    struct arena *arena;
    const struct ctl_query_question *questions; /* sent one after the other */
    size_t question_count;
    void *context;
    /* Every reply line except errors that end the query. Valid during the call. */
    void (*line)(void *context, const struct ctl_line *line);
    /* All requests were answered. Returns the time until they are sent again, in ms; negative:
     * never. May be NULL. */
    int64_t (*answered)(void *context);
};

/* Runs until everything is answered; endless queries until Ctrl-C (ERR_CANCELLED). */
bool talk(const struct ctl_query_setup *setup, struct err *err) MUST_USE;

typedef void ctl_query_line_fn(void *context, const struct ctl_line *line);

/* Finds the head, sends it one request and passes on the lines of the reply. */
bool ctl_query_head(struct target *target, const struct ctl_request *request,
                    ctl_query_line_fn *line, void *context, struct err *err) MUST_USE;

/* The argv of the connection, for other kinds of queries. */
bool ctl_query_argv(const struct ssh_target *place, struct arena *arena,
                    const char *const **ret_argv, struct err *err) MUST_USE;

/* ---- common queries ---- */

/* The complete reply to "status". Strings are allocated in the command's arena. */
struct ctl_query_status {
    bool has_status;
    struct ctl_status status;
    struct str cluster, version;
    struct node_view *nodes;
    size_t node_count, node_capacity;
    struct pending_demand *demands;
    size_t demand_count, demand_capacity;
    struct str ray_text; /* output of `ray status`; empty: not requested or not available */
};

/* Adds a reply line, if it belongs to the status. */
void ctl_query_status_take(struct ctl_query_status *status, struct arena *arena,
                           const struct ctl_line *line);

bool ctl_query_status(struct cloud_session *session, const struct ssh_target *place,
                      struct arena *arena, struct ctl_query_status *ret_status,
                      struct err *err) MUST_USE;

/* A node's log, line by line; with `follows`, until Ctrl-C or the end of its setup. */
typedef void ctl_query_log_fn(void *context, struct str line);
bool ctl_query_log(struct cloud_session *session, const struct ssh_target *place,
                   struct arena *arena, struct str node, bool follows, ctl_query_log_fn *take,
                   void *context, struct err *err) MUST_USE;
