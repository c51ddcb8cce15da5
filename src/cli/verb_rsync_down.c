/* verb_rsync_down.c: copy files from the head of a cluster. */
#include "cli/cloud.h"
#include "cli/copy.h"
#include "cli/output.h"

struct rsync_down_fields {
    struct target_fields target;
    const char *from, *to;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct rsync_down_fields),
    {"SOURCE", offsetof(struct rsync_down_fields, from), true, COMPLETE_FILE, NULL,
     "A file or folder of the head."},
    {"TARGET", offsetof(struct rsync_down_fields, to), true, COMPLETE_FILE, NULL,
     "Where it goes on this machine."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct rsync_down_fields),
    TARGET_PROFILE_OPTION(struct rsync_down_fields),
    TARGET_LOG_OPTIONS(struct rsync_down_fields),
};

static const struct example examples[] = {
    {"shoal rsync-down cluster.yaml ~/results/ ./results/", "What is in a folder, into a folder."},
};

static int copy(struct target *target, const struct rsync_down_fields *given)
{
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    if (!target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    if (!head.is_up_to_date) {
        cloud_print_lines(&target->cli, "warning",
                          STR("the head's set-up has not ended, or has failed"));
    }
    target_close(target); /* rsync has the terminal and Ctrl-C */
    return given->from ? copy_run(target, &place, str_from(given->to), str_from(given->from), true)
                       : copy_mounts(target, &place, true);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct rsync_down_fields *given = fields;
    struct target target;
    struct err err;
    if (!copy_check(given->from, given->to, &err)) {
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    status = status ? status : copy(&target, given);
    target_close(&target);
    return status;
}

const struct verb verb_rsync_down = {
    .name = "rsync-down",
    .alias = "rsync_down",
    .summary = "copy files from the head of a cluster",
    .description = "Copies a file or folder from the head with the user's rsync, over ssh. "
                   "Without SOURCE and TARGET it copies all file_mounts back, over what is here.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "That of rsync; 1 also when there is no head, 2 also for a wrong command line.",
    .fields_size = sizeof(struct rsync_down_fields),
    .run = run,
};
