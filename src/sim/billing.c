/* billing.c: the figures of the report, from the cloud's own records. */
#include "sim/yard_parts.h"

static int64_t price_of(const struct yard *yard, const struct instance *instance)
{
    int64_t price = yard->settings.offerings[instance->offering].price;
    return price > 0 ? price : 0;
}

static bool is_billed(const struct instance *instance)
{
    return instance->is_ours && !instance->is_head;
}

static int64_t billed_until(const struct instance *instance, int64_t now)
{
    return instance->ended_at < now ? instance->ended_at : now;
}

void billing_sample(struct yard *yard)
{
    int64_t now = yard->agenda.now;
    struct sample sample = {.at = now};
    int64_t *nodes = ARENA_ARRAY(yard->arena, yard->settings.type_count, int64_t);
    for (size_t i = 0; i < yard->cloud.instance_count; i++) {
        const struct instance *instance = &yard->cloud.instances[i];
        if (!is_billed(instance)) {
            continue;
        }
        int64_t price = price_of(yard, instance);
        sample.spent += measure_cost(price, billed_until(instance, now) - instance->created_at);
        if (instance_is_live(instance, now)) {
            nodes[yard->settings.offerings[instance->offering].type]++;
            sample.price += price;
        }
    }
    sample.nodes = nodes;
    sample.ready = yard->cluster.alive;
    sample.pending = cluster_pending(&yard->cluster);
    measure_sample(&yard->measure, &sample, yard->arena);
    agenda_add(&yard->agenda, now + yard->setup.sample, AGENDA_SAMPLE, 0, 0, 0);
}

void billing_finish(struct yard *yard)
{
    struct measure *measure = &yard->measure;
    cluster_account(&yard->cluster);
    for (size_t i = 0; i < yard->cloud.instance_count; i++) {
        const struct instance *instance = &yard->cloud.instances[i];
        if (!is_billed(instance)) {
            continue;
        }
        measure_instance(measure, yard->settings.offerings[instance->offering].type,
                         price_of(yard, instance), instance->created_at,
                         billed_until(instance, yard->agenda.now));
        measure->launches++;
        measure->preemptions += instance->ended_by == ENDED_BY_SPOT;
        measure->ends += instance->ended_by == ENDED_BY_CONTROLLER;
    }
    measure->busy_ms = yard->cluster.busy_ms;
    measure->ready_ms = yard->cluster.alive_ms;
    measure->classes = yard->cluster.figures;
    measure->class_count = yard->setup.workload->class_count;
}
