/* verb_attach.c: a shell on the head. */
#include "cli/cloud.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/talk.h"

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

static bool has_address(const struct node_view *view, struct str address)
{
    return str_eq(address, view->public_ip) || str_eq(address, view->private_ip);
}

/*
 * Workers are reached from the head, which has their keys: an ssh from there to there. The head's
 * service says which machine the address belongs to, and by that its host key is known.
 */
static bool find_hop(struct target *target, const struct ssh_place *place, struct str address,
                     bool has_terminal, struct str *ret_hop, struct err *err)
{
    struct talk_status said;
    struct arena *arena = target->cli.arena;
    if (!talk_status(&target->session, place, arena, &said, err)) {
        return false;
    }
    for (size_t i = 0; i < said.node_count; i++) {
        const struct node_view *view = &said.nodes[i];
        if (!has_address(view, address) || view->phase == PHASE_GONE) {
            continue;
        }
        AUTO_BUF struct buf user;
        buf_init(&user, 1024);
        remote_line_quote(&user, place->user);
        *ret_hop = arena_printf(arena,
                                "ssh %s -o StrictHostKeyChecking=yes -o HostKeyAlias=%.*s "
                                "-o UserKnownHostsFile=~/.shoal/cluster/known_hosts/%.*s "
                                "-o IdentitiesOnly=yes -i ~/ray_bootstrap_key.pem -l %.*s -- %.*s ",
                                has_terminal ? "-tt" : "-T", STR_ARG(view->id), STR_ARG(view->id),
                                STR_ARG(buf_str(&user)), STR_ARG(view->private_ip));
        return true;
    }
    return err_set(err, ERR_NOT_FOUND, "no node of the cluster has the address %.*s",
                   STR_ARG(str_sub(address, 0, 100)));
}

static int attach(struct target *target, const void *fields)
{
    const struct attach_fields *given = fields;
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    struct command_fields command = given->command;
    struct str node = str_from(given->node_ip);
    struct remote_line line = {.command = shell_line(given)};
    if (command.start && node.len > 0) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--start is ignored together with --node-ip, as in Ray"));
        command.start = false;
    }
    int status = command_find(target, &command, &head, &place);
    if (status != 0) {
        return status;
    }
    if (!is_head(&head, node) &&
        !find_hop(target, &place, node, target_has_terminal(), &line.hop, &err)) {
        return target_fail(target, &err);
    }
    target_warn_of_set_up(target, &head);
    line.docker = remote_line_docker(target->config, "auto", line.command);
    command.screen = command.tmux = false; /* they are the command itself */
    return command_run(target, &command, &place, &line);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct attach_fields *given = fields;
    struct err err;
    if (!check(given, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, attach, given);
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
