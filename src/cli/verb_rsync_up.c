/* verb_rsync_up.c: copy files to the head of a cluster. */
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
     "A file or folder of this machine."},
    {"TARGET", offsetof(struct rsync_up_fields, to), true, COMPLETE_FILE, NULL,
     "Where it goes on the head."},
};

static const struct option options[] = {
    {"all-nodes", 'A', OPTION_FLAG, offsetof(struct rsync_up_fields, all_nodes), NULL, NULL,
     "Workers too. Refused: Ray gives it up as well; what workers need belongs into file_mounts."},
    TARGET_NAME_OPTION(struct rsync_up_fields),
    TARGET_PROFILE_OPTION(struct rsync_up_fields),
    TARGET_LOG_OPTIONS(struct rsync_up_fields),
};

static const struct example examples[] = {
    {"shoal rsync-up cluster.yaml ./src/ ~/src/", "What is in a folder, into a folder."},
    {"shoal rsync-up cluster.yaml", "All file_mounts of the file."},
};

static int copy(struct target *target, const void *fields)
{
    const struct rsync_up_fields *given = fields;
    return copy_files(target, given->from, given->to, false);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct rsync_up_fields *given = fields;
    struct err err;
    if (given->all_nodes) {
        err_set(&err, ERR_USAGE,
                "--all-nodes is not done: what workers need belongs into file_mounts, and "
                "shoal up copies it to all nodes");
        return output_error(cli, &err);
    }
    if (!copy_check(given->from, given->to, &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, copy, given);
}

const struct verb verb_rsync_up = {
    .name = "rsync-up",
    .alias = "rsync_up",
    .summary = "copy files to the head of a cluster",
    .description = "Copies a file or folder to the head with the user's rsync, over ssh, with "
                   "what the file says of rsync_exclude and rsync_filter. Without SOURCE and "
                   "TARGET it copies all file_mounts. Folders above TARGET are made.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "That of rsync; 1 also when there is no head, 2 also for a wrong command line.",
    .fields_size = sizeof(struct rsync_up_fields),
    .run = run,
};
