/* command.c: finds the head and runs a command on it. */
#include "cli/command.h"

#include "app/launch/head_connection.h"
#include "app/setup/setup_plan.h"
#include "cli/cloud.h"
#include "cli/ctl_query.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "io/file.h"
#include "remote/ssh_error.h"

#include <unistd.h>

bool command_check(const struct command_fields *given, struct err *err)
{
    enum { PORT_MAX = 65535 };
    if (given->screen && given->tmux) {
        return err_set(err, ERR_USAGE, "use either --screen or --tmux, not both");
    }
    for (size_t i = 0; i < given->ports.count; i++) {
        if (given->ports.items[i] < 1 || given->ports.items[i] > PORT_MAX) {
            return err_set(err, ERR_USAGE, "--port-forward needs a port from 1 to %d, not %lld",
                           PORT_MAX, (long long)given->ports.items[i]);
        }
    }
    return true;
}

static bool command_do_find(struct target *target, struct launcher_head *ret_head,
                            struct ssh_target *ret_place, int *ret_status)
{
    struct err err;
    if (!target_reach(target, ret_head, ret_place, &err)) {
        *ret_status = target_fail(target, &err);
        return false;
    }
    return true;
}

int command_find(struct target *target, const struct command_fields *given,
                 struct launcher_head *ret_head, struct ssh_target *ret_place)
{
    struct err err;
    int status = 0;
    struct arena *arena = target->cli.arena;
    if (!given->start) {
        return command_do_find(target, ret_head, ret_place, &status) ? 0 : status;
    }
    bool is_there = launcher_find_head(&target->setup, arena, ret_head, &err) &&
                    launcher_head_place(&target->setup, ret_head, arena, ret_place, &err);
    if (is_there) {
        return 0;
    }
    if (err.kind != ERR_NOT_FOUND || target_is_others(target, &err)) {
        return target_fail(target, &err);
    }
    target_announce(target);
    status = launch_up(target, NULL, NULL);
    if (status != 0) {
        return status;
    }
    return command_do_find(target, ret_head, ret_place, &status) ? 0 : status;
}

/* ---- another node ---- */

static bool is_head(const struct launcher_head *head, struct str node)
{
    return node.len == 0 || str_is(node, "head") || str_eq(node, head->address) ||
           str_eq(node, head->public_ip) || str_eq(node, head->private_ip);
}

static bool is_node(const struct node_view *view, struct str node)
{
    return str_eq(node, view->name) || str_eq(node, view->id) || str_eq(node, view->public_ip) ||
           str_eq(node, view->private_ip);
}

static bool no_such_node(const struct ctl_query_status *said, struct str node, struct err *err)
{
    AUTO_BUF struct buf names;
    buf_init(&names, 1024);
    for (size_t i = 0; i < said->node_count && names.len < 200; i++) {
        if (said->nodes[i].phase != PHASE_TERMINATED) {
            buf_addf(&names, "%s%.*s", names.len > 0 ? ", " : "", STR_ARG(said->nodes[i].name));
        }
    }
    return err_set(err, ERR_NOT_FOUND, "the cluster has no node %.*s; its nodes: %.*s",
                   STR_ARG(str_sub(node, 0, 100)), STR_ARG(buf_str(&names)));
}

bool command_find_node(struct target *target, const struct launcher_head *head,
                       const struct ssh_target *place, struct str node, struct str *ret_hop,
                       struct err *err)
{
    struct ctl_query_status said;
    struct arena *arena = target->cli.arena;
    *ret_hop = STR("");
    if (is_head(head, node)) {
        return true;
    }
    if (!ctl_query_status(&target->session, place, arena, &said, err)) {
        return false;
    }
    for (size_t i = 0; i < said.node_count; i++) {
        const struct node_view *view = &said.nodes[i];
        if (!is_node(view, node) || view->phase == PHASE_TERMINATED || view->is_head) {
            continue;
        }
        if (view->private_ip.len == 0) {
            return err_set(err, ERR_UNAVAILABLE, "%.*s has no address yet; it is %s",
                           STR_ARG(view->name), node_phase_text(view->phase));
        }
        /* Its id is the name under which the head has pinned its host key. */
        *ret_hop = remote_line_hop(place->user, view->id, view->private_ip, target_has_terminal(),
                                   arena);
        return true;
    }
    return no_such_node(&said, node, err);
}

/*
 * With --screen or --tmux we may be disconnected when the command ends, so the head terminates its
 * workers and then itself. It cannot delete other resources or stop instances instead, and it
 * cannot be reached from inside a container.
 */
bool command_check_end(const struct target *target, const struct command_fields *given,
                       const struct config_docker *docker, struct err *err)
{
    if (!given->stop || (!given->screen && !given->tmux)) {
        return true;
    }
    if (docker) {
        return err_set(err, ERR_USAGE,
                       "--stop with --screen or --tmux needs --run-env host: the cluster cannot "
                       "be terminated from inside the container");
    }
    if (target->setup.keeps_stopped) {
        return err_set(err, ERR_USAGE,
                       "--stop with --screen or --tmux would terminate instances that "
                       "cache_stopped_nodes: true keeps; omit --screen and --tmux, or run shoal "
                       "down afterwards");
    }
    return true;
}

static void say_end(const struct target *target)
{
    fprintf(
        target->cli.err,
        "When the command has finished, the head terminates its workers and stops. Its disk, the "
        "key pair, security group and IAM role remain; shoal down %s removes them.\n",
        target_text(target).ptr);
}

static void say_attach(const struct target *target, const struct command_fields *given)
{
    fprintf(target->cli.err, "The command is running on the head. To see it: shoal attach %s %s\n",
            given->tmux ? "--tmux" : "--screen", target_text(target).ptr);
}

