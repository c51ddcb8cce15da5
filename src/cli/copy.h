/* copy.h: copies files to and from the head, with rsync in our terminal. */
#pragma once

#include "cli/target.h"

/* Paths have rsync's meaning: a trailing slash means the contents of the folder. Applies the file's
 * rsync_exclude and rsync_filter. Returns rsync's exit status. */
int copy_run(struct target *target, const struct ssh_target *place, struct str here,
             struct str there, bool is_down) MUST_USE;

/* The same, but in the head's container if the file has one. */
int copy_run_inside(struct target *target, const struct ssh_target *place, struct str here,
                    struct str there, bool is_down) MUST_USE;

/* The operands of rsync-up and rsync-down. */
struct copy_fields {
    struct target_fields target;
    const char *from, *to; /* both or none, as in Ray */
    bool all_nodes;        /* option of rsync-up only */
};

/* Finds the head and copies `from` to `to`, or all file_mounts without them. */
int copy_work(const struct cli *cli, const struct copy_fields *given, bool is_down) MUST_USE;
