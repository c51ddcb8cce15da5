/* billing.c: the figures of the report, from the cloud's own records. */
#include "sim/simulation_internal.h"

static int64_t billing_price_of(const struct simulation *simulation,
                                const struct instance *instance)
{
    int64_t price = simulation->settings.offerings[instance->offering].price;
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

void billing_sample(struct simulation *simulation)
{
    int64_t now = simulation->event_queue.now;
    struct sample sample = {.at = now};
    int64_t *nodes = ARENA_ARRAY(simulation->arena, simulation->settings.type_count, int64_t);
    for (size_t i = 0; i < simulation->cloud.instance_count; i++) {
        const struct instance *instance = &simulation->cloud.instances[i];
        if (!is_billed(instance)) {
            continue;
        }
        int64_t price = billing_price_of(simulation, instance);
        sample.spent += measure_cost(price, billed_until(instance, now) - instance->created_at);
        if (instance_is_live(instance, now)) {
            nodes[simulation->settings.offerings[instance->offering].type]++;
            sample.price += price;
        }
    }
    sample.nodes = nodes;
    sample.ready = simulation->cluster.alive;
    sample.pending = cluster_pending(&simulation->cluster);
    measure_sample(&simulation->measure, &sample, simulation->arena);
    event_queue_add(&simulation->event_queue, now + simulation->setup.sample, EVENT_QUEUE_SAMPLE, 0,
                    0, 0);
}

void billing_finish(struct simulation *simulation)
{
    struct measure *measure = &simulation->measure;
    cluster_account(&simulation->cluster);
    for (size_t i = 0; i < simulation->cloud.instance_count; i++) {
        const struct instance *instance = &simulation->cloud.instances[i];
        if (!is_billed(instance)) {
            continue;
        }
        measure_instance(measure, simulation->settings.offerings[instance->offering].type,
                         billing_price_of(simulation, instance), instance->created_at,
                         billed_until(instance, simulation->event_queue.now));
        measure->launches++;
        measure->preemptions += instance->ended_by == ENDED_BY_SPOT;
        measure->ends += instance->ended_by == ENDED_BY_CONTROLLER;
    }
    measure->busy_ms = simulation->cluster.busy_ms;
    measure->ready_ms = simulation->cluster.alive_ms;
    measure->classes = simulation->cluster.figures;
    measure->class_count = simulation->setup.workload->class_count;
}
