/*
 * provider.h: the interface that every cloud implements; tests/conformance tests each of them.
 *
 * A provider is opened for one cluster file. Every operation returns immediately; its `done` is
 * called exactly once, later, from the loop, with data that is valid during that call. Closing the
 * provider ends operations in progress without calling `done`.
 *
 * Guarantees:
 *   - an outcome other than OUTCOME_UNKNOWN is certain;
 *   - a listing is complete, or it is an error;
 *   - a resource without the cluster's uid is never changed or removed, whatever its name;
 *   - a launch is drafted first: the caller stores the bytes of the call before it is made, so that
 *     any process that makes it again repeats the same launch.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"
#include "core/offering.h"
#include "provider/finding.h"
#include "provider/lease.h"
#include "provider/machine.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct provider;

/* ---- setup ---- */

struct provider_type {
    struct str name;                 /* node type name */
    const struct param *node_config; /* the node_config as in the file, with the cloud's own keys */
    bool is_head;
    /* Number of machines: one head; min_workers and max_workers for others, and for the only type
     * of own machines. */
    int64_t least, most;
    /* The image that `up` chose for a type without one of its own; empty: choose. A head may not be
     * allowed to look for images, and its role names the images that it may launch. */
    struct str image;
};

/* Must outlive the provider. */
struct provider_cluster {
    struct str name;
    const struct param *provider; /* sections of the file */
    const struct param *auth;
    const struct provider_type *types;
    size_t type_count;
};

/* metadata.shoal.tags, for everything that is created; NULL: none. */
static inline const struct param *provider_tags(const struct provider_cluster *cluster)
{
    return cluster->provider ? param_get(cluster->provider, PARAM_MAP, "tags") : NULL;
}

/* ---- result of an operation ---- */

struct provider_answer {
    enum outcome outcome;
    /* Unless OUTCOME_DONE. With it, ERR_CAPACITY says why a launch has fewer machines than asked
     * for. */
    struct err err;
};

typedef void provider_done_fn(void *context, const struct provider_answer *answer);

/* ---- machines ---- */

/* The machines are valid only if the answer is OUTCOME_DONE. */
typedef void provider_machines_fn(void *context, const struct provider_answer *answer,
                                  const struct machine *machines, size_t count);

/* The key is "ssh-ed25519 AAAA...", and valid only if the answer is OUTCOME_DONE. */
typedef void provider_host_key_fn(void *context, const struct provider_answer *answer,
                                  struct str id, struct str key);

enum { LAUNCH_TOKEN_MAX = 64 };

struct launch_request {
    struct str token; /* letters, digits and '-'; the same token is the same launch */
    uint64_t launch;  /* launch number; see launch_token() */
    size_t type;      /* index in provider_cluster */
    struct str zone;  /* a zone that the preflight found usable; empty: the first of them */
    enum market market;
    int64_t count;        /* maximum; fewer may come, but at least one unless it fails */
    bool rests;           /* a shutdown from inside stops the machine; otherwise terminates it */
    struct str user_data; /* user data, not encoded; empty: the type's own setting */
    struct str login_key; /* a second ssh public key; ignored where the user data has it */
    /* In addition to the tags of every machine: cluster name, uid, launch and epoch. */
    const struct machine_tag *tags;
    size_t tag_count;
};

/* ---- the cluster ---- */

/* Evidence that a cluster exists or that resources of it are left. Read-only. */
struct cluster_found {
    bool has_lease;      /* the lease object exists */
    struct str uid;      /* uid on the lease object; may be empty */
    int64_t lease_until; /* seconds since 1970: no launch happens later; INT64_MAX: unknown */
    /* Distinct uids on security groups and key pairs with the cluster's name. */
    const struct str *uids;
    size_t uid_count;
};

/* Valid only if the answer is OUTCOME_DONE. */
typedef void provider_found_fn(void *context, const struct provider_answer *answer,
                               const struct cluster_found *found);

/* Valid only if the answer is OUTCOME_DONE. */
typedef void provider_owner_fn(void *context, const struct provider_answer *answer,
                               struct str owner);

/* Selects instances for list_by(): those with these ids, or, if `id_count` is 0, those with the
 * cluster's name (from any launcher). */
struct machine_query {
    const struct str *ids;
    size_t id_count;
};

/* A resource that was created, found or left: a key, a group, a role. */
struct provider_resource {
    struct str kind; /* "security group" */
    struct str id;
    struct str note; /* "has 2 members", "made 40d ago"; may be empty */
    bool is_gone;    /* deleted by remove() */
};

typedef void provider_resources_fn(void *context, const struct provider_answer *answer,
                                   const struct provider_resource *things, size_t count);

/* ---- preflight results ---- */

struct provider_type_facts {
    struct str architecture; /* the cloud's name: "x86_64", "arm64" */
    struct str image;        /* image id */
    struct str image_name;
    struct str user_data; /* what a template of the cloud sets, not encoded; may be empty */
    /* Disks by kind with their GB, and public IPv4 addresses: "gp3 30 ipv4 1". Empty: unknown. */
    struct str disks;
    /* Own machines: what each has at least. 0: the cluster file says it. */
    int64_t cpus, memory, gpus;
    bool has_gpus; /* the number of GPUs is known */
};

