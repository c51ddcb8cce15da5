/* local_operation.h: the provider of own machines, and its operations as steps on hosts. */
#pragma once

#include "base/arena.h"
#include "io/loop.h"
#include "provider/answer.h"
#include "provider/host_record.h"
#include "provider/local/host_reach.h"
#include "provider/local/host_script.h"
#include "provider/local/local_provider.h"
#include "provider/provider.h"

enum {
    HOST_HEAD = 0, /* index of the head */
    QUICK_MS = 40 * 1000,
    STOP_MS = 120 * 1000,
};

/* What the last probe of a host found. */
struct local_host {
    struct host_choice choice;
    struct str architecture;
    int64_t cpus, memory, gpus;
    bool is_home_shared;
};

struct local_operation;

struct local_provider {
    struct provider base;
    struct loop *loop;
    const struct provider_cluster *cluster;
    struct local_setup setup;
    struct arena arena;          /* for the provider's lifetime */
    struct local_host *hosts;    /* and at the end those that it no longer names */
    size_t host_count;           /* in the file */
    struct host_choice *choices; /* the same hosts, for host_record_reserve() */
    struct host_stop stop;
    struct str nonce;
    struct str uid;        /* of the lease, or adopted; may be empty */
    uint64_t epoch;        /* of the own lease; 0: none */
    int64_t lease_ends_ms; /* on the loop's clock */
    int64_t checked_ms;    /* when the service last checked the hosts; 0: never */
    struct local_operation *operations;
};

struct local_provider *local_of(struct provider *base);

/* ---- operations ---- */

/* What an edit decides about the record of a host. */
enum local_edit {
    EDIT_LEAVE,  /* nothing to write */
    EDIT_WRITE,  /* write the changed record */
    EDIT_REMOVE, /* delete the record */
};

/* Work on one host, or a read of its facts. */
struct local_call {
    struct local_operation *operation;
    size_t host;
    void *handle;
    struct host_reply reply;
    json_t *record; /* the record that an edit works on; NULL: none */
    /* Decides about reply.record, which it may change or, if it is NULL, make in `record`. Called
     * again if another process has changed the record since. */
    enum local_edit (*edit)(struct local_call *call);
    bool stops;  /* stop what runs there before the record is written or removed */
    bool starts; /* start the dead-man switch */
    bool is_writing;
    bool has_written; /* a write was sent */
    int tries;
    enum outcome outcome; /* DONE, UNKNOWN or what the edit says */
    struct err err;
    json_t *node; /* in the head's record; valid while that is */
};

typedef void local_step_fn(struct local_operation *operation);

struct local_operation {
    struct local_provider *provider;
    struct local_operation *next, *before;
    struct arena arena;
    int64_t began_ms;
    struct local_call *calls;
    size_t call_count, calls_left;
    local_step_fn *after; /* when all calls are done */
    void *edit;           /* of the head: see local_edit_head() */
    struct loop_task task;
    struct provider_answer answer; /* DONE until something fails */

    /* How it ends: one of these. */
    provider_done_fn *done;
    provider_lease_fn *leased;
    provider_machines_fn *machines;
    provider_resources_fn *resources;
    provider_found_fn *found;
    provider_preflight_fn *surveyed;
    void *context;

    /* What it is about; each operation uses some of these. */
    struct take_request request;
    struct launch_draft draft;
    json_t *draft_json;
    struct str text; /* a public key */
    const struct str *ids;
    size_t id_count;
    const struct machine_tag *tags;
    size_t tag_count;
    int64_t lease_ms;
    int rounds;
    bool is_repeated; /* an earlier call of this launch has reserved hosts */
    bool is_by_name, has_unknown, keeps_uid;
    json_t **found_records; /* of workers, owned */
    size_t found_count;
    size_t former_count;        /* hosts that have a key and are no longer in the file */
    struct local_call *checked; /* finished calls of an earlier step */
    size_t checked_count;
    json_t *head;   /* the head's record after its last edit, owned; NULL: none */
    int64_t now;    /* by the head's clock */
    struct buf why; /* reasons, for messages */
    struct provider_resource *things;
    size_t thing_count;
};

