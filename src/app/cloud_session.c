/* cloud_session.c: opens, runs and closes a session. */
#include "app/cloud_session.h"

#include "io/os.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { CHILDREN_MAX = 8 };

static void on_deadline(void *context)
{
    struct cloud_session *session = context;
    session->is_late = true;
    loop_stop(session->loop);
}

static void cloud_session_on_signal(void *context, int number)
{
    struct cloud_session *session = context;
    session->signal = number;
    loop_stop(session->loop);
}

static bool watch_signals(struct cloud_session *session, struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (!loop_signal_new(session->loop, numbers[i], cloud_session_on_signal, session,
                             &session->signals[i], err)) {
            return false;
        }
    }
    return true;
}

bool cloud_session_open(struct cloud_session *session, const struct cloud_session_setup *setup,
                        struct err *err)
{
    static int standard_error = STDERR_FILENO;
    *session = (struct cloud_session){.deadline_ms = setup->deadline_ms};
    arena_init(&session->memory);
    session->redact = redact_new();
    session->log = (struct log){&clock_of_machine, session->redact, setup->least, log_to_descriptor,
                                &standard_error};
    bool ok = loop_open(setup->clock ? setup->clock : &clock_of_machine, &session->loop, err) &&
              watch_signals(session, err);
    if (!ok) {
        cloud_session_close(session);
        return false;
    }
    session->children = child_pool_new(session->loop, setup->children_max > 0 ? setup->children_max
                                                                              : CHILDREN_MAX);
    session->deadline = loop_timer_new(session->loop, on_deadline, session);
    if (setup->deadline_ms > 0) {
        loop_timer_start(session->deadline, setup->deadline_ms);
    }
    return true;
}

bool cloud_session_open_http(struct cloud_session *session, struct err *err)
{
    return session->http || http_open(session->loop, &(struct http_limits){0}, &session->http, err);
}

/* Also cleans up after a failed cloud_session_open(). */
void cloud_session_close(struct cloud_session *session)
{
    for (size_t i = 0; i < ARRAY_LEN(session->signals); i++) {
        if (session->signals[i]) {
            loop_signal_free(session->signals[i]);
        }
    }
    if (session->deadline) {
        loop_timer_free(session->deadline);
    }
    if (session->children) {
        child_pool_free(session->children);
    }
    if (session->http) {
        http_close(session->http);
    }
    if (session->loop) {
        loop_close(session->loop);
    }
    redact_free(session->redact);
    arena_clear(&session->memory);
    *session = (struct cloud_session){0};
}

bool cloud_session_run(struct cloud_session *session, struct err *err)
{
    session->is_stopped = false;
    if (session->signal == 0 && !session->is_late) {
        loop_run(session->loop);
    }
    if (session->signal != 0) {
        return err_set(err, ERR_CANCELLED, "stopped by %s",
                       session->signal == SIGINT ? "Ctrl-C" : "SIGTERM");
    }
    if (session->is_stopped) {
        return true;
    }
    if (session->is_late) {
        return err_set(err, ERR_TIMEOUT, "no result within %lld s",
                       (long long)(session->deadline_ms / 1000));
    }
    return err_set(err, ERR_INTERNAL,
                   "internal error: nothing is pending, but the operation has not finished");
}

void cloud_session_stop(struct cloud_session *session)
{
    session->is_stopped = true;
    loop_stop(session->loop);
}

int cloud_session_exit_status(const struct cloud_session *session, const struct err *err)
{
    enum { BY_SIGNAL = 128 }; /* the shells' convention */
    return session->signal != 0 ? BY_SIGNAL + session->signal : err_exit_status(err->kind);
}

struct aws_client_setup cloud_session_aws(const struct cloud_session *session)
{
    return (struct aws_client_setup){
        .loop = session->loop,
        .http = session->http,
        .children = session->children,
        .log = &session->log,
        .redact = session->redact,
        .environ = (aws_environ)environ,
        .seed = os_seed(), /* two programs that were throttled together must not retry together */
    };
}

struct gcp_setup cloud_session_gcp(const struct cloud_session *session)
{
    return (struct gcp_setup){.loop = session->loop,
                              .http = session->http,
                              .children = session->children,
                              .log = &session->log,
                              .redact = session->redact,
                              .environ = (const char *const *)environ};
}

void cloud_session_overrides(aws_environ env, const struct redact *redact, struct buf *out)
{
    const char *ignored = variable_get(env, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    if (ignored && strcmp(ignored, "true") == 0) {
        return;
    }
    for (size_t i = 0; env[i]; i++) {
        struct str value = str_from(env[i]);
        struct str name = str_cut(&value, '=');
        bool is_all = str_is(name, "AWS_ENDPOINT_URL");
        if (value.len > 0 && (is_all || str_starts(name, "AWS_ENDPOINT_URL_"))) {
            buf_addf(out, "%.*s is set: calls go to ", STR_ARG(name));
            redact_clean(redact, value, out);
            buf_add_char(out, '\n');
        }
    }
}
