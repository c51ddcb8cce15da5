/* aws_state.h: the provider for AWS from inside; shared by the files that make it up. */
#pragma once

#include "provider/aws/aws_client.h"
#include "provider/aws/aws_facts.h"
#include "provider/provider.h"

struct aws_operation;

struct aws_provider {
    struct provider base; /* first: a provider is one of these */
    struct aws_client *client;
    struct loop *loop;
    struct http *http;
    const struct log *log;
    const struct provider_cluster *cluster;
    struct arena facts_arena;
    struct aws_facts facts; /* of the last survey */
    bool has_facts;
    struct arena own_arena; /* what follows */
    struct str uid;         /* empty until the cluster was taken or its uid read */
    uint64_t epoch;         /* 0: not taken */
    struct str own_group;   /* ids of what prepare() made or found */
    struct str own_key;
    struct str own_profile;
    struct aws_operation *operations; /* under way; ended without a call by close() */
};

static inline struct aws_provider *aws_provider_of(struct provider *provider)
{
    return (struct aws_provider *)provider;
}

/* Each file of operations fills its places of the table in aws_provider.c. */
void aws_survey(struct provider *provider, provider_survey_fn *done, void *context);
