/*
 * hash.h: Ray's three hashes of a configuration, byte for byte.
 *
 * They decide whether a node is up to date, and they are tags on running machines; equal hashes
 * are what lets a cluster that Ray started be recognised. All are SHA-256 in lower-case base32hex
 * without padding: 52 characters.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/document/value.h"
#include "config/host.h"

/* Of what a machine is launched with. Key files count by content, not by path. */
bool hash_launch(struct arena *arena, const struct host *host, const struct value *node_config,
                 const struct value *auth, struct str *ret_hash, struct err *err) MUST_USE;

struct hash_runtime_input {
    const struct value *file_mounts;          /* path there: path here */
    const struct value *cluster_synced_files; /* may be NULL; missing paths are no error */
    const struct value *extra;                /* whatever else must not change unnoticed */
};

/*
 * Of what runs on a node: the mounts, `extra`, and the contents of every mounted file. The second
 * hash is of the contents alone, cluster_synced_files included.
 */
bool hash_runtime(struct arena *arena, const struct host *host,
                  const struct hash_runtime_input *input, struct str *ret_runtime,
                  struct str *ret_contents, struct err *err) MUST_USE;
