/*
 * gcp_operation.h: the GCE provider's state, and its operations as steps.
 *
 * An instance's id is its name: it is unique in a project and zone, and ours contain a hash.
 */
#pragma once

#include "base/arena.h"
#include "base/table.h"
#include "io/loop.h"
#include "io/tcp_probe.h"
#include "provider/answer.h"
#include "provider/gcp/client/gcp_client.h"
#include "provider/gcp/gcp_interface.h"
#include "provider/machine_tags.h"
#include "provider/provider.h"

#include <jansson.h>

enum { GCP_ZONES_MAX = 16 };

struct gcp_operation;
struct probe;

/* An instance that this process terminated. Google forgets it at once; callers see it as gone for
 * an hour. */
struct gcp_ended {
    struct gcp_ended *next;
    struct arena arena;
    struct machine machine;
    int64_t at_ms; /* on the loop's clock */
};

/* A launch that this process drafted. */
struct gcp_drafted {
    struct gcp_drafted *next;
    char token[LAUNCH_TOKEN_MAX + 1];
    uint64_t hash; /* of the draft */
    int64_t at_ms;
    bool is_known; /* it was sent, or there are several with this token: look the result up */
};

struct gcp_provider {
    struct provider base; /* must be first */
    struct gcp_setup setup;
    struct gcp_client *client;
    struct loop *loop;
    const struct provider_cluster *cluster;
    struct arena arena;    /* for the provider's lifetime */
    struct str part;       /* the cluster's name as part of names of resources */
    struct str nonce;      /* of this process */
    struct str uid;        /* of the lease, or adopted; may be empty */
    struct str key;        /* ssh public key for launches; may be empty */
    bool is_new;           /* the uid was just created: no rule has it yet */
    bool is_unused;        /* nor has an instance, and nothing was listed yet */
    uint64_t epoch;        /* of the own lease; 0: none */
    int64_t lease_ends_ms; /* on the loop's clock */
    size_t rules_pending;  /* firewall rules that Google creates while instances are launched */
    struct provider_answer rules; /* DONE until one of them fails */
    struct str zones[GCP_ZONES_MAX];
    size_t zone_count;                    /* of the cluster file */
    struct str seen_zones[GCP_ZONES_MAX]; /* where instances of the cluster were listed */
    size_t seen_count;
    bool *is_offered; /* [type][zone]: by the last preflight; NULL: none was made */
    struct provider_type_facts *facts;
    json_t **templates;     /* [type]: owned; properties by the last preflight; NULL: none */
    struct param **configs; /* [type]: node_config with its template, if it was read; or NULL */
    struct str network; /* of the firewall rules, by the last preflight; empty: as in the file */
    struct str account; /* the head's service account, by the last preflight; empty: the default */
    json_t *named;      /* owned; instances with the cluster's name, by the preflight; NULL: none */
    int64_t named_ms;   /* when they were listed, on the loop's clock */
    json_t *seen;       /* owned; name -> instance of the last listing, if it is a small one */
    struct gcp_ended *ended;
    struct gcp_drafted *drafted;
    struct gcp_operation *operations;
};

struct gcp_provider *gcp_of(struct provider *base);

/* What an edit decides about the record. */
enum gcp_edit { GCP_KEEP, GCP_WRITE };

typedef void gcp_step_fn(struct gcp_operation *operation);
typedef enum gcp_edit gcp_edit_fn(struct gcp_operation *operation);

struct gcp_operation {
    struct gcp_provider *provider;
    struct gcp_operation *next, *before;
    struct arena arena;
    struct loop_timer *timer;      /* NULL: none */
    struct http_call *http;        /* of a request outside of the API */
    struct tcp_probe *port;        /* NULL: none */
    struct provider_answer answer; /* DONE until something fails */
    void (*on_reply)(struct gcp_operation *operation, const struct gcp_reply *reply);

    /* A listing in progress, and the last one, complete. */
    struct gcp_request list_request;
    const char *list_kind;
    json_t *items; /* owned */
    gcp_step_fn *after_items;

    /* The same as instances. */
    struct machine *listed;
    size_t listed_count;
    struct table listed_ids; /* their positions */
    bool is_strict;          /* no zone of the world may be missing */
    bool is_own;             /* it is a listing of the whole cluster */
    gcp_step_fn *after_list;

    /* The record, and its edit in progress. */
    json_t *record;    /* owned; NULL: none */
    int64_t version;   /* of the record that was read; 0: none */
    int64_t made;      /* of the record that was written */
    int64_t *versions; /* all of them, oldest first */
    size_t version_count;
    char stamp[40];    /* of the last text that was written; empty: none */
    int64_t edited_ms; /* when it was edited, on the loop's clock */
    int64_t now;       /* at that time by Google's clock, in seconds since 1970 */
    gcp_edit_fn *edit;
    gcp_step_fn *after_edit;
    int tries;

    /* Changes of several resources at once. */
    size_t pending;
    gcp_step_fn *after_all;

    /* How it ends: one of these. */
    provider_done_fn *done;
    provider_lease_fn *leased;
    provider_machines_fn *machines;
    provider_resources_fn *resources;
    provider_found_fn *found;
    provider_preflight_fn *surveyed;
    struct probe *probe; /* in the arena */
    provider_host_key_fn *host_keyed;
    void *context;

    /* What it is about; each operation uses some of these. */
    struct take_request request;
    struct str uid;   /* for a new record */
    struct str *uids; /* found */
    size_t uid_count;
    bool has_listed, keeps_uid, is_by_name, is_look, is_admit, is_sent, is_failed;
    bool looks_again; /* a rule was in the way */
    bool is_first;    /* the draft was never sent before */
    int64_t lease_ms;
    const struct str *ids;
    size_t id_count, unknown_count;
    struct table wanted_ids; /* the same, for machines_has_id() */
    const struct machine_tag *tags;
    size_t tag_count;
    json_t *draft; /* owned */
    struct gcp_failure failure;
    int64_t created, until_ms;
    struct machine *made_machines; /* to answer with, or to change */
    size_t made_count, at;
    int what;
    struct str *ranges;
    size_t range_count;
    struct str key;
    struct provider_resource *things;
    size_t thing_count;
};

