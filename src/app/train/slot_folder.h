/*
 * slot_folder.h: the files of one slot.
 *
 *     state/       what the script reads and writes ($SHOAL_CHECKPOINT_DIR)
 *     kept/N       complete checkpoints, served to other slots; N.part is one of several parts
 *     code/        the user's working directory
 *     python/      the runner
 *     steps        counters of the current replica
 *     part_count   of how many parts the newest N.part is one: "N COUNT"
 *
 * It is in memory (/dev/shm) if possible. A checkpoint gets its name in kept/ when it is complete.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOT_PATH_MAX = 1024, SLOT_KEPT_MAX = 2 };

struct slot_folder {
    char root[SLOT_PATH_MAX - 128];
};

/* Creates the folders. `name` is "JOB-ID-SLOT". What an earlier agent of the slot left is removed,
 * except complete checkpoints. */
bool slot_folder_open(struct slot_folder *folder, const char *name, struct err *err) MUST_USE;
void slot_folder_remove(const struct slot_folder *folder);

void slot_folder_path(const struct slot_folder *folder, const char *part,
                      char ret_path[SLOT_PATH_MAX]);
/* kept/N or kept/N.part. */
void slot_folder_kept(const struct slot_folder *folder, int64_t number, bool is_part,
                      char ret_path[SLOT_PATH_MAX]);

/* What is in kept/; 0: none. */
struct slot_kept {
    int64_t complete; /* the newest complete checkpoint */
    int64_t part;     /* a newer one of which there is one part */
    int64_t parts;    /* of that one */
};
struct slot_kept slot_folder_kept_now(const struct slot_folder *folder);

/* Changes if a file in state/ is added, removed or written. 0 if it is empty. */
uint64_t slot_folder_mark(const struct slot_folder *folder);

/* Makes state/ the checkpoint `number` by a rename, and state/ empty; with `parts` > 0 it is one of
 * so many parts. Removes all but the newest SLOT_KEPT_MAX checkpoints. */
bool slot_folder_keep(const struct slot_folder *folder, int64_t number, int64_t parts,
                      struct err *err) MUST_USE;

/* Moves what is newer in the kept/ of another slot of the job to this one. */
bool slot_folder_take(const struct slot_folder *folder, const struct slot_folder *from,
                      struct err *err) MUST_USE;

/* The slot has ended: everything but its newest checkpoint is removed. False: it has none. */
bool slot_folder_reduce(const struct slot_folder *folder);

/* Removes all but the newest SLOT_KEPT_MAX checkpoints and, if those are parts, the newest complete
 * one. */
void slot_folder_expire(const struct slot_folder *folder);

/* Removes all checkpoints. */
void slot_folder_forget(const struct slot_folder *folder);

/* Replaces the folder `to` with a copy of `from`: files, folders, and links that stay inside;
 * another link is an error. With `is_added` the
 * files are added to those in `to`. */
bool slot_folder_copy(const char *from, const char *to, bool is_added, struct err *err) MUST_USE;
