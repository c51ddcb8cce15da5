/* verb_rsync_down.c: copy files from the head of a cluster. */
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

static int copy(struct target *target, const void *fields)
{
    const struct rsync_down_fields *given = fields;
    return copy_files(target, given->from, given->to, true);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct rsync_down_fields *given = fields;
    struct err err;
    if (!copy_check(given->from, given->to, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, copy, given);
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
