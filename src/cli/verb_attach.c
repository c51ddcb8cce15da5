/* verb_attach.c: a shell on the head. */
#include "cli/cloud.h"
#include "cli/command.h"
#include "cli/output.h"

struct attach_fields {
    struct target_fields target;
    struct command_fields command;
    bool is_new;
    const char *node_ip;
};

static const struct operand operands[] = {TARGET_OPERAND(struct attach_fields)};

static const struct option options[] = {
    COMMAND_START_OPTION(struct attach_fields),
    {"screen", 0, OPTION_FLAG, offsetof(struct attach_fields, command.screen), NULL, NULL,
     "Attach to the screen that runs there, or to a new one."},
    {"tmux", 0, OPTION_FLAG, offsetof(struct attach_fields, command.tmux), NULL, NULL,
     "Attach to the tmux that runs there, or to a new one."},
    {"new", 'N', OPTION_FLAG, offsetof(struct attach_fields, is_new), NULL, NULL,
     "With --screen or --tmux: a new one in any case."},
    COMMAND_PORT_OPTION(struct attach_fields),
    {"node-ip", 0, OPTION_TEXT, offsetof(struct attach_fields, node_ip), "ADDRESS", NULL,
     "Attach to the node with this address instead of the head. Workers are reached from the "
     "head."},
    TARGET_NAME_OPTION(struct attach_fields),
    TARGET_PROFILE_OPTION(struct attach_fields),
    TARGET_CACHE_OPTION(struct attach_fields),
    TARGET_LOG_OPTIONS(struct attach_fields),
};

static const struct example examples[] = {
    {"shoal attach cluster.yaml", "A shell on the head."},
    {"shoal attach --tmux cluster.yaml", "In a tmux that is there again after a broken link."},
    {"shoal attach -p 8265 cluster.yaml", "With Ray's dashboard at http://localhost:8265."},
};

/* As Ray has them. */
static struct str shell_line(const struct attach_fields *given)
{
    if (given->command.tmux) {
        return given->is_new ? STR("tmux new") : STR("tmux attach || tmux new");
    }
    if (given->command.screen) {
        return given->is_new ? STR("screen -L") : STR("screen -L -xRR");
    }
    return STR("$SHELL");
}

static bool check(const struct attach_fields *given, struct err *err)
{
    if (given->is_new && !given->command.screen && !given->command.tmux) {
        return err_set(err, ERR_USAGE, "--new belongs to --screen or --tmux");
    }
    return command_check(&given->command, err);
}

static bool is_head(const struct launcher_head *head, struct str address)
{
    return address.len == 0 || str_eq(address, head->address) || str_eq(address, head->public_ip) ||
           str_eq(address, head->private_ip);
}

static int attach(struct target *target, const struct attach_fields *given)
{
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    struct command_fields command = given->command;
    struct str node = str_from(given->node_ip);
    if (command.start && node.len > 0) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--start is ignored together with --node-ip, as in Ray"));
        command.start = false;
    }
    int status = command_find(target, &command, &head, &place);
    if (status != 0) {
        return status;
    }
    if (!is_head(&head, node)) {
        err_set(&err, ERR_NOT_FOUND,
                "%.*s is not the head's address (%.*s); workers cannot be attached to yet",
                STR_ARG(str_sub(node, 0, 100)), STR_ARG(head.address));
        return target_fail(target, &err);
    }
    if (!head.is_up_to_date) {
        cloud_print_lines(&target->cli, "warning",
                          STR("the head's set-up has not ended, or has failed"));
    }
    struct remote_line line = {.command = shell_line(given)};
    line.docker = remote_line_docker(target->config, "auto", line.command);
    command.screen = command.tmux = false; /* they are the command itself */
    return command_run(target, &command, &place, &line);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct attach_fields *given = fields;
    struct target target;
    struct err err;
    if (!check(given, &err)) {
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    status = status ? status : attach(&target, given);
    target_close(&target);
    return status;
}

const struct verb verb_attach = {
    .name = "attach",
    .summary = "open a shell on the head of a cluster",
    .description = "Opens the user's shell on the head by ssh, in the container if the file has a "
                   "docker section. With --tmux or --screen the shell goes on after a broken "
                   "connection, and the next attach finds it again.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "That of the shell; 255 when ssh failed, 1 when there is no head, 2 for a wrong "
                   "command line.",
    .fields_size = sizeof(struct attach_fields),
    .run = run,
};