static int command_stop(struct target *target, int status)
{
    int problem = target_connect(target);
    problem = problem ? problem : launch_down(target, NULL);
    return status ? status : problem;
}

/* The argv of ssh; ssh's own messages go to `log`, unless it is NULL. */
static bool command_argv(const struct target *target, const struct command_fields *given,
                         const struct ssh_target *place, const char *log, struct remote_line *line,
                         const char *const **ret_argv, struct err *err)
{
    struct ssh_forward forwards[OPTION_NUMBERS_MAX];
    struct ssh_target way = target_way(place, given->ports.count > 0);
    struct ssh_session session = {
        .is_interactive = target_has_terminal(), .forwards = forwards, .log = log};
    for (size_t i = 0; i < given->ports.count; i++) {
        uint16_t port = (uint16_t)given->ports.items[i];
        forwards[session.forward_count++] = (struct ssh_forward){port, port};
    }
    line->keeper = given->screen ? REMOTE_SCREEN : given->tmux ? REMOTE_TMUX : line->keeper;
    bool is_kept = line->keeper != REMOTE_DIRECT;
    if (given->stop && is_kept) {
        line->afterwards = STR(SETUP_PROGRAM " ctl --ask " CTL_REQUEST_TERMINATE);
    }
    line->has_terminal = session.is_interactive;
    line->is_attended = !session.is_interactive && !is_kept;
    if (line->is_attended) {
        way.control = NULL; /* over a shared connection, the end of ssh is not seen there */
    }
    session.command = remote_line_make(line, target->cli.arena);
    if (session.command.len > REMOTE_LINE_BYTES_MAX) {
        return err_set(err, ERR_USAGE, "the command is too long");
    }
    return ssh_argv(&way, &session, target->cli.arena, ret_argv, err);
}

/* ---- what ssh logged ---- */

struct command_log {
    bool has_connected; /* as in ssh_error.h */
    bool was_cut;       /* a signal ended ssh before the login */
};

/* Prints what ssh logged, unless it did not connect and `hides_failure`. */
static struct command_log command_read_log(const struct target *target, const char *path,
                                           int status, bool hides_failure)
{
    enum { LOG_BYTES_MAX = 64 * 1024, BY_SIGNAL = 128, SSH_FAILED = 255 };
    AUTO_BUF struct buf text;
    struct err ignored;
    buf_init(&text, LOG_BYTES_MAX);
    if (path) {
        (void)!file_read(path, &text, &ignored); /* then nothing proves that it did not start */
        (void)unlink(path);
    }
    struct command_log found = {
        .has_connected = status != SSH_FAILED || ssh_has_connected(buf_str(&text)),
        .was_cut = status > BY_SIGNAL && status < SSH_FAILED && !ssh_has_logged_in(buf_str(&text)),
    };
    struct str rest = buf_str(&text);
    while ((found.has_connected || !hides_failure) && rest.len > 0) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (!ssh_is_chatter(line)) {
            fprintf(target->cli.err, "%.*s\n", STR_ARG(line));
        }
    }
    return found;
}

/* With --stop: deletes the cluster, unless the user interrupted ssh before the command started. */
static int command_end(struct target *target, const struct command_log *log, int status)
{
    if (!log->was_cut) {
        return command_stop(target, status);
    }
    fprintf(target->cli.err,
            "The command was not started, so the cluster was not stopped. To stop it: shoal down "
            "%s\n",
            target_text(target).ptr);
    return status;
}

int command_run(struct target *target, const struct command_fields *given,
                const struct ssh_target *place, struct remote_line *line)
{
    struct err err;
    const char *const *argv;
    bool is_kept = given->screen || given->tmux || line->keeper != REMOTE_DIRECT;
    bool stops = given->stop && !is_kept;
    const char *log = stops ? head_connection_log(&target->setup, target->cli.arena) : NULL;
    if (!command_argv(target, given, place, log, line, &argv, &err)) {
        (void)(log && unlink(log));
        return target_fail(target, &err);
    }
    int status = target_run(target, argv, STR(""));
    struct command_log found = command_read_log(target, log, status, false);
    if (status == 0 && is_kept) {
        say_attach(target, given);
    }
    if (status == 0 && is_kept && given->stop) {
        say_end(target);
    }
    return stops ? command_end(target, &found, status) : status;
}

/* ---- scripts ---- */

bool command_is_alone(const struct command_fields *given)
{
    return !target_has_terminal() && !given->start && !given->screen && !given->tmux;
}

/* Runs it on the stored head. False: it has not started there; ask the cloud. */
static bool command_try(struct target *target, const struct command_fields *given,
                        struct remote_line *line, int *ret_status)
{
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    const char *const *argv;
    struct arena *arena = target->cli.arena;
    if (target->given->no_config_cache ||
        !head_connection_recall(&target->setup, arena, &head, &place)) {
        return false;
    }
    const char *log = head_connection_log(&target->setup, arena);
    if (!log) {
        return false;
    }
    if (!command_argv(target, given, &place, log, line, &argv, &err)) {
        (void)unlink(log);
        *ret_status = target_fail(target, &err);
        return true;
    }
    *ret_status = target_run(target, argv, STR(""));
    struct command_log found = command_read_log(target, log, *ret_status, true);
    if (found.has_connected && given->stop) {
        *ret_status = command_end(target, &found, *ret_status);
    }
    return found.has_connected;
}

int command_run_alone(struct target *target, const struct command_fields *given,
                      struct remote_line *line)
{
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    int status = 0;
    if (command_try(target, given, line, &status)) {
        return status;
    }
    status = target->session.loop ? 0 : target_connect(target);
    if (status != 0) {
        return status;
    }
    if (!target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    head_connection_store(&target->setup, &head, target->cli.arena);
    return command_run(target, given, &place, line);
}