struct local_operation *local_begin(struct local_provider *provider, void *context);
void local_end(struct local_operation *operation);   /* frees it; the callback was called */
void local_end_all(struct local_provider *provider); /* without callbacks */
/* Sets the answer; is false. */
#define local_failed(operation, ...) answer_fail(&(operation)->answer, __VA_ARGS__)

/* Runs a step from the loop, never from inside the caller. */
void local_later(struct local_operation *operation, local_step_fn *step);

/* Moves the finished calls to `checked`, without their replies, to make room for the next calls. */
void local_keep_calls(struct local_operation *operation);

/* Edits the head's record, then calls `after` with operation->head and operation->now set, or the
 * answer changed if the head cannot be reached. */
void local_edit_head(struct local_operation *operation,
                     enum local_edit (*edit)(struct local_call *call), local_step_fn *after);

/* Starts `count` calls, one per host of `hosts`, prepared by `prepare`, which returns the script or
 * sets an edit. */
void local_each(struct local_operation *operation, const size_t *hosts, size_t count,
                void (*prepare)(struct local_call *call, struct buf *script), local_step_fn *after);

struct str local_host_of(const struct local_provider *provider, size_t host);
size_t local_find_host(const struct local_provider *provider, struct str address); /* SIZE_MAX */

/* Does the head's record belong to this cluster, and to the uid that this provider uses? */
bool local_owns(const struct local_provider *provider, const json_t *record);

/* Does a worker's record name this cluster and this head? Another cluster may have the name. */
bool local_is_named(const struct local_provider *provider, const json_t *record);

#define HOME_IS_SHARED                                                                       \
    "its home directory is on a network file system. Shoal keeps the state of each node in " \
    "~/.shoal, and freeing a worker deletes it, so it must not be shared"

/* "HOST is used by cluster NAME ...", from the reply of the call. */
void local_tell_user(const struct local_call *call, struct err *err);

/* Does a Ray run on a host without a record that this cluster did not start? Claiming the host
 * would end it. */
bool local_has_other_ray(const struct local_call *call, struct err *err);

/* Does the record of a worker say that the cluster uses this machine at another address? */
bool local_is_used_twice(const struct local_call *call, const json_t *record, const json_t *head,
                         struct err *err);

/* Is the lease certainly ours for some seconds more? */
bool local_has_lease(const struct local_provider *provider);

/* ---- the interface ---- */

void local_preflight(struct provider *base, enum preflight_scope scope, provider_preflight_fn *done,
                     void *context);
struct provider_type_facts local_type_facts(struct provider *base, size_t type);
void local_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
                void *context);
void local_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context);
void local_release(struct provider *base, provider_done_fn *done, void *context);
void local_prepare(struct provider *base, struct str key, provider_resources_fn *done,
                   void *context);
void local_find(struct provider *base, provider_found_fn *done, void *context);
void local_adopt(struct provider *base, struct str uid);
void local_remove(struct provider *base, provider_resources_fn *done, void *context);
void local_list(struct provider *base, provider_machines_fn *done, void *context);
void local_list_by(struct provider *base, const struct machine_query *query,
                   provider_machines_fn *done, void *context);
bool local_draft(struct provider *base, const struct launch_request *request, struct arena *arena,
                 struct str *ret_call, struct err *err);
void local_launch(struct provider *base, struct str call, provider_machines_fn *done,
                  void *context);
void local_terminate(struct provider *base, const struct str *ids, size_t count,
                     provider_done_fn *done, void *context);
void local_stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
                void *context);
void local_tag(struct provider *base, const struct str *ids, size_t count,
               const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
               void *context);

/* Answers with the nodes of operation->head that pass the operation's filter. */
void local_answer_machines(struct local_operation *operation);
