/* aws_provider.c: the table of AWS operations. */
#include "provider/aws/aws_provider.h"

#include "io/xalloc.h"
#include "provider/aws/aws_internal.h"
#include "provider/aws/aws_operation.h"

static void aws_close(struct provider *base)
{
    struct aws_provider *provider = aws_provider_of(base);
    aws_operations_end(provider);
    aws_client_close(provider->client);
    known_ids_renew(&provider->known, INT64_MAX);
    arena_clear(&provider->facts_arena);
    arena_clear(&provider->own_arena);
    free(provider);
}

static const struct provider_ops ops = {
    .name = "aws",
    .preflight = aws_preflight,
    .zones = aws_zones,
    .type_facts = aws_type_facts,
    .take = aws_take,
    .renew = aws_renew,
    .release = aws_release,
    .prepare = aws_prepare,
    .update_role = aws_update_role,
    .admit = aws_admit,
    .owner = aws_owner,
    .find = aws_find,
    .adopt = aws_adopt,
    .remove = aws_remove,
    .list = aws_list,
    .list_by = aws_list_by,
    .draft = aws_draft,
    .launch = aws_launch,
    .terminate = aws_terminate,
    .stop = aws_stop,
    .start = aws_start,
    .tag = aws_tag,
    .close = aws_close,
};

bool aws_provider_open(struct aws_client *client, const struct aws_client_setup *setup,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err)
{
    if (cluster->name.len == 0) {
        return err_set(err, ERR_CONFIG, "the cluster has no name");
    }
    struct aws_provider *provider = HEAP_NEW(struct aws_provider);
    provider->base.ops = &ops;
    provider->client = client;
    provider->loop = setup->loop;
    provider->http = setup->http;
    provider->log = setup->log;
    provider->environ = setup->environ;
    provider->cluster = cluster;
    provider->rng.state = setup->seed;
    arena_init(&provider->facts_arena);
    arena_init(&provider->own_arena);
    *ret_provider = &provider->base;
    return true;
}

struct aws_client *aws_provider_client(struct provider *provider)
{
    return aws_provider_of(provider)->client;
}
