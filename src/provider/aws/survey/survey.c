/* survey.c: a survey as an operation of the provider, which keeps what was found. */
#include "io/heap.h"
#include "provider/aws/aws_operation.h"
#include "provider/aws/survey/survey_run.h"

struct survey {
    struct aws_operation operation; /* first */
    struct survey_run *run;
    provider_survey_fn *done;
    void *context;
};

static void end(struct aws_operation *operation)
{
    struct survey *survey = (struct survey *)operation;
    survey_run_cancel(survey->run);
    free(survey);
}

static void on_result(void *context, const struct survey_result *result, struct arena *arena)
{
    struct survey *survey = context;
    struct aws_provider *provider = survey->operation.provider;
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    provider_survey_fn *done = survey->done;
    void *done_context = survey->context;
    arena_clear(&provider->facts_arena);
    provider->facts_arena = *arena;
    provider->facts = result->facts;
    provider->has_facts = !result->has_errors;
    aws_operation_remove(&survey->operation);
    free(survey);
    done(done_context, &answer, result->findings, result->count);
}

void aws_survey(struct provider *provider, enum survey_scope scope, provider_survey_fn *done,
                void *context)
{
    struct aws_provider *aws = aws_provider_of(provider);
    struct survey *survey = HEAP_NEW(struct survey);
    survey->done = done;
    survey->context = context;
    aws_operation_add(aws, &survey->operation, end);
    survey->run = survey_run_start(aws->client, aws->cluster, scope, on_result, survey);
}

/* Two subnets of one zone are one place: the first of them is used. */
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
