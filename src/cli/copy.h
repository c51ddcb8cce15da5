/* copy.h: copies files to and from the head, with rsync in our terminal. */
#pragma once

#include "cli/target.h"

/* Paths have rsync's meaning: a trailing slash means the contents of the folder. Applies the file's
 * rsync_exclude and rsync_filter. Returns rsync's exit status. */
int copy_run(struct target *target, const struct ssh_target *place, struct str here,
             struct str there, bool is_down) MUST_USE;

/* Finds the head and copies `from` to `to`, or all file_mounts if they are NULL. */
int copy_files(struct target *target, const char *from, const char *to, bool is_down) MUST_USE;

/* Both paths or none, as in Ray. */
bool copy_check(const char *source, const char *target, struct err *err) MUST_USE;
