/* verb_attach.c: opens a shell on the head. */
#include "cli/cloud.h"
#include "cli/command.h"
#include "cli/output.h"

struct attach_fields {
    struct target_fields target;
    struct command_fields command;
    bool is_new;
    const char *node_ip;
    const char *node;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct attach_fields),
    {"NODE", offsetof(struct attach_fields, node), true, COMPLETE_NOTHING, NULL,
     "The node as shown by status: worker-2, or its id or address. The default is the head. The "
     "connection to a worker goes through the head."},
};

static const struct option options[] = {
    COMMAND_START_OPTION(struct attach_fields),
    {"screen", 0, OPTION_FLAG, offsetof(struct attach_fields, command.screen), NULL, NULL,
     "Attach to the running screen session, or start one."},
    {"tmux", 0, OPTION_FLAG, offsetof(struct attach_fields, command.tmux), NULL, NULL,
     "Attach to the running tmux session, or start one."},
    {"new", 'N', OPTION_FLAG, offsetof(struct attach_fields, is_new), NULL, NULL,
     "With --screen or --tmux: always start a new session."},
    COMMAND_PORT_OPTION(struct attach_fields),
    {"node-ip", 0, OPTION_TEXT, offsetof(struct attach_fields, node_ip), "ADDRESS", NULL,
     "The node by its address; the same as NODE, for compatibility with Ray."},
    TARGET_NAME_OPTION(struct attach_fields),
    TARGET_PROFILE_OPTION(struct attach_fields),
    TARGET_CACHE_OPTION(struct attach_fields),
    TARGET_LOG_OPTIONS(struct attach_fields),
};

static const struct example examples[] = {
    {"shoal attach cluster.yaml", "Open a shell on the head."},
    {"shoal attach cluster.yaml worker-2", "Open a shell on a worker."},
    {"shoal attach --tmux cluster.yaml", "Use a tmux session, which survives a lost connection."},
    {"shoal attach -p 8265 cluster.yaml", "Also forward Ray's dashboard to http://localhost:8265."},
};

/* As in Ray, except that `tmux attach` runs only if there is a session: without one it starts a
 * server that ends again, and `tmux new` may connect to it while it ends. */
static struct str shell_line(const struct attach_fields *given)
{
    if (given->command.tmux) {
        return given->is_new ? STR("tmux new")
                             : STR("tmux has-session 2>/dev/null && tmux attach || tmux new");
    }
    if (given->command.screen) {
        return given->is_new ? STR("screen -L") : STR("screen -L -xRR");
    }
    return STR("$SHELL");
}

static bool verb_attach_check(const struct attach_fields *given, struct err *err)
{
    if (given->node && given->node_ip) {
        return err_set(err, ERR_USAGE, "use either NODE or --node-ip, not both");
    }
    if (given->is_new && !given->command.screen && !given->command.tmux) {
        return err_set(err, ERR_USAGE, "--new needs --screen or --tmux");
    }
    return command_check(&given->command, err);
}

static int attach(struct target *target, const void *fields)
{
    const struct attach_fields *given = fields;
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    struct command_fields command = given->command;
    struct str node = str_from(given->node ? given->node : given->node_ip);
    struct remote_line line = {.command = shell_line(given)};
    if (command.start && node.len > 0) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--start has no effect when a node is given, as in Ray"));
        command.start = false;
    }
    int status = command_find(target, &command, &head, &place);
    if (status != 0) {
        return status;
    }
    if (!command_find_node(target, &head, &place, node, &line.hop, &err)) {
        return target_fail(target, &err);
    }
    target_warn_of_set_up(target, &head);
    line.docker = remote_line_docker(target->config, "auto", line.command);
    command.screen = command.tmux = false; /* here --screen and --tmux are the command itself */
    return command_run(target, &command, &place, &line);
}

static int verb_attach_run(const struct cli *cli, const void *fields)
{
    const struct attach_fields *given = fields;
    struct err err;
    if (!verb_attach_check(given, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, attach, given);
}

const struct verb verb_attach = {
    .name = "attach",
    .summary = "open a shell on the head or a worker of a cluster",
    .description =
        "Opens a shell on the head, or on another node, over ssh. With --tmux or --screen the "
        "session survives a lost connection, and the next attach returns to it.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "The exit status of the shell; 255 if ssh failed, 1 if there is no head, 2 for "
                   "a usage error.",
    .fields_size = sizeof(struct attach_fields),
    .run = verb_attach_run,
};
