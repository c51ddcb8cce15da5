/*
 * cloud_session.h: what every verb that talks to a cloud stands on: a loop with HTTP and children,
 * secrets kept out of the log, Ctrl-C, and a deadline for the whole.
 *
 *     open -> start something on session.loop -> cloud_session_run() -> close what was started ->
 *     cloud_session_close()
 *
 * What was started calls cloud_session_stop() when it is done.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "io/child.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/redact.h"
#include "provider/aws/client/aws_client.h"

#include <stdbool.h>
#include <stdint.h>

/* What is zero takes the default named behind it. */
struct cloud_session_setup {
    int64_t deadline_ms;  /* for everything; 0: none */
    enum log_level least; /* of what is logged on standard error; debug */
    size_t children_max;  /* programs at once; 8 */
};

struct cloud_session {
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    struct arena memory; /* for what must outlive the providers on it */
    /* What follows is its own. */
    struct loop_timer *deadline;
    struct loop_signal *signals[2];
    int64_t deadline_ms;
    int signal; /* that the user sent; 0: none */
    bool is_late, is_stopped;
};

/* The session must stay where it is until it is closed: callbacks point to it. */
bool cloud_session_open(struct cloud_session *session, const struct cloud_session_setup *setup,
                        struct err *err) MUST_USE;

/* Clients and providers on it must have been closed before. */
void cloud_session_close(struct cloud_session *session);

/*
 * Runs the loop until cloud_session_stop(). False when that was not called: ERR_CANCELLED for
 * Ctrl-C or SIGTERM, ERR_TIMEOUT at the deadline. May be called again after it was stopped.
 */
bool cloud_session_run(struct cloud_session *session, struct err *err) MUST_USE;
void cloud_session_stop(struct cloud_session *session);

/* The exit status of a program that was ended by this session's failure: 130 for Ctrl-C. */
int cloud_session_exit_status(const struct cloud_session *session, const struct err *err);

/* A client's setup over this session and the program's environment. */
struct aws_client_setup cloud_session_aws(const struct cloud_session *session);

/*
 * What in the environment sends calls elsewhere than to AWS, for standard error: "AWS_ENDPOINT_URL
 * is set: calls go to http://localhost:4566", a line each; nothing when there is none.
 */
void cloud_session_overrides(aws_environ env, const struct redact *redact, struct buf *out);
