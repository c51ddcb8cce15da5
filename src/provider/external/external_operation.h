/* external_operation.h: the provider of a plug-in, and its operations as steps. */
#pragma once

#include "base/arena.h"
#include "io/loop.h"
#include "provider/answer.h"
#include "provider/external/external_provider.h"
#include "provider/external/plugin.h"
#include "provider/machine_tags.h"
#include "provider/provider.h"

#include <jansson.h>

struct external_operation;

struct external_provider {
    struct provider base;
    struct loop *loop;
    const struct provider_cluster *cluster;
    struct arena arena; /* for the provider's lifetime */
    struct plugin *plugin;
    json_t *settings;
    json_t *more;          /* NULL: none */
    struct str path;       /* of the plug-in in the cluster file */
    struct str nonce;      /* of this process */
    struct str uid;        /* of the lease, or adopted; may be empty */
    uint64_t epoch;        /* of the own lease; 0: none */
    int64_t lease_ends_ms; /* on the loop's clock */
    struct str zones[PLUGIN_ZONES_MAX];
    size_t zone_count; /* by the last preflight */
    struct external_operation *operations;
};

struct external_provider *external_of(struct provider *base);

/* What an edit decides about the record. */
enum external_edit {
    RECORD_KEEP,   /* nothing to write */
    RECORD_WRITE,  /* write the changed record */
    RECORD_REMOVE, /* delete the record */
};

typedef void external_step_fn(struct external_operation *operation);
typedef enum external_edit external_edit_fn(struct external_operation *operation);

struct external_operation {
    struct external_provider *provider;
    struct external_operation *next, *before;
    struct arena arena;
    int64_t began_ms;
    struct plugin_call *call;
    void (*on_body)(struct external_operation *operation, const json_t *body);
    struct loop_timer *timer;       /* NULL: none */
    struct provider_answer answer;  /* DONE until something fails */
    struct provider_answer refused; /* the plug-in's answer to a launch, while it is cleaned up */

    /* The last listing, complete, and who asked for it. */
    struct machine *listed;
    size_t listed_count;
    external_step_fn *after_list;

    /* The record, and its edit in progress. */
    json_t *record;     /* owned; NULL: none */
    struct str stored;  /* the text that was read */
    struct str written; /* the text that is being written */
    int64_t now;        /* by the clock of the plug-in, in seconds since 1970 */
    external_edit_fn *edit;
    external_step_fn *after_edit;
    int tries;

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
    struct str uid; /* for a new record */
    bool has_listed, keeps_uid, is_by_name, has_unknown, is_repeat, is_look, is_removed;
    int64_t lease_ms;
    const char *op;
    const struct str *ids;
    size_t id_count;
    const struct machine_tag *tags;
    size_t tag_count;
    json_t *draft;        /* owned */
    struct machine *made; /* to answer with, or to change */
    size_t made_count;
};

struct external_operation *external_begin(struct external_provider *provider, void *context);
void external_end(struct external_operation *operation); /* frees it; the callback was called */
/* Sets the answer; is false. */
#define external_failed(operation, ...) answer_fail(&(operation)->answer, __VA_ARGS__)

/* Runs a step from the loop, after `delay_ms`. */
void external_later(struct external_operation *operation, int64_t delay_ms, external_step_fn *step);

/* Sends a request and continues with `on_body`. `body` is NULL if it failed: see the answer. */
void external_ask(struct external_operation *operation, const char *op, json_t *fields,
                  void (*on_body)(struct external_operation *operation, const json_t *body));

/* Reads the record, lets `edit` change it, and writes it; again if another process has changed it
 * since. Then `after`, with the answer changed if it failed. */
void external_edit_record(struct external_operation *operation, external_edit_fn *edit,
                          external_step_fn *after);

/* Lists all instances into `listed`, with tags, then `after`. */
void external_read_list(struct external_operation *operation, external_step_fn *after);
/* The same, after the uid of the cluster was read if this process does not know it. */
void external_read_own(struct external_operation *operation, external_step_fn *after);

struct str external_text(const json_t *object, const char *name);

/* Does the record belong to this cluster, and to the uid that this provider uses? */
bool external_owns(const struct external_provider *provider, const json_t *record);
/* Does the instance have the uid that this provider uses? */
bool external_is_ours(const struct external_provider *provider, const struct machine *machine);
/* Is the lease certainly ours for some seconds more? */
bool external_has_lease(const struct external_provider *provider);
/* Answers with NO_LEASE unless the record says that the lease is ours. */
bool external_check_lease(struct external_operation *operation);

const struct plugin_hello *external_greeting(const struct external_operation *operation);
json_t *external_param_json(const struct param *param);

/* The record's launches, for clouds without tags or tokens:
 *     {"launches": {TOKEN: {"call": HASH, "at": SECONDS, "tags": {...}, "more": {ID: {...}}}}} */
json_t *external_launch_note(const json_t *record, struct str token); /* NULL: none */

/* Answers; each ends the operation. */
void external_answer_done(struct external_operation *operation);
void external_answer_machines(struct external_operation *operation);

/* ---- the interface ---- */

void external_take(struct provider *base, const struct take_request *request,
                   provider_lease_fn *done, void *context);
void external_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done,
                    void *context);
void external_release(struct provider *base, provider_done_fn *done, void *context);
void external_prepare(struct provider *base, struct str key, provider_resources_fn *done,
                      void *context);
void external_find(struct provider *base, provider_found_fn *done, void *context);
void external_adopt(struct provider *base, struct str uid);
void external_remove(struct provider *base, provider_resources_fn *done, void *context);
void external_list(struct provider *base, provider_machines_fn *done, void *context);
void external_list_by(struct provider *base, const struct machine_query *query,
                      provider_machines_fn *done, void *context);
bool external_draft(struct provider *base, const struct launch_request *request,
                    struct arena *arena, struct str *ret_call, struct err *err);
void external_launch(struct provider *base, struct str call, provider_machines_fn *done,
                     void *context);
void external_terminate(struct provider *base, const struct str *ids, size_t count,
                        provider_done_fn *done, void *context);
void external_stop(struct provider *base, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context);
void external_start(struct provider *base, const struct str *ids, size_t count,
                    provider_done_fn *done, void *context);
void external_tag_all(struct provider *base, const struct str *ids, size_t count,
                      const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                      void *context);
