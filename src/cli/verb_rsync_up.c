/* verb_rsync_up.c: copies files to the head of a cluster. */
#include "cli/copy.h"
#include "cli/output.h"

struct rsync_up_fields {
    struct target_fields target;
    const char *from, *to;
    bool all_nodes;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct rsync_up_fields),
    {"SOURCE", offsetof(struct rsync_up_fields, from), true, COMPLETE_FILE, NULL,
     "A file or directory on this machine."},
    {"TARGET", offsetof(struct rsync_up_fields, to), true, COMPLETE_FILE, NULL,
     "The target path on the head."},
};

static const struct option options[] = {
    {"all-nodes", 'A', OPTION_FLAG, offsetof(struct rsync_up_fields, all_nodes), NULL, NULL,
     "An option of ray rsync-up to copy to workers too. Not supported, as in current Ray; use "
     "file_mounts for files that workers need."},
    TARGET_NAME_OPTION(struct rsync_up_fields),
    TARGET_PROFILE_OPTION(struct rsync_up_fields),
    TARGET_LOG_OPTIONS(struct rsync_up_fields),
};

static const struct example examples[] = {
    {"shoal rsync-up cluster.yaml ./src/ '~/src/'", "Copy the contents of a directory."},
    {"shoal rsync-up cluster.yaml", "Copy all file_mounts of the file."},
};

static int verb_rsync_up_copy(struct target *target, const void *fields)
{
    const struct rsync_up_fields *given = fields;
    return copy_files(target, given->from, given->to, false);
}

static int verb_rsync_up_run(const struct cli *cli, const void *fields)
{
    const struct rsync_up_fields *given = fields;
    struct err err;
    if (given->all_nodes) {
        err_set(&err, ERR_USAGE,
                "--all-nodes is not supported; add the files that workers need to file_mounts, "
                "and shoal up copies them to all nodes");
        return output_error(cli, &err);
    }
    if (!copy_check(given->from, given->to, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, verb_rsync_up_copy, given);
}

const struct verb verb_rsync_up = {
    .name = "rsync-up",
    .alias = "rsync_up",
    .summary = "copy files to the head of a cluster",
    .description = "Copies a file or directory to the head with rsync over ssh, using "
                   "rsync_exclude and rsync_filter of the file. Without SOURCE and TARGET, it "
                   "copies all file_mounts. Parent directories of TARGET are created.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "The exit status of rsync; also 1 if there is no head and 2 for a usage error.",
    .fields_size = sizeof(struct rsync_up_fields),
    .run = verb_rsync_up_run,
};
