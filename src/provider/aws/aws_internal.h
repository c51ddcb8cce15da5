/* aws_internal.h: the AWS provider's private state, shared by its files. */
#pragma once

#include "base/rng.h"
#include "provider/aws/aws_facts.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/known_ids.h"
#include "provider/provider.h"

struct aws_operation;

struct aws_provider {
    struct provider base; /* must be first */
    struct aws_client *client;
    struct loop *loop;
    struct http *http;
    const struct log *log;
    aws_environ environ;
    const struct provider_cluster *cluster;
    struct rng rng; /* random numbers for pauses between retries */
    struct arena facts_arena;
    struct aws_facts facts; /* facts of the last preflight */
    bool has_facts;
    struct arena own_arena;  /* memory of the fields below */
    struct str uid;          /* empty until the lease was taken or the uid was read */
    struct str lease_object; /* id of the launch template; empty like `uid` */
    struct str account;      /* account for display; empty: unknown */
    struct str owner;        /* as in owner() of provider.h; empty: unknown */
    bool has_no_role;        /* the lease object says that the cluster has made no role */
    bool is_new;             /* the lease object was just created: no resource has its uid yet */
    uint64_t epoch;          /* 0: lease not held */
    uint64_t epoch_base;     /* epoch minus version of the launch template */
    int64_t lease_since;
    int64_t lease_until;   /* end of the lease on the servers' clock */
    int64_t lease_ends_ms; /* end of the lease on the loop's clock */
    struct str lease_holder;
    struct str open_nonce; /* nonce of a claim with unknown outcome; empty: none */
    struct str own_group;  /* resources that prepare() created or found */
    struct str own_key;
    struct str own_profile;
    struct known_ids known;           /* instances known to belong to the cluster */
    struct aws_operation *operations; /* those in progress; close() ends them without callbacks */
};

static inline struct aws_provider *aws_provider_of(struct provider *provider)
{
    return (struct aws_provider *)provider;
}

/* Each file of operations implements its entries of the table in aws_provider.c. */
void aws_preflight(struct provider *provider, enum preflight_scope scope,
                   provider_preflight_fn *done, void *context);
struct provider_type_facts aws_type_facts(struct provider *provider, size_t type);
size_t aws_zones(struct provider *provider, size_t type, struct str *ret_zones, size_t most);
void aws_take(struct provider *provider, const struct take_request *request,
              provider_lease_fn *done, void *context);
void aws_renew(struct provider *provider, int64_t lease_ms, provider_lease_fn *done, void *context);
void aws_release(struct provider *provider, provider_done_fn *done, void *context);
void aws_admit(struct provider *provider, provider_resources_fn *done, void *context);
void aws_prepare(struct provider *provider, struct str ssh_public_key, provider_resources_fn *done,
                 void *context);
void aws_update_role(struct provider *provider, int64_t until, provider_resources_fn *done,
                     void *context);
void aws_remove(struct provider *provider, provider_resources_fn *done, void *context);
void aws_owner(struct provider *provider, provider_owner_fn *done, void *context);
/* The owner that an ARN names: of the caller, or of the creator of a resource. */
struct str aws_owner_of(struct str arn, struct arena *arena);
void aws_find(struct provider *provider, provider_found_fn *done, void *context);
void aws_adopt(struct provider *provider, struct str uid);
void aws_list(struct provider *provider, provider_machines_fn *done, void *context);
void aws_list_by(struct provider *provider, const struct machine_query *query,
                 provider_machines_fn *done, void *context);
bool aws_draft(struct provider *provider, const struct launch_request *request, struct arena *arena,
               struct str *ret_call, struct err *err);
void aws_launch(struct provider *provider, struct str call, provider_machines_fn *done,
                void *context);
void aws_terminate(struct provider *provider, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context);
void aws_stop(struct provider *provider, const struct str *ids, size_t count,
              provider_done_fn *done, void *context);
void aws_start(struct provider *provider, const struct str *ids, size_t count,
               provider_done_fn *done, void *context);
void aws_tag(struct provider *provider, const struct str *ids, size_t count,
             const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
             void *context);
