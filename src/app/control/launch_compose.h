/*
 * launch_compose.h: one launch as the bytes of its call: token, Ray's tags, what is said at boot.
 *
 * The same wish gives the same bytes as long as the file and what surrounds the machines stay the
 * same; whoever repeats a launch sends the bytes that were written down, not new ones.
 *
 * Workers' launches are numbered by the core, from EPOCH.1 on. Those of the head have numbers that
 * the core never reaches: they are not its, and it is not told of them.
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

/* Is it one that the core knows of? */
static inline bool launch_is_cores(uint64_t launch)
{
    return (launch & HEAD_LAUNCH_BIT) == 0;
}

struct launch_wish {
    const struct config *config;
    size_t type;            /* of config->node_types, which are the provider's in the same order */
    struct str uid, secret; /* of the cluster */
    uint64_t launch;
    struct str zone; /* empty, or the region itself: the first that can be used */
    enum market market;
    int64_t count;
    bool is_head;
};

/* Of what a machine of that type is launched with, as the tag ray-launch-config says it. */
bool launch_hash(const struct config *config, size_t type, struct arena *arena,
                 struct str *ret_hash, struct err *err) MUST_USE;

/* Needs survey(), take() and prepare(). Fails with ERR_CONFIG for user-data that cannot be joined
 * with ours and for a key file that cannot be read. */
bool launch_compose(const struct launch_wish *wish, struct provider *provider, struct arena *arena,
                    struct str *ret_token, struct str *ret_call, struct err *err) MUST_USE;
