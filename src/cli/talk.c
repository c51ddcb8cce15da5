/* talk.c: questions, and their answers line by line. */
#include "cli/talk.h"

#include "app/program.h"

struct talk {
    const struct talk_setup *setup;
    struct ctl_client *client;
    struct loop_timer *again;
    size_t at; /* the question that is being answered */
    struct err err;
    bool is_answered;
};

static void finish(struct talk *talk, bool is_answered)
{
    talk->is_answered = is_answered;
    cloud_session_stop(talk->setup->session);
}

static void ask(struct talk *talk)
{
    ctl_client_send(talk->client, &talk->setup->questions[talk->at].request);
}

static void ask_again(void *context)
{
    ask(context);
}

static void go_on(struct talk *talk)
{
    const struct talk_setup *setup = talk->setup;
    talk->at++;
    if (talk->at < setup->question_count) {
        ask(talk);
        return;
    }
    int64_t wait = setup->answered ? setup->answered(setup->context) : -1;
    if (wait < 0) {
        finish(talk, true);
        return;
    }
    talk->at = 0;
    loop_timer_start(talk->again, wait);
}

static void on_error(struct talk *talk, const struct ctl_line *line)
{
    const struct talk_question *question = &talk->setup->questions[talk->at];
    if (question->is_optional && str_eq(line->about, question->request.what)) {
        go_on(talk);
        return;
    }
    err_set(&talk->err, ERR_UNAVAILABLE, "the head says: %.*s",
            STR_ARG(str_sub(line->text, 0, 300)));
    finish(talk, false);
}

static void on_line(void *context, const struct ctl_line *line)
{
    struct talk *talk = context;
    const struct talk_setup *setup = talk->setup;
    if (line->kind == CTL_ERROR) {
        on_error(talk, line);
        return;
    }
    setup->line(setup->context, line);
    if (line->kind == CTL_GREETING) {
        ask(talk);
    } else if ((line->kind == CTL_END || line->kind == CTL_DONE) &&
               str_eq(line->text, setup->questions[talk->at].request.what)) {
        go_on(talk);
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

bool talk_words(const struct ssh_place *place, struct arena *arena, const char *const **ret_argv,
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

bool talk(const struct talk_setup *setup, struct err *err)
{
    struct talk talk = {.setup = setup};
    const char *const *argv;
    struct ctl_client_hooks hooks = {&talk, on_line, on_done};
    if (!talk_words(setup->place, setup->arena, &argv, err)) {
        return false;
    }
    talk.again = loop_timer_new(setup->session->loop, ask_again, &talk);
    talk.client = ctl_client_open(setup->session->children, argv, &hooks);
    bool ok = cloud_session_run(setup->session, err);
    ctl_client_close(talk.client);
    loop_timer_free(talk.again);
    if (ok && !talk.is_answered) {
        *err = talk.err;
    }
    return ok && talk.is_answered;
}

/* ---- status ---- */

/* What a line holds is gone after the call. */
static void keep_node(struct talk_status *status, struct arena *arena, const struct node_view *view)
{
    AUTO_BUF struct buf json;
    struct err err;
    buf_init(&json, CTL_LINE_BYTES_MAX);
    node_view_write(view, &json);
    arena_grow(arena, (void **)&status->nodes, status->node_count, &status->node_capacity,
               sizeof(*status->nodes));
    if (node_view_read(arena_str(arena, buf_str(&json)), arena, &status->nodes[status->node_count],
                       &err)) {
        status->node_count++;
    }
}

static void keep_demand(struct talk_status *status, struct arena *arena,
                        const struct insight_demand *demand)
{
    arena_grow(arena, (void **)&status->demands, status->demand_count, &status->demand_capacity,
               sizeof(*status->demands));
    struct insight_demand *kept = &status->demands[status->demand_count++];
    *kept = *demand;
    kept->shape = arena_str(arena, demand->shape);
    kept->labels = arena_str(arena, demand->labels);
    kept->why = arena_str(arena, demand->why);
}

static void keep_status(struct talk_status *status, struct arena *arena,
                        const struct ctl_status *told)
{
    struct ctl_status *kept = &status->status;
    *kept = *told;
    kept->ray_version = arena_str(arena, told->ray_version);
    kept->ray_address = arena_str(arena, told->ray_address);
    kept->stance = arena_str(arena, told->stance);
    kept->goal = arena_str(arena, told->goal);
    kept->launching = arena_str(arena, told->launching);
    kept->ending = arena_str(arena, told->ending);
    status->has_status = true;
}

void talk_status_take(struct talk_status *status, struct arena *arena, const struct ctl_line *line)
{
    if (line->kind == CTL_GREETING) {
        status->cluster = arena_str(arena, line->greeting.cluster);
        status->version = arena_str(arena, line->greeting.version);
    } else if (line->kind == CTL_STATUS) {
        keep_status(status, arena, &line->status);
    } else if (line->kind == CTL_NODE) {
        keep_node(status, arena, &line->node);
    } else if (line->kind == CTL_DEMAND) {
        keep_demand(status, arena, &line->demand);
    } else if (line->kind == CTL_TEXT) {
        status->ray_text = arena_str(arena, line->text);
    }
}

struct status_taking {
    struct talk_status *status;
    struct arena *arena;
};

static void take_line(void *context, const struct ctl_line *line)
{
    struct status_taking *taking = context;
    talk_status_take(taking->status, taking->arena, line);
}

bool talk_status(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
                 struct talk_status *ret_status, struct err *err)
{
    struct talk_question question = {.request = {.what = STR("status")}};
    struct status_taking taking = {ret_status, arena};
    *ret_status = (struct talk_status){0};
    return talk(&(struct talk_setup){.session = session,
                                     .place = place,
                                     .arena = arena,
                                     .questions = &question,
                                     .question_count = 1,
                                     .context = &taking,
                                     .line = take_line},
                err);
}

/* ---- logs ---- */

static void print_line(void *context, const struct ctl_line *line)
{
    if (line->kind == CTL_LOG) {
        fprintf(context, "%.*s\n", STR_ARG(line->text));
        fflush(context);
    }
}

bool talk_log(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
              struct str node, bool follows, FILE *out, struct err *err)
{
    struct talk_question question = {
        .request = {.what = STR("log"), .node = node, .follows = follows}};
    return talk(&(struct talk_setup){.session = session,
                                     .place = place,
                                     .arena = arena,
                                     .questions = &question,
                                     .question_count = 1,
                                     .context = out,
                                     .line = print_line},
                err);
}
