/* machine.h: an instance as the cloud reports it, and the tags that Shoal sets on it. */
#pragma once

#include "base/str.h"
#include "core/offering.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_state {
    MACHINE_PENDING,
    MACHINE_RUNNING,
    MACHINE_STOPPING,
    MACHINE_STOPPED,
    MACHINE_ENDING,
    MACHINE_GONE,
    MACHINE_STATE_COUNT
};

struct machine_tag {
    struct str key, value;
};

struct machine {
    struct str id;
    struct str type; /* instance type: "m5.large" */
    struct str zone;
    struct str private_ip, public_ip; /* may be empty */
    struct str why;                   /* the cloud's reason for the state; often empty */
    struct str token;                 /* token of the launch */
    int64_t launched_at;              /* seconds since 1970 */
    enum machine_state state;
    enum market market;
    bool is_left; /* stopped, but not by Shoal: it is not started again, and its disk is billed */
    const struct machine_tag *tags; /* Ray's and Shoal's */
    size_t tag_count;
};

/* Shoal's own tags, set on every machine at launch. */
#define TAG_CLUSTER_UID "shoal-cluster-uid"
#define TAG_LAUNCH "shoal-launch"             /* "EPOCH.COUNT", as LAUNCH_ARG writes it */
#define TAG_NODE_CONFIG "shoal-node-config"   /* hash of the node_config it was launched with */
#define TAG_EPOCH "shoal-epoch"               /* epoch of the lease when the call was drafted */
#define TAG_HOST_KEY "shoal-host-key"         /* of the head: "ssh-ed25519 AAAA..." */
#define TAG_STARTED_FROM "shoal-started-from" /* of the head: "user@host" with the cluster's key */
#define TAG_STOPPED "shoal-stopped"           /* when it was stopped, for how long (expiry.h) */
#define TAG_HEAD "shoal-head"                 /* "in-use": set up; its role cannot terminate it */
