/* verb_up.c: create a cluster, or bring it up to date. */
#include "cli/cloud.h"
#include "cli/confirm.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/record.h"

#include <string.h>

struct up_fields {
    struct target_fields target;
    bool no_restart, restart_only;
    bool yes;
    bool redirect_output;
    bool normal_shells;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct up_fields)};

static const struct option options[] = {
    {"yes", 'y', OPTION_FLAG, offsetof(struct up_fields, yes), NULL, NULL,
     "Do not ask for a confirmation."},
    TARGET_NAME_OPTION(struct up_fields),
    {"min-workers", 0, OPTION_NUMBERS, offsetof(struct up_fields, target.min_workers), "N", NULL,
     "Use this min_workers for the file's type of workers; for files that have one."},
    {"max-workers", 0, OPTION_NUMBERS, offsetof(struct up_fields, target.max_workers), "N", NULL,
     "Use this max_workers for the whole cluster instead of the file's."},
    {"no-restart", 0, OPTION_FLAG, offsetof(struct up_fields, no_restart), NULL, NULL,
     "Leave Ray running where it runs: jobs are not interrupted. Set-up commands run if they have "
     "changed."},
    {"restart-only", 0, OPTION_FLAG, offsetof(struct up_fields, restart_only), NULL, NULL,
     "Restart Ray without running set-up commands."},
    TARGET_USAGE_OPTION(struct up_fields),
    TARGET_PROFILE_OPTION(struct up_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct up_fields, output), "FORMAT", text_or_json,
     "json: one object on standard output when it is done; the story stays on standard error."},
    TARGET_CACHE_OPTION(struct up_fields),
    {"redirect-command-output", 0, OPTION_FLAG, offsetof(struct up_fields, redirect_output), NULL,
     NULL, "Changes nothing: what commands say goes to a log per node, see shoal logs."},
    {"use-login-shells", 0, OPTION_UNFLAG, offsetof(struct up_fields, normal_shells), NULL, NULL,
     "Run commands in login shells (bash -l -i), which is the default and always done."},
    {"use-normal-shells", 0, OPTION_FLAG, offsetof(struct up_fields, normal_shells), NULL, NULL,
     "Understood for Ray's sake and warned of: commands run in login shells here."},
    TARGET_LOG_OPTIONS(struct up_fields),
};

static const struct example examples[] = {
    {"shoal up cluster.yaml", "Ask, then launch it, and show how it comes up."},
    {"shoal up -y cluster.yaml", "The same in a script: no question, one line per change."},
    {"shoal up -y -o json cluster.yaml | jq -r .head_address", "The address of the head."},
};

/* "a head (m5.large) and at least 2 workers" */
static struct str wanted(const struct target *target)
{
    const struct config *config = target->config;
    int64_t workers = 0;
    for (size_t i = 0; i < config->node_type_count; i++) {
        workers += config->node_types[i].is_head ? 0 : config->node_types[i].min_workers;
    }
    return arena_printf(target->cli.arena, "a head and %lld worker%s", (long long)workers,
                        workers == 1 ? "" : "s");
}

static bool ask(const struct target *target, bool is_yes, struct err *err)
{
    struct str question = arena_printf(
        target->cli.arena, "Cluster %.*s on %.*s: %.*s will be launched or brought up to date.",
        STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)),
        STR_ARG(wanted(target)));
    return confirm(&target->cli, question.ptr, is_yes, err);
}

static int bring_up(struct target *target, const struct up_fields *given)
{
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(target->cli.arena) : NULL;
    if (!ask(target, given->yes, &err)) {
        return target_fail(target, &err);
    }
    int status = target_connect(target);
    if (status != 0) {
        return status;
    }
    target->setup.no_restart = given->no_restart;
    target->setup.restart_only = given->restart_only;
    status = launch_up(target, NULL, record);
    return record ? launch_print(target, record, status) : status;
}

/* What the command line or the file asks for and this release does not do. */
static void warn(const struct target *target, const struct up_fields *given)
{
    const struct config *config = target->config;
    if (given->normal_shells) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--use-normal-shells: commands run in login shells all the same"));
    }
    for (size_t i = 0; i < config->node_type_count; i++) {
        if (config->node_types[i].docker.image.len > 0) {
            cloud_print_lines(&target->cli, "warning",
                              STR("the docker section is not acted on yet: commands and Ray run on "
                                  "the machines themselves"));
            break;
        }
    }
}

static int run(const struct cli *cli, const void *fields)
{
    const struct up_fields *given = fields;
    struct target target;
    struct err err;
    if (given->no_restart && given->restart_only) {
        err_set(&err, ERR_USAGE, "--no-restart and --restart-only contradict each other");
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_CHECKED);
    if (status == 0) {
        warn(&target, given);
        status = bring_up(&target, given);
    }
    target_close(&target);
    return status;
}

const struct verb verb_up = {
    .name = "up",
    .summary = "create a cluster, or bring it up to date",
    .description =
        "Launches the head and the workers of a cluster file at once, sets them up and starts Ray "
        "on them, as ray up does, and shows how far each node is until all of them have joined "
        "Ray. A cluster that is there already is brought up to date: what is as the file says "
        "stays untouched.\n\n"
        "On a terminal one picture is redrawn in place; elsewhere, with --log-style record, with "
        "TERM=dumb and in CI there is one line per change, with its time. The story goes to "
        "standard error.\n\n"
        "Before any machine is launched the cloud is asked all that shoal check asks, and what "
        "would fail is told at its place in the file.\n\n"
        "Ctrl-C stops shoal, says what is left running, and how to go on. Running it again goes on "
        "where it stopped.\n\n"
        "With -o json the object on standard output has: cluster, where, nodes (name, head, id, "
        "type, machine, zone, spot, public_ip, private_ip, phase, since_ms, born_ms, step, steps, "
        "detail, reason, dollars_per_hour, failure), up_to_date, node_count, failed_count, "
        "missing_count, cpus, "
        "ray_version, head_address, took_ms; after a failure error and error_kind instead of what "
        "is behind nodes.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when every node is in Ray, 1 when one of them has failed or nothing could be "
                   "launched, 2 for a wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct up_fields),
    .run = run,
};
