/* verb_start.c: starts the instances of a stopped cluster. */
#include "cli/json_object.h"
#include "cli/launch.h"

#include <string.h>

struct start_fields {
    struct target_fields target;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct start_fields)};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct start_fields),
    TARGET_PROFILE_OPTION(struct start_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct start_fields, output), "FORMAT", text_or_json,
     "Output format: json prints the object of shoal up on standard output at the end."},
    TARGET_LOG_OPTIONS(struct start_fields),
};

static const struct example examples[] = {
    {"shoal start cluster.yaml", "Start the head and workers that shoal stop stopped."},
};

/* False if the cluster has no instances: start never creates a cluster. */
static bool verb_start_check(struct target *target, struct err *err)
{
    struct launcher_seen seen;
    if (!launcher_see(&target->setup, target->cli.arena, &seen, err)) {
        return false;
    }
    if (seen.count > 0) {
        return true;
    }
    return !target_is_others(target, err) &&
           err_set(err, ERR_NOT_FOUND,
                   "cluster %.*s has no instances in %.*s to start; create it with: shoal up %.*s",
                   STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)),
                   STR_ARG(target_text(target)));
}

static int verb_start_work(struct target *target, const void *fields)
{
    const struct start_fields *given = fields;
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(target->cli.arena) : NULL;
    struct str instead = arena_printf(target->cli.arena, "`shoal up %.*s` starts Ray on them",
                                      STR_ARG(target_text(target)));
    if (!target_has_instances(target, instead, &err)) {
        return target_fail(target, &err);
    }
    target_announce(target);
    if (!verb_start_check(target, &err)) {
        return target_fail(target, &err);
    }
    int status = launch_up(target, NULL, record);
    return record ? launch_print(target, record, status) : status;
}

static int verb_start_run(const struct cli *cli, const void *fields)
{
    const struct start_fields *given = fields;
    return target_work_as(cli, &given->target, INPUT_CHECKED, verb_start_work, given);
}

const struct verb verb_start = {
    .name = "start",
    .summary = "start a stopped cluster again",
    .description =
        "Starts the instances of a cluster that shoal stop, or shoal down with "
        "cache_stopped_nodes: true, has stopped, and launches workers that are missing, for "
        "example spot instances. The head is the same instance with the same disk, usually with "
        "another public address. It does what shoal up does, without a question, but never "
        "creates a cluster. If it is interrupted, run it again. ray start, which starts Ray on one "
        "node, is another command.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if every node joined Ray, 1 if one failed or there is nothing to start, 2 "
                   "for a usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct start_fields),
    .run = verb_start_run,
};
