/* verb_rsync_down.c: copies files from the head of a cluster. */
#include "cli/copy.h"

static const struct operand operands[] = {
    TARGET_OPERAND(struct copy_fields),
    {"SOURCE", offsetof(struct copy_fields, from), true, COMPLETE_FILE, NULL,
     "A file or directory on the head."},
    {"TARGET", offsetof(struct copy_fields, to), true, COMPLETE_FILE, NULL,
     "The target path on this machine."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct copy_fields),
    TARGET_PROFILE_OPTION(struct copy_fields),
    TARGET_LOG_OPTIONS(struct copy_fields),
};

static const struct example examples[] = {
    {"shoal rsync-down cluster.yaml '~/results/' ./results/", "Copy the contents of a directory."},
};

static int verb_rsync_down_run(const struct cli *cli, const void *fields)
{
    return copy_work(cli, fields, true);
}

const struct verb verb_rsync_down = {
    .name = "rsync-down",
    .alias = "rsync_down",
    .summary = "copy files from the head of a cluster",
    .description = "Copies a file or directory from the head with rsync over ssh. Without SOURCE "
                   "and TARGET, it copies all file_mounts from the head and overwrites the local "
                   "files.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "The exit status of rsync; also 1 if there is no head and 2 for a usage error.",
    .fields_size = sizeof(struct copy_fields),
    .run = verb_rsync_down_run,
};
