/* verb_top.c: shows a cluster on the whole screen, updated live. */
#include "cli/columns.h"
#include "cli/ctl_query.h"
#include "cli/json_object.h"
#include "cli/node_json.h"
#include "cli/output.h"
#include "cli/status_text.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_keys.h"
#include "cli/top/top_terminal.h"
#include "config/document/json_write.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    SOON_MS = 50,   /* merges changes within this time into one redraw */
    TICK_MS = 1000, /* updates ages */
    AGAIN_MS = 2000,
    PIPE_COLUMNS = 160,
};

struct top_fields {
    struct target_fields target;
    const char *sort;
    const char *output;
    bool once;
};

/* In the order of enum top_sort. */
static const char *const sorts[] = {"name", "state", "cpu", "memory", "age", "idle", "price", NULL};

static const struct operand operands[] = {
    {"FILE", offsetof(struct top_fields, target.file), true, COMPLETE_CLUSTER, NULL,
     TARGET_FILE_HELP " Not needed on the head of a cluster."},
};

static const struct option options[] = {
    {"sort", 0, OPTION_CHOICE, offsetof(struct top_fields, sort), "WORD", sorts,
     "The initial sort order: name, state, cpu, memory, age, idle or price."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct top_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json (one object, printed once)."},
    {"once", 0, OPTION_FLAG, offsetof(struct top_fields, once), NULL, NULL,
     "Print the cluster once and exit, as in a pipe."},
    TARGET_NAME_OPTION(struct top_fields),
    TARGET_PROFILE_OPTION(struct top_fields),
    TARGET_VERBOSE_OPTION(struct top_fields),
};

static const struct example examples[] = {
    {"shoal top cluster.yaml", "Watch the cluster; q quits."},
    {"shoal top --sort cpu cluster.yaml | head -20", "Print the busiest nodes once."},
};

struct top {
    const struct cli *cli;
    struct cloud_session *session;
    const char *const *argv; /* connection to the head's service */
    struct top_model model;
    struct top_view look;
    struct top_terminal *terminal; /* NULL: print once */
    struct ctl_client *client;
    struct ctl_client *log_client;
    struct loop_timer *draw;
    struct loop_timer *again;
    bool is_soon;    /* the timer runs for a pending change */
    bool is_greeted; /* connected at least once */
    bool is_fine;
    bool is_json;
    struct err err;
};

static int64_t verb_top_now_ms(void)
{
    return clock_wall_ms(&clock_of_machine);
}

/* ---- drawing ---- */

static void draw(struct top *top)
{
    AUTO_BUF struct buf text;
    struct screen_size screen = columns_of_screen(STDOUT_FILENO);
    buf_init(&text, OUTPUT_BYTES_MAX);
    top->look.columns = screen.columns;
    top->look.lines = screen.lines;
    top->look.now_ms = verb_top_now_ms();
    top_model_prune(&top->model, top->look.now_ms);
    top_draw(&text, &top->model, &top->look);
    top_terminal_show(top->terminal, buf_str(&text));
}

static void on_draw(void *context)
{
    struct top *top = context;
    top->is_soon = false;
    if (top->terminal) {
        draw(top);
        loop_timer_start(top->draw, TICK_MS);
    }
}

static void verb_top_changed(struct top *top)
{
    if (!top->is_soon) {
        top->is_soon = true;
        loop_timer_start(top->draw, SOON_MS);
    }
}

static void leave(struct top *top, bool is_fine)
{
    top->is_fine = is_fine;
    cloud_session_stop(top->session);
}

/* ---- a log ---- */

static void on_log_line(void *context, const struct ctl_line *line)
{
    struct top *top = context;
    struct top_log *log = &top->look.log;
    if (line->kind == CTL_GREETING) {
        ctl_client_ask_log(top->log_client, str_from(log->name), true);
    } else if (line->kind == CTL_LOG) {
        top_log_add(log, line->text);
        top->look.behind += top->look.behind > 0; /* keep the scroll position */
    } else if (line->kind == CTL_ERROR) {
        snprintf(log->trouble, sizeof(log->trouble), "%.*s", STR_ARG(line->text));
    }
    verb_top_changed(top);
}

static void close_log(struct top *top)
{
    ctl_client_close(top->log_client);
    top->log_client = NULL;
}

static void on_log_done(void *context, const struct err *err)
{
    struct top *top = context;
    struct top_log *log = &top->look.log;
    close_log(top);
    if (log->trouble[0] == '\0') {
        snprintf(log->trouble, sizeof(log->trouble), "%.250s", err->text);
    }
    verb_top_changed(top);
}

static void verb_top_open_log(struct top *top)
{
    struct ctl_client_hooks hooks = {top, on_log_line, on_log_done};
    close_log(top);
    top->log_client = ctl_client_open(top->session->children, top->argv, &hooks);
}

/* ---- keys ---- */

static void verb_top_on_keys(void *context, struct str bytes)
{
    struct top *top = context;
    struct top_key key;
    while (top_key_read(&bytes, &key)) {
        switch (top_press(&top->look, &top->model, key)) {
        case TOP_QUIT:
            leave(top, true);
            return;
        case TOP_OPEN_LOG:
            verb_top_open_log(top);
            break;
        case TOP_CLOSE_LOG:
            close_log(top);
            break;
        case TOP_STAY:
            break;
        }
    }
    draw(top); /* immediately: the user is waiting */
}

static void verb_top_on_changed(void *context)
{
    struct top *top = context;
    draw(top);
}

static void on_gone(void *context)
{
    struct top *top = context;
    leave(top, true);
}

/* ---- updates ---- */

static void ask_events(struct top *top)
{
    struct ctl_request request = {.what = STR("events"),
                                  .after = top_model_newest(&top->model),
                                  .follows = top->terminal != NULL};
    ctl_client_send(top->client, &request);
}

static void greeted(struct top *top, const struct ctl_line *line)
{
    struct ctl_request request = {.what = top->terminal ? STR("follow") : STR("status"),
                                  .wants_full = true};
    top_model_forget(&top->model);
    top->model.cluster = arena_str(top->cli->arena, line->greeting.cluster);
    top->is_greeted = true;
    ctl_client_send(top->client, &request);
    ask_events(top);
}

/* An older service does not know events but reports everything else. */
static bool is_about_events(const struct ctl_line *line)
{
    return (line->kind == CTL_ERROR && str_is(line->about, "events")) ||
           (line->kind == CTL_END && str_is(line->text, "events"));
}

static void verb_top_on_line(void *context, const struct ctl_line *line)
{
    struct top *top = context;
    if (line->kind == CTL_GREETING) {
        greeted(top, line);
    } else if (is_about_events(line)) {
        if (!top->terminal) {
            leave(top, true);
        }
    } else {
        top_model_apply(&top->model, line, verb_top_now_ms());
    }
    if (top->terminal) {
        verb_top_changed(top);
    }
}

static void verb_top_connect_head(void *context);

static void verb_top_on_done(void *context, const struct err *err)
{
    struct top *top = context;
    ctl_client_close(top->client);
    top->client = NULL;
    if (!top->terminal || !top->is_greeted) {
        top->err = *err;
        leave(top, false);
        return;
    }
    snprintf(top->model.trouble, sizeof(top->model.trouble), "%.200s; trying again", err->text);
    loop_timer_start(top->again, AGAIN_MS);
    verb_top_changed(top);
}

static void verb_top_connect_head(void *context)
{
    struct top *top = context;
    struct ctl_client_hooks hooks = {top, verb_top_on_line, verb_top_on_done};
    top->client = ctl_client_open(top->session->children, top->argv, &hooks);
}

/* ---- the verb ---- */

static bool open_terminal(struct top *top, const struct top_fields *given, struct err *err)
{
    struct top_terminal_hooks hooks = {top, verb_top_on_keys, verb_top_on_changed, on_gone};
    return given->once || top->is_json || !top_terminal_is_there() ||
           top_terminal_open(top->session->loop, &hooks, &top->terminal, err);
}

/* As `status -o json`, with the events and what the nodes have cost. */
static struct value *record_of(const struct top *top)
{
    const struct top_model *model = &top->model;
    struct arena *arena = top->cli->arena;
    struct ctl_query_status said = {.cluster = model->cluster, .status = model->status};
    struct value *events = record_list(arena);
    double spent;
    said.nodes = ARENA_ARRAY(arena, model->node_count + 1, struct node_view);
    said.demands = ARENA_ARRAY(arena, model->demand_count + 1, struct pending_demand);
    for (; said.node_count < model->node_count; said.node_count++) {
        said.nodes[said.node_count] = model->nodes[said.node_count].view;
    }
    for (; said.demand_count < model->demand_count; said.demand_count++) {
        said.demands[said.demand_count] = model->demands[said.demand_count].demand;
    }
    for (size_t i = 0; i < model->event_count; i++) {
        value_list_add(arena, events, event_record(arena, &model->events[i].event));
    }
    struct value *record = status_record(arena, &said);
    bool is_whole = top_model_spent(model, verb_top_now_ms(), &spent);
    record_number(arena, record, "dollars_so_far", spent / 1e6);
    record_flag(arena, record, "all_prices_known", is_whole);
    value_map_set_c(arena, record, "events", events);
    return record;
}

static int print_once(struct top *top)
{
    AUTO_BUF struct buf text;
    buf_init(&text, OUTPUT_BYTES_MAX);
    if (top->is_json) {
        struct err err;
        if (!json_write(&text, record_of(top), JSON_PRETTY, &err)) {
            return output_error(top->cli, &err);
        }
        buf_add_char(&text, '\n');
        return output_write(top->cli, top->cli->out, &text);
    }
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    top->look.columns = is_terminal ? columns_of_screen(STDOUT_FILENO).columns : PIPE_COLUMNS;
    top->look.now_ms = verb_top_now_ms();
    top_draw(&text, &top->model, &top->look);
    return output_write(top->cli, top->cli->out, &text);
}

static void close_top(struct top *top)
{
    top_terminal_close(top->terminal);
    top->terminal = NULL;
    close_log(top);
    ctl_client_close(top->client);
    loop_timer_free(top->draw);
    loop_timer_free(top->again);
}

static enum top_sort sort_of(const char *word)
{
    for (size_t i = 0; word && sorts[i]; i++) {
        if (strcmp(word, sorts[i]) == 0) {
            return (enum top_sort)i;
        }
    }
    return TOP_BY_NAME;
}

/* Ctrl-C is a normal way to quit. False with `err` if nothing could be shown. */
static bool run_top(struct top *top, const struct top_fields *given, int *ret_status,
                    struct err *err)
{
    top->look.colour = top->cli->colour_out;
    top->look.sort = sort_of(given->sort);
    top->is_json = given->output && strcmp(given->output, "json") == 0;
    top->draw = loop_timer_new(top->session->loop, on_draw, top);
    top->again = loop_timer_new(top->session->loop, verb_top_connect_head, top);
    bool ok = open_terminal(top, given, err);
    bool is_live = top->terminal != NULL;
    if (ok) {
        verb_top_connect_head(top);
        verb_top_changed(top);
        ok = cloud_session_run(top->session, err) || (is_live && top->session->signal == SIGINT);
    }
    close_top(top);
    *ret_status = ok && top->is_fine && !is_live ? print_once(top) : 0;
    if (ok && !top->is_fine && top->err.kind != ERR_NONE) {
        *err = top->err;
        ok = false;
    }
    top_log_clear(&top->look.log);
    return ok;
}

static int top_of_head(struct target *target, const void *fields)
{
    const struct top_fields *given = fields;
    struct top top = {.cli = &target->cli, .session = &target->session};
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    int status = 0;
    top_model_init(&top.model);
    top.model.where = target_where(target);
    bool ok = target_reach(target, &head, &place, &err) &&
              ctl_query_argv(&place, target->cli.arena, &top.argv, &err) &&
              run_top(&top, given, &status, &err);
    top_model_clear(&top.model);
    return ok ? status : target_fail(target, &err);
}

/* On the head itself. */
static int top_of_this(const struct cli *cli, const struct top_fields *given)
{
    struct cloud_session session;
    struct cloud_session_setup setup = {.least = LOG_LEVEL_WARNING};
    struct top top = {.cli = cli, .session = &session};
    struct err err;
    int status = 0;
    top_model_init(&top.model);
    if (!cloud_session_open(&session, &setup, &err)) {
        return output_error(cli, &err);
    }
    if (!ctl_query_argv(NULL, cli->arena, &top.argv, &err) ||
        !run_top(&top, given, &status, &err)) {
        output_error(cli, &err);
        fputs("Without FILE, this command works only on the head of a cluster; elsewhere use: "
              "shoal top FILE\n",
              cli->err);
        status = cloud_session_exit_status(&session, &err);
    }
    cloud_session_close(&session);
    top_model_clear(&top.model);
    return status;
}

static int verb_top_run(const struct cli *cli, const void *fields)
{
    struct top_fields given = *(const struct top_fields *)fields;
    given.target.file = target_file_or_here(cli, given.target.file);
    return given.target.file ? target_work(cli, &given.target, top_of_head, &given)
                             : top_of_this(cli, &given);
}

const struct verb verb_top = {
    .name = "top",
    .summary = "watch a cluster full-screen: nodes, demand, cost",
    .description =
        "Shows the nodes of a cluster with their state, usage, age and idle time; above them the "
        "pending requests and the cost, below them the latest events. The service on the head "
        "sends changes over ssh.\n\n"
        "Keys: Up and Down select a node; Enter follows its setup log, l the log of the "
        "autoscaler; / filters the nodes by a text in their name, type, machine, state, id, zone "
        "or address, and Esc shows all nodes again; s sorts by the next column, r reverses the "
        "order; ? lists all keys, q quits.\n\n"
        "The cost so far is estimated from the prices of the nodes that are listed; it is not "
        "the bill.\n\n"
        "In a pipe, on a terminal that cannot be redrawn (TERM=dumb) and with --once, the "
        "cluster is printed once, as plain text. On the head itself, no FILE is needed.\n\n"
        "With -o json the object has the fields of shoal status -o json, and: dollars_so_far, "
        "all_prices_known, events (as in shoal events -o json).",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 after q or Ctrl-C, 1 if the head did not answer, 2 for a usage error.",
    .fields_size = sizeof(struct top_fields),
    .run = verb_top_run,
};
