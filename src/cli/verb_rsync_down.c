/* verb_rsync_down.c: copies files from the head of a cluster. */
#include "cli/copy.h"
#include "cli/output.h"

struct rsync_down_fields {
    struct target_fields target;
    const char *from, *to;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct rsync_down_fields),
    {"SOURCE", offsetof(struct rsync_down_fields, from), true, COMPLETE_FILE, NULL,
     "A file or directory on the head."},
    {"TARGET", offsetof(struct rsync_down_fields, to), true, COMPLETE_FILE, NULL,
     "The target path on this machine."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct rsync_down_fields),
    TARGET_PROFILE_OPTION(struct rsync_down_fields),
    TARGET_LOG_OPTIONS(struct rsync_down_fields),
};

static const struct example examples[] = {
    {"shoal rsync-down cluster.yaml '~/results/' ./results/", "Copy the contents of a directory."},
};

static int verb_rsync_down_copy(struct target *target, const void *fields)
{
    const struct rsync_down_fields *given = fields;
    return copy_files(target, given->from, given->to, true);
}

static int verb_rsync_down_run(const struct cli *cli, const void *fields)
{
    const struct rsync_down_fields *given = fields;
    struct err err;
    if (!copy_check(given->from, given->to, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, verb_rsync_down_copy, given);
}

const struct verb verb_rsync_down = {
    .name = "rsync-down",
    .alias = "rsync_down",
    .summary = "copy files from the head of a cluster",
    .description = "Copies a file or directory from the head with rsync over ssh. Without SOURCE "
                   "and TARGET, it copies all file_mounts from the head and overwrites the local "
                   "files.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "The exit status of rsync; also 1 if there is no head and 2 for a usage error.",
    .fields_size = sizeof(struct rsync_down_fields),
    .run = verb_rsync_down_run,
};
