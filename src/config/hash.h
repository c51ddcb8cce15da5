/*
 * hash.h: Ray's three hashes of a configuration, byte for byte.
 *
 * They decide whether a node is up to date, and they are tags on running machines; equal hashes let
 * Shoal recognize a cluster that Ray started. All are SHA-256 in lower-case base32hex without
 * padding: 52 characters.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/document/value.h"
#include "config/host.h"

/* The launch settings of a machine. Key files are hashed by content, not by path. */
bool hash_launch(struct arena *arena, const struct host *host, const struct value *node_config,
                 const struct value *auth, struct str *ret_hash, struct err *err) MUST_USE;

struct hash_runtime_input {
    const struct value *file_mounts;          /* remote path: local path */
    const struct value *cluster_synced_files; /* may be NULL; missing paths are not an error */
    const struct value *extra;                /* other settings whose changes must be noticed */
};

/*
 * The runtime hash covers the mounts, `extra`, and the contents of every mounted file. The second
 * hash covers the contents alone, including cluster_synced_files.
 */
bool hash_runtime(struct arena *arena, const struct host *host,
                  const struct hash_runtime_input *input, struct str *ret_runtime,
                  struct str *ret_contents, struct err *err) MUST_USE;
