/*
 * own_hosts.h: reaches the hosts of `provider.type: local`, by ssh, or on the head with a shell.
 *
 * The first connection accepts a host key that neither the cluster's files nor the user's own
 * known_hosts know. The host then reports its key over that connection, and it is pinned: all later
 * connections, also those of the head, accept no other.
 */
#pragma once

#include "app/cluster_state.h"
#include "base/arena.h"
#include "config/config.h"
#include "io/child.h"
#include "provider/local/host_reach.h"

struct own_hosts {
    struct child_pool *children;
    const struct config *config;
    const struct cluster_state *state;
    const char *identity; /* private key; NULL: the user's ssh decides */
    bool is_on_head;      /* the head is this machine, and workers are near */
};

/* `hosts` must outlive the result. */
struct host_reach own_hosts_reach(struct own_hosts *hosts);

/* "me@laptop": shown to users of other clusters that want the same hosts. */
struct str own_hosts_user(struct arena *arena);
