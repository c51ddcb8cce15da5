/* aws_provider.c: AWS behind provider.h: the table of operations, opening and closing. */
#include "provider/aws/aws_provider.h"

#include "io/heap.h"
#include "provider/aws/aws_operation.h"

static void close_provider(struct provider *provider)
{
    struct aws_provider *aws = aws_provider_of(provider);
    aws_operations_end(aws);
    aws_client_close(aws->client);
    arena_clear(&aws->facts_arena);
    arena_clear(&aws->own_arena);
    free(aws);
}

static const struct provider_ops ops = {
    .name = "aws",
    .survey = aws_survey,
    .close = close_provider,
};

bool aws_provider_open(struct aws_client *client, const struct aws_client_setup *setup,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err)
{
    struct aws_provider *aws = HEAP_NEW(struct aws_provider);
    (void)err;
    aws->base.ops = &ops;
    aws->client = client;
    aws->loop = setup->loop;
    aws->http = setup->http;
    aws->log = setup->log;
    aws->cluster = cluster;
    arena_init(&aws->facts_arena);
    arena_init(&aws->own_arena);
    *ret_provider = &aws->base;
    return true;
}
