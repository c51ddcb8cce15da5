/* verb_stop.c: stops the instances of a cluster and keeps their disks. */
#include "cli/cloud.h"
#include "cli/confirm.h"
#include "cli/disks.h"
#include "cli/json_object.h"
#include "cli/launch.h"

#include <string.h>
#include <unistd.h>

struct stop_fields {
    struct target_fields target;
    bool yes;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct stop_fields)};

static const struct option options[] = {
    {"yes", 'y', OPTION_FLAG, offsetof(struct stop_fields, yes), NULL, NULL, "Do not ask."},
    TARGET_NAME_OPTION(struct stop_fields),
    TARGET_PROFILE_OPTION(struct stop_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct stop_fields, output), "FORMAT", text_or_json,
     "Output format: json prints the object of shoal down on standard output at the end."},
    TARGET_LOG_OPTIONS(struct stop_fields),
};

static const struct example examples[] = {
    {"shoal stop cluster.yaml", "Stop paying for instances over night; keep the disks."},
    {"shoal stop -y cluster.yaml", "In a script: do not ask."},
};

static struct str verb_stop_question(const struct target *target)
{
    return arena_printf(target->cli.arena,
                        "Stop cluster %.*s on %.*s? Its jobs end. On-demand instances are stopped "
                        "and keep their disks; spot instances are terminated.",
                        STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)));
}

static int verb_stop_run(const struct cli *cli, const void *fields)
{
    const struct stop_fields *given = fields;
    struct target target;
    struct err err;
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    if (status != 0) {
        return status;
    }
    struct str instead = arena_printf(cli->arena, "`shoal down %.*s` stops Ray on them",
                                      STR_ARG(target_text(&target)));
    if (!target_has_instances(&target, instead, &err)) {
        return target_fail(&target, &err);
    }
    disks_say(&target);
    if (!given->yes && !confirm(cli, verb_stop_question(&target).ptr, false, &err)) {
        return target_fail(&target, &err);
    }
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(cli->arena) : NULL;
    status = target_connect(&target);
    if (status == 0) {
        target_announce(&target);
        target.setup.keeps_stopped = true;
        status = launch_down(&target, record);
        status = record ? launch_print(&target, record, status) : status;
    }
    target_close(&target);
    return status;
}

const struct verb verb_stop = {
    .name = "stop",
    .summary = "stop a cluster and keep its disks",
    .description =
        "Stops the head and the on-demand workers, and prints what their disks cost a month as far "
        "as the file describes them; shoal ls shows the volumes of a stopped cluster with their "
        "cost. Spot instances cannot be stopped and are terminated. shoal start, or shoal up, "
        "starts the same instances again, with everything on their disks; Ray starts again, "
        "without its jobs. shoal down removes the cluster.\n\n"
        "If it is interrupted, run it again. It asks first. ray stop, which stops Ray on one node, "
        "is another command: shoal exec FILE 'ray stop'. Own machines (provider type local) are "
        "not stopped: shoal down stops Ray on them.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if all instances are stopped or terminated, 1 if not, 2 for a usage error, "
                   "130 after Ctrl-C.",
    .fields_size = sizeof(struct stop_fields),
    .run = verb_stop_run,
};
