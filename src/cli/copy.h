/* copy.h: files to and from the head, by rsync with our terminal. */
#pragma once

#include "cli/target.h"

/* The paths are rsync's: a slash behind a folder means what is in it. The exit status is rsync's.
 * What is excluded in the file (rsync_exclude, rsync_filter) is. */
int copy_run(struct target *target, const struct ssh_place *place, struct str here,
             struct str there, bool is_down) MUST_USE;

/* All file_mounts of the file, one after the other; the first failure ends it. */
int copy_mounts(struct target *target, const struct ssh_place *place, bool is_down) MUST_USE;

/* All of a copy: the head is found, `from` goes to `to`, or without them all file_mounts. */
int copy_files(struct target *target, const char *from, const char *to, bool is_down) MUST_USE;

/* Both paths or none, as in Ray. */
bool copy_check(const char *source, const char *target, struct err *err) MUST_USE;
