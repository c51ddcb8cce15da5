/* verb_submit.c: copies a script to the head and runs it there. */
#include "cli/cloud.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/output.h"
#include "io/file.h"

#include <string.h>

struct submit_fields {
    struct target_fields target;
    struct command_fields command;
    const char *script;
    struct operand_rest arguments;
    const char *old_arguments;
    const char *screen_arguments;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct submit_fields),
    {"SCRIPT", offsetof(struct submit_fields, script), false, COMPLETE_FILE, NULL,
     "The Python script; it is copied to the home directory on the head."},
    {"SCRIPT_ARGS", offsetof(struct submit_fields, arguments), true, COMPLETE_FILE, NULL,
     "Arguments of the script; put -- before the first one that starts with a dash.", true},
};

static const struct option options[] = {
    COMMAND_START_OPTION(struct submit_fields),
    COMMAND_STOP_OPTION(struct submit_fields),
    COMMAND_SCREEN_OPTION(struct submit_fields),
    COMMAND_TMUX_OPTION(struct submit_fields),
    COMMAND_PORT_OPTION(struct submit_fields),
    {"extra-screen-args", 0, OPTION_TEXT, offsetof(struct submit_fields, screen_arguments), "ARGS",
     NULL, "With --screen: extra arguments for screen."},
    {"args", 0, OPTION_TEXT, offsetof(struct submit_fields, old_arguments), "ARGS", NULL,
     "Arguments of the script as one shell string. Deprecated; put them after -- instead."},
    TARGET_NAME_OPTION(struct submit_fields),
    TARGET_PROFILE_OPTION(struct submit_fields),
    TARGET_USAGE_OPTION(struct submit_fields),
    TARGET_CACHE_OPTION(struct submit_fields),
    TARGET_LOG_OPTIONS(struct submit_fields),
};

static const struct example examples[] = {
    {"shoal submit cluster.yaml train.py -- --epochs 3 'a name'",
     "Each argument is passed unchanged, including spaces."},
    {"shoal submit --start --stop cluster.yaml train.py", "Launch a cluster for one script, then "
                                                          "remove it."},
};

static bool verb_submit_check(const struct submit_fields *given, struct err *err)
{
    if (given->old_arguments && given->arguments.count > 0) {
        return err_set(err, ERR_USAGE,
                       "--args cannot be combined with arguments after the "
                       "script; use only the latter");
    }
    if (given->screen_arguments && !given->command.screen) {
        return err_set(err, ERR_USAGE, "--extra-screen-args needs --screen");
    }
    if (file_stat(given->script).kind != FILE_REGULAR) {
        bool is_folder = file_stat(given->script).kind == FILE_FOLDER;
        return err_set(err, ERR_NOT_FOUND, "%s%s", given->script,
                       is_folder ? " is a directory; submit needs a Python script"
                                 : ": there is no such file");
    }
    return command_check(&given->command, err);
}

static struct str base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return str_from(slash ? slash + 1 : path);
}

static struct str command_line(const struct submit_fields *given, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)REMOTE_LINE_BYTES_MAX * 8);
    /* As in Ray; falls back to python3. */
    buf_add_c(&out, "$(command -v python || echo python3) ~/");
    remote_line_quote(&out, base_name(given->script));
    for (size_t i = 0; i < given->arguments.count; i++) {
        buf_add_char(&out, ' ');
        remote_line_quote(&out, str_from(given->arguments.words[i]));
    }
    if (given->old_arguments) {
        buf_addf(&out, " %s", given->old_arguments);
    }
    return arena_str(arena, buf_str(&out));
}

static int submit(struct target *target, const void *fields)
{
    const struct submit_fields *given = fields;
    struct launcher_head head;
    struct ssh_target place;
    struct arena *arena = target->cli.arena;
    struct err err;
    struct remote_line line = {.command = command_line(given, arena),
                               .screen_arguments = str_from(given->screen_arguments)};
    line.docker = remote_line_docker(target->config, "docker", line.command);
    if (given->old_arguments) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--args is deprecated; put the arguments after -- instead"));
    }
    if (!command_check_end(target, &given->command, line.docker, &err)) {
        return target_fail(target, &err);
    }
    int status = command_find(target, &given->command, &head, &place);
    if (status != 0) {
        return status;
    }
    struct str there = arena_printf(arena, "~/%.*s", STR_ARG(base_name(given->script)));
    target_close(target);
    status = copy_run_inside(target, &place, str_from(given->script), there, false);
    if (status != 0) {
        return status;
    }
    return command_run(target, &given->command, &place, &line);
}

static int verb_submit_run(const struct cli *cli, const void *fields)
{
    const struct submit_fields *given = fields;
    struct err err;
    if (!verb_submit_check(given, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, submit, given);
}

const struct verb verb_submit = {
    .name = "submit",
    .summary = "copy a script to the head of a cluster and run it",
    .description =
        "Copies SCRIPT to the home directory on the head and runs it there with python, as shoal "
        "exec runs commands. Each argument is passed unchanged, including spaces and quotes.\n\n"
        "With --start, the cluster is started first if it has no head.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status =
        "The exit status of the script; 255 if ssh failed, 1 if there is no head, 2 for a usage "
        "error. Without a terminal, 130 after SIGINT and 143 after SIGTERM; on a terminal, "
        "Ctrl-C goes to the script.",
    .fields_size = sizeof(struct submit_fields),
    .run = verb_submit_run,
};
