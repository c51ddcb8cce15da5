/* ctl_query.c: sends requests and reads the replies line by line. */
#include "cli/ctl_query.h"

#include "app/program.h"

struct talk {
    const struct ctl_query_setup *setup;
    struct ctl_client *client;
    struct loop_timer *again;
    size_t at; /* index of the request being answered */
    struct err err;
    bool is_answered;
};

static void ctl_query_finish(struct talk *talk, bool is_answered)
{
    talk->is_answered = is_answered;
    cloud_session_stop(talk->setup->session);
}

static void ctl_query_request(struct talk *talk)
{
    ctl_client_send(talk->client, &talk->setup->questions[talk->at].request);
}

static void ask_again(void *context)
{
    ctl_query_request(context);
}

static void ctl_query_proceed(struct talk *talk)
{
    const struct ctl_query_setup *setup = talk->setup;
    talk->at++;
    if (talk->at < setup->question_count) {
        ctl_query_request(talk);
        return;
    }
    int64_t wait = setup->answered ? setup->answered(setup->context) : -1;
    if (wait < 0) {
        ctl_query_finish(talk, true);
        return;
    }
    talk->at = 0;
    loop_timer_start(talk->again, wait);
}

static void on_error(struct talk *talk, const struct ctl_line *line)
{
    const struct ctl_query_question *question = &talk->setup->questions[talk->at];
    if (question->is_optional && str_eq(line->about, question->request.what)) {
        ctl_query_proceed(talk);
        return;
    }
    err_set(&talk->err, ERR_UNAVAILABLE, "the head says: %.*s",
            STR_ARG(str_sub(line->text, 0, 300)));
    ctl_query_finish(talk, false);
}

static void ctl_query_on_line(void *context, const struct ctl_line *line)
{
    struct talk *talk = context;
    const struct ctl_query_setup *setup = talk->setup;
    if (line->kind == CTL_ERROR) {
        on_error(talk, line);
        return;
    }
    setup->line(setup->context, line);
    if (line->kind == CTL_GREETING) {
        ctl_query_request(talk);
    } else if ((line->kind == CTL_END || line->kind == CTL_DONE) &&
               str_eq(line->text, setup->questions[talk->at].request.what)) {
        ctl_query_proceed(talk);
    }
}

static void ctl_query_on_done(void *context, const struct err *err)
{
    struct talk *talk = context;
    talk->client = NULL;
    talk->err = *err;
    if (err->kind == ERR_NONE) {
        err_set(&talk->err, ERR_UNAVAILABLE, "the head closed the connection");
    }
    ctl_query_finish(talk, false);
}

bool ctl_query_argv(const struct ssh_target *place, struct arena *arena,
                    const char *const **ret_argv, struct err *err)
{
    struct str program;
    struct ssh_session session = {.command = STR("~/.shoal/bin/shoal ctl")};
    if (place) {
        return ssh_argv(place, &session, arena, ret_argv, err);
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

bool talk(const struct ctl_query_setup *setup, struct err *err)
{
    struct talk talk = {.setup = setup};
    const char *const *argv;
    struct ctl_client_hooks hooks = {&talk, ctl_query_on_line, ctl_query_on_done};
    if (!ctl_query_argv(setup->place, setup->arena, &argv, err)) {
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

/* Copies the view: the line is valid only during the call. */
static void keep_node(struct ctl_query_status *status, struct arena *arena,
                      const struct node_view *view)
{
    ARENA_PUSH(arena, status->nodes, status->node_count,
               status->node_capacity) = node_view_copy(arena, view);
}

static void keep_demand(struct ctl_query_status *status, struct arena *arena,
                        const struct pending_demand *demand)
{
    struct pending_demand *kept = &ARENA_PUSH(arena, status->demands, status->demand_count,
                                              status->demand_capacity);
    *kept = *demand;
    fields_copy(&pending_demand_table, arena, kept);
}

static void keep_status(struct ctl_query_status *status, struct arena *arena,
                        const struct ctl_status *told)
{
    status->status = *told;
    fields_copy(&ctl_status_table, arena, &status->status);
    status->has_status = true;
}

void ctl_query_status_take(struct ctl_query_status *status, struct arena *arena,
                           const struct ctl_line *line)
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

static bool ctl_query_ask(struct cloud_session *session, const struct ssh_target *place,
                          struct arena *arena, const struct ctl_request *request,
                          ctl_query_line_fn *line, void *context, struct err *err)
{
    struct ctl_query_question question = {.request = *request};
    return talk(&(struct ctl_query_setup){.session = session,
                                          .place = place,
                                          .arena = arena,
                                          .questions = &question,
                                          .question_count = 1,
                                          .context = context,
                                          .line = line},
                err);
}

bool ctl_query_head(struct target *target, const struct ctl_request *request,
                    ctl_query_line_fn *line, void *context, struct err *err)
{
    struct launcher_head head;
    struct ssh_target place;
    return target_reach(target, &head, &place, err) &&
           ctl_query_ask(&target->session, &place, target->cli.arena, request, line, context, err);
}

struct status_taking {
    struct ctl_query_status *status;
    struct arena *arena;
};

static void ctl_query_read_line(void *context, const struct ctl_line *line)
{
    struct status_taking *taking = context;
    ctl_query_status_take(taking->status, taking->arena, line);
}

bool ctl_query_status(struct cloud_session *session, const struct ssh_target *place,
                      struct arena *arena, struct ctl_query_status *ret_status, struct err *err)
{
    struct status_taking taking = {ret_status, arena};
    *ret_status = (struct ctl_query_status){0};
    return ctl_query_ask(session, place, arena, &(struct ctl_request){.what = STR("status")},
                         ctl_query_read_line, &taking, err);
}

/* ---- logs ---- */

struct log_taking {
    ctl_query_log_fn *take;
    void *context;
};

static void take_log(void *context, const struct ctl_line *line)
{
    struct log_taking *taking = context;
    if (line->kind == CTL_LOG) {
        taking->take(taking->context, line->text);
    }
}

bool ctl_query_log(struct cloud_session *session, const struct ssh_target *place,
                   struct arena *arena, struct str node, bool follows, ctl_query_log_fn *take,
                   void *context, struct err *err)
{
    struct ctl_request request = {.what = STR("log"), .node = node, .follows = follows};
    struct log_taking taking = {take, context};
    return ctl_query_ask(session, place, arena, &request, take_log, &taking, err);
}