typedef void provider_preflight_fn(void *context, const struct provider_answer *answer,
                                   const struct finding *findings, size_t count);

/* ---- operations ---- */

struct provider_ops {
    const char *name; /* provider.type in the file */

    /* Reads everything that a launch needs and changes nothing. */
    void (*preflight)(struct provider *provider, enum preflight_scope scope,
                      provider_preflight_fn *done, void *context);

    /* The zones that offer this type, in order of preference; at most `most`. Empty if no preflight
     * was made or there is no choice. The strings are valid until the next preflight. */
    size_t (*zones)(struct provider *provider, size_t type, struct str *ret_zones, size_t most);

    /* Facts about this type from the preflight; empty: unknown. Valid as long as the zones. */
    struct provider_type_facts (*type_facts)(struct provider *provider, size_t type);

    /* Takes the lease: only its holder may act on the cluster. */
    void (*take)(struct provider *provider, const struct take_request *request,
                 provider_lease_fn *done, void *context);
    /* OUTCOME_MISMATCH: another process took the lease. */
    void (*renew)(struct provider *provider, int64_t lease_ms, provider_lease_fn *done,
                  void *context);
    void (*release)(struct provider *provider, provider_done_fn *done, void *context);

    /*
     * Creates missing resources: key, group, role. Safe to repeat. Without a key it only looks them
     * up and changes nothing: for a head, which has no permission for more.
     */
    void (*prepare)(struct provider *provider, struct str ssh_public_key,
                    provider_resources_fn *done, void *context);
    /* Lets the head launch what the file describes now, while the head's service holds the lease:
     * nothing is sent after `until`, its end as take() told it. NULL if the head needs no
     * permissions. */
    void (*update_role)(struct provider *provider, int64_t until, provider_resources_fn *done,
                        void *context);
    /* Allows ssh from this machine's present address in the cluster's own group and changes nothing
     * else; things: the address that was added, if it was missing. NULL: not needed. */
    void (*admit)(struct provider *provider, provider_resources_fn *done, void *context);
    /* Whose resources the credentials reach, if only the cloud knows: "account 123456789012". Makes
     * no call if an earlier answer said it. NULL: the cluster file says it. */
    void (*owner)(struct provider *provider, provider_owner_fn *done, void *context);
    /* Looks for the lease object, and for groups and key pairs with the cluster's name. */
    void (*find)(struct provider *provider, provider_found_fn *done, void *context);
    /* Uses this uid for the cluster although its lease object is missing: for `down`, which never
     * creates one. */
    void (*adopt)(struct provider *provider, struct str uid);
    /*
     * Removes the resources of prepare() and take(), in the right order, and reports which were
     * deleted and which are left. A resource that this caller may not list is reported as left.
     * Instances must have been terminated before: while one exists, it is reported and nothing is
     * removed. Works without a lease object if the uid was adopted.
     */
    void (*remove)(struct provider *provider, provider_resources_fn *done, void *context);

    /* Lists every machine of the cluster, including terminated ones that the cloud still shows.
     * Empty if the lease was never taken. */
    void (*list)(struct provider *provider, provider_machines_fn *done, void *context);
    /* Also complete, with machines in any state. Unknown ids are left out. */
    void (*list_by)(struct provider *provider, const struct machine_query *query,
                    provider_machines_fn *done, void *context);
    /* Encodes the call, in `arena`. Requires preflight() and prepare(). */
    bool (*draft)(struct provider *provider, const struct launch_request *request,
                  struct arena *arena, struct str *ret_call, struct err *err);
    /*
     * Makes the call. A repeated call returns the machines of the first one in their current state,
     * some perhaps terminated; success without machines means that all are terminated and no longer
     * shown. An answer after the end of the lease is the same: the next holder uses the machines.
     */
    void (*launch)(struct provider *provider, struct str call, provider_machines_fn *done,
                   void *context);
    /*
     * These four act on every machine they can. OUTCOME_NOT_FOUND: done except for machines that
     * the cloud does not know or that are not the cluster's: terminated long ago, or too new to be
     * visible. Already terminated machines are done.
     */
    void (*terminate)(struct provider *provider, const struct str *ids, size_t count,
                      provider_done_fn *done, void *context);
    void (*stop)(struct provider *provider, const struct str *ids, size_t count,
                 provider_done_fn *done, void *context);
    void (*start)(struct provider *provider, const struct str *ids, size_t count,
                  provider_done_fn *done, void *context);
    void (*tag)(struct provider *provider, const struct str *ids, size_t count,
                const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                void *context);

    /* As tag(), for tags that no later operation needs: done when the cloud has accepted them.
     * NULL: use tag(). */
    void (*note)(struct provider *provider, const struct str *ids, size_t count,
                 const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                 void *context);

    /* Waits until the new machine has reported its ssh host key to the cloud. `address` is the one
     * that ssh will use; it may be empty or a name. NULL: its user data has the key. */
    void (*host_key)(struct provider *provider, struct str id, struct str zone, struct str address,
                     provider_host_key_fn *done, void *context);

    void (*close)(struct provider *provider);
};

/* The first member of an implementation. */
struct provider {
    const struct provider_ops *ops;
};
