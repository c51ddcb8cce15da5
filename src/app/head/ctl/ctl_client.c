/* ctl_client.c: a client of the control protocol, over the pipes of a child process. */
#include "app/head/ctl/ctl.h"

#include "io/xalloc.h"

#include <string.h>

enum { STDERR_BYTES_MAX = 4096, REQUEST_BYTES_MAX = CTL_LINE_BYTES_MAX };

struct ctl_client {
    struct ctl_client_hooks hooks;
    struct child *child;
    struct arena arena; /* memory for one line */
    struct buf asked;   /* requests before the greeting */
    struct err err;     /* our error; otherwise the child's exit status is used */
    bool is_greeted;
    bool is_closed;
    int depth; /* > 0 inside a hook, which may close the client; memory is freed after it returns */
};

static void free_client(struct ctl_client *client)
{
    arena_clear(&client->arena);
    buf_clear(&client->asked);
    free(client);
}

static void ctl_client_do_send(struct ctl_client *client, struct str bytes)
{
    if (client->child && !child_write(client->child, bytes)) {
        err_set(&client->err, ERR_UNAVAILABLE, "the head stopped reading requests");
        child_cancel(client->child);
    }
}

/* False if the connection cannot be used. */
static bool ctl_client_greet(struct ctl_client *client, const struct ctl_line *line)
{
    if (line->kind == CTL_ERROR) {
        return err_set(&client->err, ERR_UNAVAILABLE, "%.*s", STR_ARG(str_sub(line->text, 0, 400)));
    }
    if (line->kind != CTL_GREETING) {
        return err_set(&client->err, ERR_PROTOCOL,
                       "a program other than Shoal answers on the control socket of the head");
    }
    if (!ctl_greeting_check(line, &client->err)) {
        return false;
    }
    client->is_greeted = true;
    ctl_client_do_send(client, buf_str(&client->asked));
    buf_clear(&client->asked);
    return true;
}

static void ctl_client_on_line(void *context, enum child_stream stream, struct str text)
{
    struct ctl_client *client = context;
    struct ctl_line line;
    struct err why;
    (void)stream;
    if (client->is_closed || client->err.kind != ERR_NONE) {
        return;
    }
    arena_clear(&client->arena);
    if (!ctl_line_read(text, &client->arena, &line, &why)) {
        /* A login shell may print something before the greeting; afterwards it is an error. */
        if (client->is_greeted) {
            client->err = why;
            child_cancel(client->child);
        }
        return;
    }
    if (line.kind == CTL_OTHER) {
        return;
    }
    if (!client->is_greeted && !ctl_client_greet(client, &line)) {
        child_cancel(client->child);
        return;
    }
    client->depth++;
    client->hooks.line(client->hooks.context, &line);
    client->depth--;
    if (client->is_closed) {
        free_client(client);
    }
}

/* Prefers ssh's last line to its exit status. */
static void explain_end(struct ctl_client *client, const struct child_result *result)
{
    struct str said = str_trim(result->output[CHILD_STDERR]);
    struct str last = said;
    while (said.len > 0) {
        last = str_cut(&said, '\n');
    }
    if (client->err.kind != ERR_NONE || child_was_fine(result)) {
        return;
    }
    client->err = result->err;
    if (last.len > 0) {
        err_set(&client->err, result->err.kind, "cannot reach the service on the head: %.*s",
                STR_ARG(str_sub(last, 0, 400)));
    }
}

static void ctl_client_on_done(void *context, const struct child_result *result)
{
    struct ctl_client *client = context;
    client->child = NULL;
    explain_end(client, result);
    if (client->err.kind == ERR_NONE) { /* the service restarted or stopped; the owner may retry */
        err_set(&client->err, ERR_UNAVAILABLE, "the head's service %s",
                client->is_greeted ? "closed the connection" : "did not answer");
    }
    client->depth++;
    client->hooks.done(client->hooks.context, &client->err);
    client->depth--;
    if (client->is_closed) {
        free_client(client);
    }
}

struct ctl_client *ctl_client_open(struct child_pool *children, const char *const *argv,
                                   const struct ctl_client_hooks *hooks)
{
    struct ctl_client *client = HEAP_NEW(struct ctl_client);
    client->hooks = *hooks;
    arena_init(&client->arena);
    buf_init(&client->asked, REQUEST_BYTES_MAX * 4);
    struct child_spec spec = {
        .argv = argv,
        .env_names = child_usual_env,
        .is_fed = true,
        .output = {{.bytes_max = CTL_LINE_BYTES_MAX, .line = ctl_client_on_line},
                   {.bytes_max = STDERR_BYTES_MAX, .keeps_tail = true}},
        .grace_ms = 500,
        .done = ctl_client_on_done,
        .context = client,
    };
    client->child = child_start(children, &spec);
    return client;
}

void ctl_client_send(struct ctl_client *client, const struct ctl_request *request)
{
    AUTO_BUF struct buf line;
    buf_init(&line, REQUEST_BYTES_MAX);
    ctl_request_write(request, &line);
    if (client->is_greeted) {
        ctl_client_do_send(client, buf_str(&line));
    } else {
        buf_add(&client->asked, buf_str(&line));
    }
}

void ctl_client_ask(struct ctl_client *client, const char *what)
{
    ctl_client_send(client, &(struct ctl_request){.what = str_from(what)});
}

void ctl_client_ask_log(struct ctl_client *client, struct str node, bool follows)
{
    ctl_client_send(client,
                    &(struct ctl_request){.what = STR("log"), .node = node, .follows = follows});
}

void ctl_client_close(struct ctl_client *client)
{
    if (!client || client->is_closed) {
        return;
    }
    client->is_closed = true;
    if (client->child) {
        child_forget(client->child);
        client->child = NULL;
    }
    if (client->depth == 0) {
        free_client(client);
    }
}
