/* preflight.c: the provider operation that runs a preflight and keeps its results. */
#include "io/xalloc.h"
#include "provider/aws/aws_operation.h"
#include "provider/aws/preflight/preflight_run.h"

struct preflight_state {
    struct aws_operation operation; /* must be first */
    struct aws_preflight_run *run;
    provider_preflight_fn *done;
    void *context;
};

static void preflight_end(struct aws_operation *operation)
{
    struct preflight_state *preflight = (struct preflight_state *)operation;
    aws_preflight_run_cancel(preflight->run);
    free(preflight);
}

static void on_result(void *context, const struct preflight_result *result, struct arena *arena)
{
    struct preflight_state *preflight = context;
    struct aws_provider *provider = preflight->operation.provider;
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    provider_preflight_fn *done = preflight->done;
    void *done_context = preflight->context;
    arena_clear(&provider->facts_arena);
    provider->facts_arena = *arena;
    provider->facts = result->facts;
    provider->has_facts = !result->has_errors;
    aws_operation_remove(&preflight->operation);
    free(preflight);
    done(done_context, &answer, result->findings, result->count);
}

void aws_preflight(struct provider *provider, enum preflight_scope scope,
                   provider_preflight_fn *done, void *context)
{
    struct aws_provider *aws = aws_provider_of(provider);
    struct preflight_state *preflight = HEAP_NEW(struct preflight_state);
    preflight->done = done;
    preflight->context = context;
    aws_operation_add(aws, &preflight->operation, preflight_end);
    preflight->run = aws_preflight_run_start(aws->client, aws->cluster, scope, on_result,
                                             preflight);
}

/* Only the first subnet of each zone is used. */
static bool has_zone(const struct str *zones, size_t count, struct str zone)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(zones[i], zone)) {
            return true;
        }
    }
    return false;
}

size_t aws_zones(struct provider *provider, size_t type, struct str *ret_zones, size_t most)
{
    const struct aws_provider *aws = aws_provider_of(provider);
    size_t count = 0;
    if (!aws->has_facts || type >= aws->cluster->type_count) {
        return 0;
    }
    const struct aws_type_facts *facts = &aws->facts.types[type];
    for (size_t i = 0; i < facts->subnet_count && count < most; i++) {
        if (!has_zone(ret_zones, count, facts->subnets[i].zone)) {
            ret_zones[count++] = facts->subnets[i].zone;
        }
    }
    return count;
}

struct provider_type_facts aws_type_facts(struct provider *provider, size_t type)
{
    const struct aws_provider *aws = aws_provider_of(provider);
    if (!aws->facts.types || type >= aws->cluster->type_count) {
        return (struct provider_type_facts){0};
    }
    const struct aws_type_facts *facts = &aws->facts.types[type];
    return (struct provider_type_facts){.architecture = facts->arch,
                                        .image = facts->image,
                                        .image_name = facts->image_name,
                                        .user_data = facts->user_data,
                                        .disks = facts->disks};
}
