/* talk.c: one question, and its answer line by line. */
#include "cli/talk.h"

#include "app/program.h"

struct talk {
    struct cloud_session *session;
    struct ctl_client *client;
    struct arena *arena;
    struct talk_status *status; /* NULL: a log is wanted */
    struct str node;
    bool follows;
    FILE *out;
    struct err err;
    bool is_answered;
};

static void finish(struct talk *talk, bool is_answered)
{
    talk->is_answered = is_answered;
    cloud_session_stop(talk->session);
}

/* What a line holds is gone after the call. */
static struct str keep(struct talk *talk, struct str text)
{
    return arena_str(talk->arena, text);
}

static void keep_node(struct talk *talk, const struct node_view *view)
{
    AUTO_BUF struct buf json;
    struct talk_status *status = talk->status;
    struct err err;
    buf_init(&json, CTL_LINE_BYTES_MAX);
    node_view_write(view, &json);
    arena_grow(talk->arena, (void **)&status->nodes, status->node_count, &status->node_capacity,
               sizeof(*status->nodes));
    if (node_view_read(keep(talk, buf_str(&json)), talk->arena, &status->nodes[status->node_count],
                       &err)) {
        status->node_count++;
    }
}

static void keep_status(struct talk *talk, const struct ctl_status *told)
{
    struct ctl_status *status = &talk->status->status;
    *status = *told;
    status->ray_version = keep(talk, told->ray_version);
    status->ray_address = keep(talk, told->ray_address);
    status->stance = keep(talk, told->stance);
    status->goal = keep(talk, told->goal);
    talk->status->has_status = true;
}

static void greeted(struct talk *talk, const struct ctl_line *line)
{
    if (talk->status) {
        talk->status->cluster = keep(talk, line->greeting.cluster);
        talk->status->version = keep(talk, line->greeting.version);
        ctl_client_ask(talk->client, "status");
    } else {
        ctl_client_ask_log(talk->client, talk->node, talk->follows);
    }
}

static void on_line(void *context, const struct ctl_line *line)
{
    struct talk *talk = context;
    switch (line->kind) {
    case CTL_GREETING:
        greeted(talk, line);
        break;
    case CTL_STATUS:
        if (talk->status) {
            keep_status(talk, &line->status);
        }
        break;
    case CTL_NODE:
        if (talk->status) {
            keep_node(talk, &line->node);
        }
        break;
    case CTL_LOG:
        if (talk->out) {
            fprintf(talk->out, "%.*s\n", STR_ARG(line->text));
            fflush(talk->out);
        }
        break;
    case CTL_END:
        finish(talk, true);
        break;
    case CTL_ERROR:
        err_set(&talk->err, ERR_UNAVAILABLE, "the head says: %.*s",
                STR_ARG(str_sub(line->text, 0, 300)));
        finish(talk, false);
        break;
    case CTL_DONE:
        break;
    }
}

static void on_done(void *context, const struct err *err)
{
    struct talk *talk = context;
    talk->client = NULL;
    talk->err = *err;
    if (err->kind == ERR_NONE) {
        err_set(&talk->err, ERR_UNAVAILABLE, "the head ended the conversation");
    }
    finish(talk, false);
}

static bool words(const struct ssh_place *place, struct arena *arena, const char *const **ret_argv,
                  struct err *err)
{
    struct str program;
    struct ssh_session session = {.command = STR("~/.shoal/bin/shoal ctl")};
    if (place) {
        return ssh_words(place, &session, arena, ret_argv, err);
    }
    if (!program_path(arena, &program, err)) {
        return false;
    }
    const char **argv = ARENA_ARRAY(arena, 3, const char *);
    argv[0] = program.ptr;
    argv[1] = "ctl";
    *ret_argv = argv;
    return true;
}

static bool hold(struct talk *talk, const struct ssh_place *place, struct err *err)
{
    const char *const *argv;
    struct ctl_client_hooks hooks = {talk, on_line, on_done};
    if (!words(place, talk->arena, &argv, err)) {
        return false;
    }
    talk->client = ctl_client_open(talk->session->children, argv, &hooks);
    bool ok = cloud_session_run(talk->session, err);
    ctl_client_close(talk->client);
    if (ok && !talk->is_answered) {
        *err = talk->err;
    }
    return ok && talk->is_answered;
}

bool talk_status(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
                 struct talk_status *ret_status, struct err *err)
{
    struct talk talk = {.session = session, .arena = arena, .status = ret_status};
    *ret_status = (struct talk_status){0};
    return hold(&talk, place, err);
}

bool talk_log(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
              struct str node, bool follows, FILE *out, struct err *err)
{
    struct talk talk = {
        .session = session, .arena = arena, .node = node, .follows = follows, .out = out};
    return hold(&talk, place, err);
}
