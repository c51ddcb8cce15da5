/* lease.h: the cluster lease, and the request to take it. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct provider_answer;

/* Its holder may act on the cluster. The first holder creates the uid; later ones read it. A holder
 * that did not renew before `until` has lost the lease, whatever the cloud says later. */
struct cluster_lease {
    struct str uid;    /* 32 hexadecimal digits, random, created once */
    uint64_t epoch;    /* increases with every take() */
    struct str holder; /* "me@laptop pid 4711 up": shown to others */
    int64_t since;     /* seconds since 1970 */
    int64_t until;     /* end of the lease on the cloud's clock */
    /* For a handover: the cloud's id of the lease object, or its contents. Empty: the next holder
     * looks it up. */
    struct str lease_object;
    struct str account; /* owner of the cluster, for display: "123456789012 (profile work)" */
};

struct take_request {
    struct str holder;
    int64_t lease_ms;
    uint64_t from; /* breaks the lease with that epoch, which its holder then notices; 0: none */
    /* From the holder of `from`, which has handed the lease over and stopped acting: the lease is
     * then taken without reading it first. Otherwise empty. */
    struct str uid, lease_object;
    bool is_new; /* probably new: create the lease object first, look it up only if that fails */
    /* The cluster's ssh public key, for a cloud that keeps it with the lease; empty: not known. */
    struct str key;
    /* Creates a missing lease object. False, in `down`: OUTCOME_NOT_FOUND, and nothing is
     * created. */
    bool may_create;
    /* From the caller's journal; may be empty and 0. A missing lease object is created with that
     * uid, and its epochs start above that one. */
    struct str known_uid;
    uint64_t known_epoch;
};

/*
 * OUTCOME_MISMATCH: another process holds it; `lease` says which.
 *
 * OUTCOME_NOT_FOUND: there is no lease object, and may_create was false. `lease` has no epoch; its
 * uid is that of live instances of this name, otherwise known_uid, otherwise empty. With a uid,
 * list(), terminate() and remove() work on the resources that have it. A missing lease object alone
 * does not prove that nothing is left.
 *
 * OUTCOME_INVALID: several clusters have this name; `err` says which. A lease with another uid than
 * known_uid is granted only if no live instance has known_uid.
 */
typedef void provider_lease_fn(void *context, const struct provider_answer *answer,
                               const struct cluster_lease *lease);
