/* verb_rsync_up.c: copies files to the head of a cluster. */
#include "cli/copy.h"

static const struct operand operands[] = {
    TARGET_OPERAND(struct copy_fields),
    {"SOURCE", offsetof(struct copy_fields, from), true, COMPLETE_FILE, NULL,
     "A file or directory on this machine."},
    {"TARGET", offsetof(struct copy_fields, to), true, COMPLETE_FILE, NULL,
     "The target path on the head."},
};

static const struct option options[] = {
    {"all-nodes", 'A', OPTION_FLAG, offsetof(struct copy_fields, all_nodes), NULL, NULL,
     "Copy to the workers too. Workers that are launched later do not get these files: for them, "
     "use file_mounts."},
    TARGET_NAME_OPTION(struct copy_fields),
    TARGET_PROFILE_OPTION(struct copy_fields),
    TARGET_LOG_OPTIONS(struct copy_fields),
};

static const struct example examples[] = {
    {"shoal rsync-up cluster.yaml ./src/ '~/src/'", "Copy the contents of a directory."},
    {"shoal rsync-up -A cluster.yaml ./data/ '~/data/'", "Copy it to every running node."},
    {"shoal rsync-up cluster.yaml", "Copy all file_mounts of the file."},
};

static int verb_rsync_up_run(const struct cli *cli, const void *fields)
{
    return copy_work(cli, fields, false);
}

const struct verb verb_rsync_up = {
    .name = "rsync-up",
    .alias = "rsync_up",
    .summary = "copy files to the head of a cluster",
    .description = "Copies a file or directory to the head with rsync over ssh, using "
                   "rsync_exclude and rsync_filter of the file. Without SOURCE and TARGET, it "
                   "copies all file_mounts. Parent directories of TARGET are created. With "
                   "--all-nodes, each worker gets a copy over a connection through the head.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "The exit status of rsync; also 1 if there is no head and 2 for a usage error.",
    .fields_size = sizeof(struct copy_fields),
    .run = verb_rsync_up_run,
};