struct gcp_operation *gcp_begin(struct gcp_provider *provider, void *context);
void gcp_end(struct gcp_operation *operation); /* frees it; the callback was called */
/* Sets the answer; is false. */
#define gcp_failed(operation, ...) answer_fail(&(operation)->answer, __VA_ARGS__)
bool gcp_is_fine(const struct gcp_operation *operation);

/* Runs a step from the loop, after `delay_ms`. */
void gcp_later(struct gcp_operation *operation, int64_t delay_ms, gcp_step_fn *step);

/* Sends one request and continues with `on_reply`. */
void gcp_ask(struct gcp_operation *operation, struct gcp_request request,
             void (*on_reply)(struct gcp_operation *operation, const struct gcp_reply *reply));
/* The answer of a request that failed. "Not found" and "exists" are certain only for a change. */
void gcp_fail_with(struct gcp_operation *operation, const struct gcp_reply *reply);

/* Lists into `items`, all pages. `path` has no query or ends with a filter. */
void gcp_read_items(struct gcp_operation *operation, const char *name, struct str path,
                    const char *kind, gcp_step_fn *after);
/* All instances whose label has this value, into `listed`. */
void gcp_read_instances(struct gcp_operation *operation, const char *label, struct str value,
                        gcp_step_fn *after);
/* All instances of the project. */
void gcp_read_all(struct gcp_operation *operation, gcp_step_fn *after);
/* Those with the cluster's name, of any launcher. */
void gcp_read_by_name(struct gcp_operation *operation, gcp_step_fn *after);
/* Those of the cluster, after its uid was read if this process does not know it. */
void gcp_read_own(struct gcp_operation *operation, gcp_step_fn *after);

/* As if `items`, which are given away, had just been listed. Returns at once. */
void gcp_use_instances(struct gcp_operation *operation, json_t *items, gcp_step_fn *after);
/* The instances with the operation's ids as the last listing showed them; NULL: not all are
 * there. */
json_t *gcp_seen_items(const struct gcp_operation *operation);

/* The instance of the last listing with this id; NULL: none. */
struct machine *gcp_find_listed(const struct gcp_operation *operation, struct str id);

/* Encodes a filter for a query. */
struct str gcp_encoded(struct gcp_operation *operation, struct str text);

bool gcp_is_ours(const struct gcp_provider *provider, const struct machine *machine);
bool gcp_has_lease(const struct gcp_provider *provider);

/* Instances that this process terminated. */
void gcp_ended_add(struct gcp_provider *provider, const struct machine *machine);
void gcp_ended_free(struct gcp_provider *provider, int64_t before_ms);

/* Answers; each ends the operation. */
void gcp_answer_done(struct gcp_operation *operation);
void gcp_answer_machines(struct gcp_operation *operation);
void gcp_answer_things(struct gcp_operation *operation);
void gcp_add_thing(struct gcp_operation *operation, const char *kind, struct str id,
                   const char *note, bool is_gone);

/* ---- the record (cluster/record_chain.c) ---- */

/* Reads the record, lets `edit` change it, and writes it; again if another process has changed it
 * since. Then `after`, with the answer changed if it failed. */
void gcp_edit_record(struct gcp_operation *operation, gcp_edit_fn *edit, gcp_step_fn *after);
void gcp_read_record(struct gcp_operation *operation, gcp_step_fn *after);
/* The same without reading first: assumes that operation->version is the newest (0: none), and
 * reads only if the write shows that it is not. */
void gcp_make_record(struct gcp_operation *operation, gcp_edit_fn *edit, gcp_step_fn *after);
struct str gcp_record_name(const struct gcp_provider *provider, int64_t version,
                           struct arena *arena);
bool gcp_owns(const struct gcp_provider *provider, const json_t *record);

/* ---- the network (cluster/prepare.c) ---- */

/* The network tag of the cluster's instances. */
struct str gcp_network_tag(const struct gcp_provider *provider, struct arena *arena);
#define GCP_TUNNEL_RANGE "35.235.240.0/20"                 /* of Identity-Aware Proxy */
bool gcp_uses_tunnel(const struct gcp_provider *provider); /* ssh comes through it */
/* The first network interface of the file; NULL: none. */
const struct param *gcp_interface(const struct gcp_provider *provider);
/* The project of a shared VPC, in which the cluster makes no firewall rules; empty: its own. */
struct str gcp_host_project(const struct gcp_provider *provider);
bool gcp_is_private(const struct gcp_provider *provider); /* use_internal_ips */
bool gcp_makes_rules(const struct gcp_provider *provider);
json_t *gcp_param_json(const struct param *param);

/* ---- templates of the file (machines/template.c) ---- */

/* Reads the templates of all types, then `after`. */
void gcp_read_templates(struct gcp_operation *operation, gcp_step_fn *after);
void gcp_templates_free(struct gcp_provider *provider);
/* The node_config of a type, with what its template adds. */
const struct param *gcp_config(const struct gcp_provider *provider, size_t type);
/* The machine type's name, of the node_config or its template; may be empty. */
struct str gcp_type_machine(const struct gcp_provider *provider, size_t type);
bool gcp_template_is_read(const struct gcp_provider *provider, size_t type); /* or not needed */
/* Adds what the template has and the properties lack. */
void gcp_template_add(const struct gcp_provider *provider, size_t type, json_t *properties);
