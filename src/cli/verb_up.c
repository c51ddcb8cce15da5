/* verb_up.c: creates or updates a cluster. */
#include "cli/cloud.h"
#include "cli/confirm.h"
#include "cli/json_object.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/plan_ask.h"
#include "cli/plan_text.h"
#include "config/workload/quantity.h"

#include <string.h>
#include <unistd.h>

enum { QUESTION_BYTES_MAX = 64 * 1024 };

struct up_fields {
    struct target_fields target;
    bool no_restart, restart_only;
    bool yes;
    bool redirect_output;
    bool normal_shells;
    const char *keep_failed;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct up_fields)};

static const struct option options[] = {
    {"yes", 'y', OPTION_FLAG, offsetof(struct up_fields, yes), NULL, NULL,
     "Do not ask for confirmation."},
    TARGET_NAME_OPTION(struct up_fields),
    {"min-workers", 0, OPTION_NUMBERS, offsetof(struct up_fields, target.min_workers), "N", NULL,
     "Override min_workers; only for files with one worker type."},
    {"max-workers", 0, OPTION_NUMBERS, offsetof(struct up_fields, target.max_workers), "N", NULL,
     "Override max_workers of the cluster."},
    {"no-restart", 0, OPTION_FLAG, offsetof(struct up_fields, no_restart), NULL, NULL,
     "Keep Ray running, so that jobs are not interrupted. Setup commands run if they changed."},
    {"restart-only", 0, OPTION_FLAG, offsetof(struct up_fields, restart_only), NULL, NULL,
     "Restart Ray without running setup commands."},
    {"keep-failed", 0, OPTION_TEXT, offsetof(struct up_fields, keep_failed), "TIME", NULL,
     "Let a worker whose setup failed run for this long, for example 10m, so that you can look at "
     "it with shoal attach; then it is terminated. A head whose setup failed keeps running until "
     "shoal down."},
    TARGET_USAGE_OPTION(struct up_fields),
    TARGET_PROFILE_OPTION(struct up_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct up_fields, output), "FORMAT", text_or_json,
     "Output format: json prints one object on standard output at the end; progress goes to "
     "standard error."},
    TARGET_CACHE_OPTION(struct up_fields),
    {"redirect-command-output", 0, OPTION_FLAG, offsetof(struct up_fields, redirect_output), NULL,
     NULL, "No effect; the output of commands goes to one log per node, see shoal logs."},
    {"use-login-shells", 0, OPTION_UNFLAG, offsetof(struct up_fields, normal_shells), NULL, NULL,
     "No effect; commands always run in login shells (bash -l -i)."},
    {"use-normal-shells", 0, OPTION_FLAG, offsetof(struct up_fields, normal_shells), NULL, NULL,
     "No effect except for a warning; commands always run in login shells."},
    TARGET_LOG_OPTIONS(struct up_fields),
};

static const struct example examples[] = {
    {"shoal up cluster.yaml", "Ask, then launch the cluster and show its progress."},
    {"shoal up -y cluster.yaml", "In a script: do not ask, print one line per change."},
    {"shoal up --keep-failed 30m cluster.yaml",
     "Keep workers whose setup failed for half an hour, to find out why."},
    {"shoal up -y -o json cluster.yaml | jq -r .head_address", "Print the address of the head."},
};

static bool has_step(const struct up_plan *plan, enum up_step_kind kind)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Warnings are shown by the launch that follows. */
static void verb_up_on_findings(void *context, const struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (findings[i].level == FINDING_ERROR) {
            plan_show_findings(context, findings, count);
            return;
        }
    }
}

/* Shows the plan and asks for confirmation. Does not ask if there is nothing to do, or if `up` will
 * fail anyway. */
static bool verb_up_request(struct target *target, struct err *err)
{
    AUTO_BUF struct buf question;
    struct up_plan plan;
    buf_init(&question, QUESTION_BYTES_MAX);
    target->setup.hooks = (struct launcher_hooks){.context = target,
                                                  .findings = verb_up_on_findings};
    if (!plan_ask(target, &plan, err)) {
        return false;
    }
    if (up_plan_is_empty(&plan) || has_step(&plan, UP_REPLACE)) {
        return true;
    }
    buf_addf(&question, "Cluster %.*s on %.*s: ", STR_ARG(target->config->cluster_name),
             STR_ARG(target_where(target)));
    plan_text_question(&question, &plan);
    buf_add_char(&question, '\0');
    target_close(target);
    return confirm(&target->cli, question.ptr, false, err);
}

