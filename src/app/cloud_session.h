/*
 * cloud_session.h: the base of every command that talks to a cloud: an event loop with HTTP and
 * child processes, redaction of secrets in the log, Ctrl-C, and an overall deadline.
 *
 *     open -> start something on session.loop -> cloud_session_run() -> close what was started ->
 *     cloud_session_close()
 *
 * The started operation calls cloud_session_stop() when it is done.
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
#include "provider/gcp/credentials/gcp_credentials.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero fields take the defaults noted here. */
struct cloud_session_setup {
    const struct clock *clock; /* default: the machine's clock */
    int64_t deadline_ms;       /* for the whole session; default: none */
    enum log_level least;      /* level logged to standard error; default: debug */
    size_t children_max;       /* concurrent child processes; default: 8 */
};

struct cloud_session {
    struct loop *loop;
    struct http *http; /* NULL until cloud_session_open_http() */
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    struct arena memory; /* memory that must outlive the providers */
    /* Private fields. */
    struct loop_timer *deadline;
    struct loop_signal *signals[2];
    int64_t deadline_ms;
    int signal; /* received from the user; 0 if none */
    bool is_late, is_stopped;
};

/* The session must not be moved until it is closed: callbacks point to it. */
bool cloud_session_open(struct cloud_session *session, const struct cloud_session_setup *setup,
                        struct err *err) MUST_USE;

/* Opens `http`, once. OpenSSL takes 8 ms to start, and most commands on an open ssh connection send
 * no request. */
bool cloud_session_open_http(struct cloud_session *session, struct err *err) MUST_USE;

/* Close the clients and providers that use it first. */
void cloud_session_close(struct cloud_session *session);

/*
 * Runs the loop until cloud_session_stop() is called. Otherwise returns false: ERR_CANCELLED after
 * Ctrl-C or SIGTERM, ERR_TIMEOUT at the deadline. May be called again after a stop.
 */
bool cloud_session_run(struct cloud_session *session, struct err *err) MUST_USE;
void cloud_session_stop(struct cloud_session *session);

/* The exit status of the program for this session's failure: 130 for Ctrl-C. */
int cloud_session_exit_status(const struct cloud_session *session, const struct err *err);

/* A client setup with this session and the program's environment; open `http` first. */
struct aws_client_setup cloud_session_aws(const struct cloud_session *session);

/* The same for Google. */
struct gcp_setup cloud_session_gcp(const struct cloud_session *session);

/*
 * Describes environment variables that redirect calls away from AWS, one per line, for standard
 * error: "AWS_ENDPOINT_URL is set: calls go to http://localhost:4566". Adds nothing if there are
 * none.
 */
void cloud_session_overrides(aws_environ env, const struct redact *redact, struct buf *out);
