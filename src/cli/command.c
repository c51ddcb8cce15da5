/* command.c: find the head, run a line on it. */
#include "cli/command.h"

#include "app/setup/setup_plan.h"
#include "cli/cloud.h"
#include "cli/launch.h"
#include "cli/output.h"

bool command_check(const struct command_fields *given, struct err *err)
{
    enum { PORT_MAX = 65535 };
    if (given->screen && given->tmux) {
        return err_set(err, ERR_USAGE, "--screen and --tmux: one of them is enough");
    }
    for (size_t i = 0; i < given->ports.count; i++) {
        if (given->ports.items[i] < 1 || given->ports.items[i] > PORT_MAX) {
            return err_set(err, ERR_USAGE, "--port-forward wants a port, 1 to %d, not %lld",
                           PORT_MAX, (long long)given->ports.items[i]);
        }
    }
    return true;
}

static bool find(struct target *target, struct launcher_head *ret_head, struct ssh_place *ret_place,
                 int *ret_status)
{
    struct err err;
    if (!target_find(target, ret_head, ret_place, &err)) {
        *ret_status = target_fail(target, &err);
        return false;
    }
    return true;
}

int command_find(struct target *target, const struct command_fields *given,
                 struct launcher_head *ret_head, struct ssh_place *ret_place)
{
    struct err err;
    int status = 0;
    struct arena *arena = target->cli.arena;
    if (!given->start) {
        return find(target, ret_head, ret_place, &status) ? 0 : status;
    }
    bool is_there = launcher_find_head(&target->setup, arena, ret_head, &err) &&
                    launcher_head_place(&target->setup, ret_head, arena, ret_place, &err);
    if (is_there) {
        return 0;
    }
    if (err.kind != ERR_NOT_FOUND) {
        return target_fail(target, &err);
    }
    status = launch_up(target, NULL, NULL);
    if (status != 0) {
        return status;
    }
    return find(target, ret_head, ret_place, &status) ? 0 : status;
}

/*
 * Nobody may be here when it ends: the head ends its workers and then itself. It cannot remove what
 * surrounds them, and knows nothing of stopping; from inside a container it cannot be reached.
 */
bool command_check_end(const struct target *target, const struct command_fields *given,
                       const struct config_docker *docker, struct err *err)
{
    if (!given->stop || (!given->screen && !given->tmux)) {
        return true;
    }
    if (docker) {
        return err_set(err, ERR_USAGE,
                       "--stop with --screen or --tmux needs --run-env host: from inside the "
                       "container the cluster cannot be ended");
    }
    if (target->setup.keeps_stopped) {
        return err_set(err, ERR_USAGE,
                       "--stop with --screen or --tmux would end machines that "
                       "cache_stopped_nodes: true is to keep; run it without them, or run shoal "
                       "down when it is done");
    }
    return true;
}

static void say_end(const struct target *target)
{
    fprintf(target->cli.err,
            "When it has ended, the head ends its workers and itself. Key pair, security group and "
            "role stay: shoal down %s removes them.\n",
            target_words(target).ptr);
}

static void say_attach(const struct target *target, const struct command_fields *given)
{
    fprintf(target->cli.err, "It runs on the head. To look: shoal attach %s %s\n",
            given->tmux ? "--tmux" : "--screen", target_words(target).ptr);
}

static int stop(struct target *target, int status)
{
    int problem = target_connect(target);
    problem = problem ? problem : launch_down(target, NULL);
    return status ? status : problem;
}

int command_run(struct target *target, const struct command_fields *given,
                const struct ssh_place *place, struct remote_line *line)
{
    struct err err;
    struct ssh_forward forwards[OPTION_NUMBERS_MAX];
    const char *const *argv;
    struct ssh_place way = target_way(place, given->ports.count > 0);
    struct ssh_session session = {.is_interactive = target_has_terminal(), .forwards = forwards};
    for (size_t i = 0; i < given->ports.count; i++) {
        uint16_t port = (uint16_t)given->ports.items[i];
        forwards[session.forward_count++] = (struct ssh_forward){port, port};
    }
    line->keeper = given->screen ? REMOTE_SCREEN : given->tmux ? REMOTE_TMUX : line->keeper;
    bool is_kept = line->keeper != REMOTE_DIRECT;
    if (given->stop && is_kept) {
        line->afterwards = STR(SETUP_PROGRAM " ctl --ask end");
    }
    line->has_terminal = session.is_interactive;
    session.command = remote_line_make(line, target->cli.arena);
    if (session.command.len > REMOTE_LINE_BYTES_MAX) {
        err_set(&err, ERR_USAGE, "the command is longer than what a machine takes at once");
        return target_fail(target, &err);
    }
    if (!ssh_words(&way, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    int status = target_run(target, argv);
    if (status == 0 && is_kept) {
        say_attach(target, given);
    }
    if (status == 0 && is_kept && given->stop) {
        say_end(target);
    }
    return given->stop && !is_kept ? stop(target, status) : status;
}
