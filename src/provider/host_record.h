/*
 * host_record.h: the records of hosts, as JSON. No I/O and no clock.
 *
 * The record of a worker says which cluster and which launch use the host:
 *
 *     {"cluster": "demo", "uid": "...", "head": "10.0.0.1", "by": "me@laptop",
 *      "id": "10.0.0.2@3.1", "token": "...", "at": 1790000000, "tags": {...}}
 *
 * The record of the head also has the cluster's lease and all of its nodes, in any state, and says
 * why hosts are not used:
 *
 *     {..., "lease": {"epoch": 3, "holder": "...", "since": 1, "until": 2, "nonce": "..."},
 *      "nodes": [{"id": ..., "host": ..., "token": ..., "call": ..., "state": "running", ...}],
 *      "unused": {"10.0.0.3": {"why": "...", "since": 1, "until": 2, "tries": 1}},
 *      "keys": ["10.0.0.1", ...]}
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/event.h"
#include "provider/lease.h"
#include "provider/provider.h"

#include <jansson.h>

/* Where a host stores its record. */
#define HOST_FOLDER "/var/tmp/shoal-host"

enum { LEASE_GRACE_S = 10 };

/* ---- who uses a host ---- */

struct str host_record_text(const json_t *record, const char *name);
int64_t host_record_number(const json_t *record, const char *name);
json_t *host_record_new(struct str cluster, struct str uid, struct str head, struct str by);

/* Is it the record of this cluster? An empty uid is any uid. */
bool host_record_is_of(const json_t *record, struct str cluster, struct str uid);

/* "10.0.0.2 is used by cluster b (started by me@office). ...", with what to do about it. `owner` is
 * the other user who owns the record; may be empty. */
void host_record_tell_user(struct str host, const json_t *record, struct str owner,
                           struct err *err);

/* ---- the lease ---- */

struct lease_change {
    struct str cluster;
    const struct take_request *request;
    struct str uid;   /* of a new record */
    struct str nonce; /* of this process */
    struct str head;
    int64_t now;    /* by the head's clock */
    bool keeps_uid; /* the uid of a new record was in use before, so epochs continue above */
};

/* DONE: `*record` (made if it is NULL) has the lease. MISMATCH: held by another process. */
enum outcome host_record_take(json_t **record, const struct lease_change *change, struct err *err);
/* MISMATCH with ERR_TIMEOUT: it ran out; with ERR_EXISTS: taken by another process. */
enum outcome host_record_renew(json_t *record, uint64_t epoch, int64_t lease_ms, int64_t now,
                               struct err *err);
void host_record_release(json_t *record, uint64_t epoch);
bool host_record_is_held(const json_t *record, uint64_t epoch, int64_t now);
struct cluster_lease host_record_lease(const json_t *record);

/* ---- nodes ---- */

#define NODE_CLAIMING "claiming" /* the host's own record may not have been written yet */
#define NODE_RUNNING "running"
#define NODE_ENDING "ending"
#define NODE_ENDED "gone"

json_t *host_record_nodes(json_t *record); /* made if missing */
json_t *host_record_node(const json_t *record, struct str id);
bool host_record_node_is(const json_t *node, const char *state);
/* The node that uses a host now, or NULL. */
json_t *host_record_node_on(const json_t *record, struct str host);
void host_record_set_state(json_t *node, const char *state, struct str why, int64_t now);
void host_record_tag(json_t *node, const struct machine_tag *tags, size_t count);
/* The oldest nodes that ended are forgotten. */
void host_record_forget_ended(json_t *record);

/* ---- hosts that are not used for a while ---- */

/* The pauses grow with each failure in a row. `is_unclean`: Ray may still run there, or the host
 * may have a record of this cluster. */
void host_record_set_unused(json_t *record, struct str host, struct str why, int64_t now,
                            bool is_unclean);
void host_record_set_used(json_t *record, struct str host);
const json_t *host_record_unused(const json_t *record, struct str host);
bool host_record_is_unclean(const json_t *record, struct str host);

/* ---- launches ---- */

struct launch_draft {
    struct str token;
    struct str launch; /* "EPOCH.COUNT" */
    uint64_t call;     /* hash of the draft */
    int64_t count;
    bool is_head;
    const json_t *tags;
};

struct host_choice {
    struct str host, private_ip, public_ip;
    bool is_head;
};

/*
 * Reserves hosts for a launch, as many as are free: adds nodes in state "claiming" (the head's is
 * "running" at once, as its record is this one). A repeated launch adds nothing more than it lacks
 * if `may_add`. False: another call has the token.
 */
bool host_record_reserve(json_t *record, const struct launch_draft *draft,
                         const struct host_choice *hosts, size_t host_count, bool may_add,
                         int64_t now);
/* The nodes of a launch, in any state. */
size_t host_record_count(const json_t *record, struct str token);

/* ---- for the interface ---- */

/* The strings point into the record; the tags are in `arena`. */
struct machine host_record_machine(const json_t *node, struct arena *arena);
