/* verb_exec.c: runs a command on the head. */
#include "cli/command.h"
#include "cli/output.h"

struct exec_fields {
    struct target_fields target;
    struct command_fields command;
    const char *line;
    const char *run_env;
    const char *node;
};

static const char *const run_envs[] = {"auto", "host", "docker", NULL};

static const struct operand operands[] = {
    TARGET_OPERAND(struct exec_fields),
    {"CMD", offsetof(struct exec_fields, line), false, COMPLETE_NOTHING, NULL,
     "The command as one argument; quote it."},
};

static const struct option options[] = {
    {"node", 0, OPTION_TEXT, offsetof(struct exec_fields, node), "NODE", NULL,
     "Run the command on this node instead of the head: worker-2, or its id or address. The "
     "connection goes through the head."},
    {"run-env", 0, OPTION_CHOICE, offsetof(struct exec_fields, run_env), "WHERE", run_envs,
     "Run the command in the container (docker), on the machine (host), or in the container if "
     "the file has a docker section and the command does not start with docker (auto)."},
    COMMAND_START_OPTION(struct exec_fields),
    COMMAND_STOP_OPTION(struct exec_fields),
    COMMAND_SCREEN_OPTION(struct exec_fields),
    COMMAND_TMUX_OPTION(struct exec_fields),
    COMMAND_PORT_OPTION(struct exec_fields),
    TARGET_NAME_OPTION(struct exec_fields),
    TARGET_PROFILE_OPTION(struct exec_fields),
    TARGET_USAGE_OPTION(struct exec_fields),
    TARGET_CACHE_OPTION(struct exec_fields),
    TARGET_LOG_OPTIONS(struct exec_fields),
};

static const struct example examples[] = {
    {"shoal exec cluster.yaml 'ray status'", "Run ray status on the head."},
    {"shoal exec cluster.yaml 'python -c \"print(1)\"' > out.txt",
     "Save only the output of the command."},
    {"shoal exec --node worker-2 cluster.yaml 'nvidia-smi'", "On a worker."},
    {"shoal exec --start --stop cluster.yaml 'python train.py'",
     "Launch a cluster for one command; the exit status is that of the command."},
};

/* Sessions that are kept and looked at again are the head's. */
static bool check_node(const struct exec_fields *given, struct err *err)
{
    if (given->node && (given->command.screen || given->command.tmux)) {
        return err_set(err, ERR_USAGE, "--node cannot be combined with --screen or --tmux");
    }
    return true;
}

/* Finds the node and runs the command there. */
static int exec_on_node(struct target *target, const struct exec_fields *given,
                        struct remote_line *line)
{
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    int status = command_find(target, &given->command, &head, &place);
    if (status != 0) {
        return status;
    }
    return command_find_node(target, &head, &place, str_from(given->node), &line->hop, &err)
               ? command_run(target, &given->command, &place, line)
               : target_fail(target, &err);
}

static int verb_exec_run(const struct cli *cli, const void *fields)
{
    const struct exec_fields *given = fields;
    struct target target;
    struct err err;
    if (given->line[0] == '\0') {
        err_set(&err, ERR_USAGE, "the command is empty");
        return output_error(cli, &err);
    }
    if (!command_check(&given->command, &err) || !check_node(given, &err)) {
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    struct remote_line line = {.command = str_from(given->line)};
    if (status == 0) {
        line.docker = remote_line_docker(target.config, given->run_env, line.command);
        if (!command_check_end(&target, &given->command, line.docker, &err)) {
            status = target_fail(&target, &err);
        } else if (!given->node && command_is_alone(&given->command)) {
            status = command_run_alone(&target, &given->command, &line);
        } else {
            status = exec_on_node(&target, given, &line);
        }
    }
    target_close(&target);
    return status;
}

const struct verb verb_exec = {
    .name = "exec",
    .summary = "run a command on the head or a worker of a cluster",
    .description =
        "Runs a command on the head over ssh, in a login shell as Ray does (bash -l -i, with "
        "~/.bashrc, OMP_NUM_THREADS=1 and PYTHONWARNINGS=ignore). If shoal runs on a terminal, "
        "the command gets one too. Otherwise standard output and standard error stay separate, "
        "and a signal that stops shoal (Ctrl-C in a script, a cancelled CI job) also stops the "
        "command on the head.\n\nUnlike ray exec, it exits with the exit status of the command.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status =
        "The exit status of the command; 255 if ssh failed, 1 if there is no head, 2 for a usage "
        "error. Without a terminal, 130 after SIGINT and 143 after SIGTERM; on a terminal, "
        "Ctrl-C goes to the command.",
    .fields_size = sizeof(struct exec_fields),
    .run = verb_exec_run,
};
