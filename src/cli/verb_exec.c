/* verb_exec.c: one command on the head. */
#include "cli/command.h"
#include "cli/output.h"

struct exec_fields {
    struct target_fields target;
    struct command_fields command;
    const char *line;
    const char *run_env;
};

static const char *const run_envs[] = {"auto", "host", "docker", NULL};

static const struct operand operands[] = {
    TARGET_OPERAND(struct exec_fields),
    {"CMD", offsetof(struct exec_fields, line), false, COMPLETE_NOTHING, NULL,
     "The command, as one word: quote it."},
};

static const struct option options[] = {
    {"run-env", 0, OPTION_CHOICE, offsetof(struct exec_fields, run_env), "WHERE", run_envs,
     "Where it runs when the file has a docker section: in the container (docker), on the machine "
     "(host), or auto: in the container, unless the command itself begins with docker."},
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
    {"shoal exec cluster.yaml 'ray status'", "Ask Ray on the head."},
    {"shoal exec cluster.yaml 'python -c \"print(1)\"' > out.txt",
     "Only what the command writes is in the file."},
    {"shoal exec --start --stop cluster.yaml 'python train.py'",
     "A cluster for one command; the exit status is the command's."},
};

static int run(const struct cli *cli, const void *fields)
{
    const struct exec_fields *given = fields;
    struct target target;
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    if (!command_check(&given->command, &err)) {
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    struct remote_line line = {.command = str_from(given->line)};
    if (status == 0) {
        line.docker = remote_line_docker(target.config, given->run_env, line.command);
        status = command_check_end(&target, &given->command, line.docker, &err)
                     ? command_find(&target, &given->command, &head, &place)
                     : target_fail(&target, &err);
    }
    if (status == 0) {
        status = command_run(&target, &given->command, &place, &line);
    }
    target_close(&target);
    return status;
}

const struct verb verb_exec = {
    .name = "exec",
    .summary = "run a command on the head of a cluster",
    .description =
        "Runs a command on the head by ssh, in a login shell as Ray runs it (bash -l -i, with "
        "~/.bashrc, OMP_NUM_THREADS=1 and PYTHONWARNINGS=ignore). With a terminal here the command "
        "has one there; without, its output comes as it is, standard output and standard error "
        "apart.\n\n"
        "Unlike with ray exec, the exit status is that of the command.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "That of the command; 255 when ssh failed, 1 when there is no head, 2 for a "
                   "wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct exec_fields),
    .run = run,
};
