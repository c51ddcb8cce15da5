/*
 * launch_request.h: one launch as the bytes of its call: token, Ray's tags, user data.
 *
 * The result is the same as long as the file and the shared resources are. A retry must send the
 * journaled bytes, not new ones.
 *
 * The core numbers worker launches from EPOCH.1. Head launches use numbers that the core never
 * reaches; the core does not know about them.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "core/event.h"
#include "provider/provider.h"

#define HEAD_LAUNCH_BIT 0x80000000u
#define HEAD_LAUNCH(epoch, attempt) ((uint64_t)(epoch) << 32 | HEAD_LAUNCH_BIT | (attempt))
#define HEAD_LAUNCH_ATTEMPT(launch) ((uint32_t)(launch) & ~HEAD_LAUNCH_BIT)

/* Is it a launch of the core, not of the head? */
static inline bool launch_is_cores(uint64_t launch)
{
    return (launch & HEAD_LAUNCH_BIT) == 0;
}

struct launch_spec {
    const struct config *config;
    size_t type;            /* index into config->node_types, the same in the provider */
    struct str uid, secret; /* uid and secret of the cluster */
    struct str cluster_key; /* public, "ssh-ed25519 AAAA..."; may be empty */
    uint64_t launch;
    struct str zone; /* empty, or the region itself: the first usable one */
    enum market market;
    int64_t count;
    bool is_head;
};

/* Hash of everything a machine of that type is launched with; the tag ray-launch-config. */
bool launch_hash(const struct config *config, size_t type, struct arena *arena,
                 struct str *ret_hash, struct err *err) MUST_USE;

/* Hash of node_config alone. Laptop and head compute the same hash, whatever keys they have. It
 * shows which instances were launched before the file was changed. */
bool launch_config_hash(const struct config *config, size_t type, struct arena *arena,
                        struct str *ret_hash, struct err *err) MUST_USE;

/* The hash of each type. */
bool launch_config_hashes(const struct config *config, struct arena *arena,
                          const struct str **ret_hashes, struct err *err) MUST_USE;

/* Requires preflight(), take() and prepare(). Fails with ERR_CONFIG if the file's user data cannot
 * be combined with ours or a key file cannot be read. */
bool launch_request_make(const struct launch_spec *spec, struct provider *provider,
                         struct arena *arena, struct str *ret_token, struct str *ret_call,
                         struct err *err) MUST_USE;
