/* aws_state.h: the provider for AWS from inside; shared by the files that make it up. */
#pragma once

#include "base/dice.h"
#include "provider/aws/aws_facts.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/machines/known_ids.h"
#include "provider/provider.h"

struct aws_operation;

struct aws_provider {
    struct provider base; /* first: a provider is one of these */
    struct aws_client *client;
    struct loop *loop;
    struct http *http;
    const struct log *log;
    aws_environ environ;
    const struct provider_cluster *cluster;
    struct dice dice; /* of pauses */
    struct arena facts_arena;
    struct aws_facts facts; /* of the last survey */
    bool has_facts;
    struct arena own_arena; /* what follows */
    struct str uid;         /* empty until the cluster was taken or its uid read */
    struct str anchor;      /* id of the launch template; likewise */
    struct str account;     /* for people; empty: not told */
    bool is_new;            /* we have just made the anchor: nothing bears its uid yet */
    uint64_t epoch;         /* 0: not taken */
    int64_t lease_since;
    int64_t lease_until; /* by the servers' clock */
    struct str lease_holder;
    struct str open_nonce; /* of a taking of which nobody knows what became; empty: none */
    struct str own_group;  /* ids of what prepare() made or found */
    struct str own_key;
    struct str own_profile;
    struct known_ids known;           /* machines that are the cluster's for certain */
    struct aws_operation *operations; /* under way; ended without a call by close() */
};

static inline struct aws_provider *aws_provider_of(struct provider *provider)
{
    return (struct aws_provider *)provider;
}

/* Each file of operations fills its places of the table in aws_provider.c. */
void aws_survey(struct provider *provider, enum survey_scope scope, provider_survey_fn *done,
                void *context);
size_t aws_zones(struct provider *provider, size_t type, struct str *ret_zones, size_t most);
void aws_take(struct provider *provider, const struct take_request *request,
              provider_lease_fn *done, void *context);
void aws_renew(struct provider *provider, int64_t lease_ms, provider_lease_fn *done, void *context);
void aws_release(struct provider *provider, provider_done_fn *done, void *context);
void aws_prepare(struct provider *provider, struct str ssh_public_key, provider_things_fn *done,
                 void *context);
void aws_remove(struct provider *provider, provider_things_fn *done, void *context);
void aws_list(struct provider *provider, provider_machines_fn *done, void *context);
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