static int bring_up(struct target *target, const struct up_fields *given)
{
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(target->cli.arena) : NULL;
    if (isatty(STDIN_FILENO) != 1 && !confirm(&target->cli, "", given->yes, &err)) {
        return target_fail(target, &err); /* no confirmation possible, so no query */
    }
    int status = target_connect(target);
    if (status != 0) {
        return status;
    }
    target_announce(target);
    target->setup.no_restart = given->no_restart;
    target->setup.restart_only = given->restart_only;
    target->setup.may_separate = true; /* it asks, or has -y */
    if (!given->yes && !verb_up_request(target, &err)) {
        return target_fail(target, &err);
    }
    if (!target->session.loop) {
        status = target_connect_again(target);
        if (status != 0) {
            return status;
        }
    }
    status = launch_up(target, NULL, record);
    return record ? launch_print(target, record, status) : status;
}

/* Warns about options and keys that this release does not support. */
static void verb_up_warn(const struct target *target, const struct up_fields *given)
{
    if (given->normal_shells) {
        cloud_print_lines(&target->cli, "warning",
                          STR("--use-normal-shells has no effect: commands run in login shells"));
    }
}

static int verb_up_run(const struct cli *cli, const void *fields)
{
    const struct up_fields *given = fields;
    struct target_fields target_fields = given->target;
    struct target target;
    struct err err;
    if (given->keep_failed &&
        (!quantity_duration(str_from(given->keep_failed), &target_fields.keep_failed_ms) ||
         target_fields.keep_failed_ms == 0)) {
        err_set(&err, ERR_USAGE, "--keep-failed needs a time such as 10m or 1h30m, not \"%s\"",
                given->keep_failed);
        return output_error(cli, &err);
    }
    int status = plan_check_restart(cli, given->no_restart, given->restart_only);
    if (status != 0) {
        return status;
    }
    status = target_open(&target, cli, &target_fields, INPUT_CHECKED);
    if (status == 0) {
        verb_up_warn(&target, given);
        status = bring_up(&target, given);
    }
    target_close(&target);
    return status;
}

const struct verb verb_up = {
    .name = "up",
    .summary = "create or update a cluster",
    .description =
        "Launches the head and the workers of a cluster file in parallel, sets them up and "
        "starts Ray on them, as ray up does, and shows the progress of each node until all have "
        "joined Ray. An existing cluster is updated: nodes that match the file are left alone. "
        "Workers whose node type was removed or whose node_config was changed are drained and "
        "terminated when they are idle. A running head is not replaced: if its node_config was "
        "changed, shoal up fails and changes nothing.\n\n"
        "Before it changes anything, it shows what will be launched, the price per hour, and how "
        "many jobs a restart of Ray would end, and asks for confirmation. With --yes it does not "
        "ask, like ray up --yes. shoal plan prints the same and changes nothing.\n\n"
        "On a terminal, the display is redrawn in place; elsewhere, with --log-style record, "
        "with TERM=dumb and in CI, each change is one line with its time. Progress goes to "
        "standard error.\n\n"
        "Before it launches an instance, it makes the same checks as shoal check and shows "
        "errors at their place in the file.\n\n"
        "Ctrl-C stops shoal up, which prints what is still running and how to continue. If you "
        "run it again, it continues where it stopped.\n\n"
        "With -o json the object on standard output has: cluster, where, nodes (name, head, id, "
        "type, machine, zone, spot, public_ip, private_ip, phase, since_ms, requested_ms, "
        "kept_until_ms (of a failed worker that is kept), step, "
        "steps, detail, reason, dollars_per_hour, failure), up_to_date, node_count, "
        "failed_count, missing_count, cpus, ray_version, head_address, took_ms; after a failure, "
        "error and error_kind replace everything after nodes.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if every node joined Ray, 1 if one of them failed or nothing could be "
                   "launched, 2 for a usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct up_fields),
    .run = verb_up_run,
};
