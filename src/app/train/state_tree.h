/*
 * state_tree.h: a folder as a manifest: its files and folders, with sizes and permissions.
 *
 * A manifest has one form only: entries in the order of a walk, each folder before its contents,
 * names in byte order. So two trees are equal if and only if manifests and contents are.
 */
#pragma once

#include "app/train/state_transfer.h"
#include "base/arena.h"
#include "base/buf.h"
#include "io/sha256.h"

#include <stddef.h>

enum {
    STATE_NAME_LEN_MAX = 200, /* of a checkpoint: leaves room for the name while it is received */
    STATE_PATH_LEN_MAX = 4000,
    STATE_DEPTH_MAX = 64,
    STATE_MANIFEST_BYTES_MAX = 64 << 20,
    STATE_PIECE_BYTES = 1 << 20, /* in which contents are read and sent */
};

struct state_entry {
    struct str path; /* NUL-terminated, below the root of the tree */
    bool is_folder;
    bool is_link;  /* symbolic; its contents are its target, which is inside the tree */
    uint32_t mode; /* permission bits; folders always have those of their owner */
    int64_t size;  /* 0 for folders */
};

struct state_manifest {
    uint32_t mode; /* of the root */
    const struct state_entry *entries;
    size_t count;
    int64_t files, bytes;
};

/* A name of a checkpoint: one component of a path, not hidden. */
bool state_name_check(struct str name, struct err *err) MUST_USE;

/* Opens a folder without following a link as the last component; -1 on failure. */
int state_folder_open(int parent, const char *name, struct err *err);

/* Opens a file below `root` with these flags of open(2), without following any link. -1 and errno
 * on failure. */
int state_file_open(int root, struct str path, int flags);

/* Whether the target of a link at `path` is inside the tree, by its text. */
bool state_link_is_inside(struct str path, struct str target);
/* Reads the target of a link. */
bool state_link_read_target(int root, const struct state_entry *entry,
                            char ret_target[STATE_PATH_LEN_MAX + 1], struct err *err) MUST_USE;

/* Reads a tree. Fails with ERR_PROTOCOL if it has anything but files, folders and links that stay
 * inside, or too many. */
bool state_tree_walk(int root, struct arena *arena, struct state_manifest *ret_manifest,
                     struct err *err) MUST_USE;

void state_manifest_add(struct buf *out, const struct state_manifest *manifest);
/* Accepts untrusted bytes; the manifest lives in `arena`. */
bool state_manifest_parse(struct str bytes, struct arena *arena,
                          struct state_manifest *ret_manifest, struct err *err) MUST_USE;

/* Called between pieces of contents; false, with an error, to stop. NULL: never. */
typedef bool state_tick_fn(void *context, struct err *err);

/* Digest of the tree's manifest and contents. */
bool state_tree_digest(int root, const struct state_manifest *manifest, state_tick_fn *tick,
                       void *context, uint8_t ret_digest[SHA256_BYTES], struct err *err) MUST_USE;

/* Reads one piece of a file of which `size` bytes at `offset` must exist. */
bool state_piece_read(int file, const struct state_entry *entry, int64_t offset, char *ret_bytes,
                      size_t size, struct err *err) MUST_USE;
