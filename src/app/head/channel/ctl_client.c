/* ctl_client.c: a verb's end of the control channel: a child whose lines are read. */
#include "app/head/channel/ctl.h"

#include "io/heap.h"

#include <string.h>

enum { STDERR_BYTES_MAX = 4096, REQUEST_BYTES_MAX = CTL_LINE_BYTES_MAX };

struct ctl_client {
    struct ctl_client_hooks hooks;
    struct child *child;
    struct arena arena; /* of one line */
    struct buf asked;   /* what is asked before the greeting waits for it */
    struct err err;     /* what we found wrong; else how the child ended says */
    bool is_greeted;
    bool is_closed;
    int depth; /* inside a hook, which may close it: memory stays until that returns */
};

static void free_client(struct ctl_client *client)
{
    arena_clear(&client->arena);
    buf_clear(&client->asked);
    free(client);
}

static void send(struct ctl_client *client, struct str bytes)
{
    if (client->child && !child_write(client->child, bytes)) {
        err_set(&client->err, ERR_UNAVAILABLE, "the head does not read what is asked");
        child_cancel(client->child);
    }
}

/* False: it is of no use any more. */
static bool greet(struct ctl_client *client, const struct ctl_line *line)
{
    if (line->kind == CTL_ERROR) {
        return err_set(&client->err, ERR_UNAVAILABLE, "%.*s", STR_ARG(str_sub(line->text, 0, 400)));
    }
    if (line->kind != CTL_GREETING) {
        return err_set(&client->err, ERR_PROTOCOL,
                       "the head's service does not greet: what answers there is no Shoal");
    }
    if (!ctl_greeting_check(line, &client->err)) {
        return false;
    }
    client->is_greeted = true;
    send(client, buf_str(&client->asked));
    buf_clear(&client->asked);
    return true;
}

static void on_line(void *context, enum child_stream stream, struct str text)
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
        /* A login shell may say something first; later it is a fault. */
        if (client->is_greeted) {
            client->err = why;
            child_cancel(client->child);
        }
        return;
    }
    if (line.kind == CTL_OTHER) {
        return;
    }
    if (!client->is_greeted && !greet(client, &line)) {
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

/* ssh's own last line says more than its status. */
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
        err_set(&client->err, result->err.kind, "the head's service was not reached: %.*s",
                STR_ARG(str_sub(last, 0, 400)));
    }
}

static void on_done(void *context, const struct child_result *result)
{
    struct ctl_client *client = context;
    client->child = NULL;
    explain_end(client, result);
    if (client->err.kind == ERR_NONE) { /* begun anew, or ended: whoever needs it asks again */
        err_set(&client->err, ERR_UNAVAILABLE, "the head's service %s",
                client->is_greeted ? "has ended the connection" : "did not answer");
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
        .output = {{.bytes_max = CTL_LINE_BYTES_MAX, .line = on_line},
                   {.bytes_max = STDERR_BYTES_MAX, .keeps_tail = true}},
        .grace_ms = 500,
        .done = on_done,
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
        send(client, buf_str(&line));
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
