/* pace_watch.c: counts changes and writes decisions down. */
#include "pace_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000, HOUR = 3600 * SECOND, HEAD = 1 };

/*
 * Spread twice: over the run, and over the time in which the load repeats itself, so that they
 * are neither all from its peak nor all from its end.
 */
static int64_t next_dump_at(const struct watch *watch)
{
    int64_t cycle = 1 + watch->dumped * (watch->cycle_count - 1) / watch->dump_count;
    int64_t phase = watch->dumped * watch->cycle / watch->dump_count;
    return cycle * watch->cycle + phase;
}

void watch_init(struct watch *watch, const struct core_settings *settings, size_t workers,
                int64_t dump_count, int64_t cycle, int64_t cycle_count, struct arena *arena)
{
    *watch = (struct watch){.settings = settings,
                            .node_count = HEAD + 1 + workers,
                            .hour_end = HOUR,
                            .least_changes = UINT32_MAX,
                            .dump_count = dump_count,
                            .cycle = cycle,
                            .cycle_count = cycle_count};
    watch->nodes = ARENA_ARRAY(arena, watch->node_count, struct watched_node);
    watch->nodes[HEAD].type = settings->head_type;
    watch->dump_at = dump_count > 0 ? next_dump_at(watch) : INT64_MAX;
}

static struct watched_node *find(struct watch *watch, uint64_t instance)
{
    if (instance >= watch->node_count) {
        fprintf(stderr, "pace: more machines than the cluster may have\n");
        exit(1);
    }
    return &watch->nodes[instance];
}

static void end_hour(struct watch *watch)
{
    for (size_t i = HEAD + 1; i < watch->node_count; i++) {
        struct watched_node *node = &watch->nodes[i];
        if (node->changes < watch->least_changes) {
            watch->least_changes = node->changes;
        }
        node->changes = 0;
    }
    watch->hour_end += HOUR;
}

static void on_listing(struct watch *watch, const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listed *item = &listing->items[i];
        find(watch, item->instance)->type = watch->settings->offerings[item->offering].type;
    }
}

static void on_node(struct watch *watch, const struct ray_node *seen)
{
    struct watched_node *node = find(watch, seen->instance);
    node->changes++;
    node->is_alive = seen->status == RAY_ALIVE;
    node->idle_since = seen->idle_since;
    node->capacities = seen->capacities;
    node->capacity_count = seen->capacity_count;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static const char *comma(size_t position)
{
    return position > 0 ? ", " : "";
}

static void print_amount(const struct watch *watch, size_t position, uint32_t name, int64_t amount)
{
    printf("%s\"%.*s\": %" PRId64, comma(position),
           STR_ARG(intern_text(watch->settings->names, name)), amount);
}

static void print_type(const struct watch *watch, const struct plan_type *type)
{
    printf("{\"name\": \"%.*s\", \"gone\": false, \"min\": %" PRId64 ", \"max\": %" PRId64
           ", \"priority\": 0, \"idle_s\": null, \"hash\": \"\", \"labels\": {}, "
           "\"recoverable\": null, \"available\": null, \"resources\": {",
           STR_ARG(type->name), type->min_nodes, type->max_nodes);
    for (size_t i = 0; i < type->capacity_count; i++) {
        print_amount(watch, i, type->capacities[i].name, type->capacities[i].total);
    }
    printf("}}");
}

static void print_node(const struct watch *watch, const struct watched_node *node, int64_t now)
{
    printf("{\"type\": \"%.*s\", \"head\": %s, \"status\": \"RAY_RUNNING\", \"hash\": \"\", "
           "\"labels\": {}, \"pg_labels\": {}, \"is_known\": true, \"idle_ms\": %" PRId64
           ", \"total\": {",
           STR_ARG(watch->settings->types[node->type].name),
           node == &watch->nodes[HEAD] ? "true" : "false",
           node->idle_since == NOT_IDLE ? 0 : now - node->idle_since);
    for (size_t i = 0; i < node->capacity_count; i++) {
        print_amount(watch, i, node->capacities[i].name, node->capacities[i].total);
    }
    printf("}, \"free\": {");
    for (size_t i = 0; i < node->capacity_count; i++) {
        print_amount(watch, i, node->capacities[i].name, node->capacities[i].free);
    }
    printf("}}");
}

static void print_demand(const struct watch *watch, const struct demand *demand)
{
    printf("{\"count\": %" PRId64 ", \"request\": {\"selectors\": [], \"placements\": [], "
           "\"amounts\": {",
           demand->count);
    for (size_t i = 0; i < demand->request.amount_count; i++) {
        const struct amount *amount = &demand->request.amounts[i];
        print_amount(watch, i, amount->name, amount->amount);
    }
    printf("}}}");
}

/* Every node is there after the first minutes; a case with fewer would flatter Ray. */
static void print_case(const struct watch *watch, int64_t now)
{
    const struct core_settings *settings = watch->settings;
    printf("{\"at\": %" PRId64 ", \"max_nodes\": %" PRId64 ", \"idle_s\": %" PRId64
           ", \"check\": false, \"conserve\": %s, \"grid\": \"exact\", \"gangs\": [], "
           "\"constraint\": null, \"types\": [",
           now, settings->max_workers + 1, settings->idle_timeout / SECOND,
           settings->conserves_gpus ? "true" : "false");
    for (size_t i = 0; i < settings->type_count; i++) {
        printf("%s", comma(i));
        print_type(watch, &settings->types[i]);
    }
    printf("], \"nodes\": [");
    for (size_t i = HEAD; i < watch->node_count; i++) {
        if (!watch->nodes[i].is_alive) {
            fprintf(stderr, "pace: not every node is in Ray\n");
            exit(1);
        }
        printf("%s", comma(i - HEAD));
        print_node(watch, &watch->nodes[i], now);
    }
    printf("], \"demands\": [");
    for (size_t i = 0; i < watch->load.demand_count; i++) {
        printf("%s", comma(i));
        print_demand(watch, &watch->load.demands[i]);
    }
    printf("]}\n");
}

void watch_event(void *context, const struct event *event)
{
    struct watch *watch = context;
    if (event->at >= watch->hour_end) {
        end_hour(watch);
    }
    if (event->kind == EVENT_LISTING) {
        on_listing(watch, &event->listing);
    } else if (event->kind == EVENT_RAY_NODE) {
        on_node(watch, &event->ray_node);
    } else if (event->kind == EVENT_RAY_LOAD) {
        watch->load = event->ray_load;
    } else if (event->kind == EVENT_TICK && event->at >= watch->dump_at) {
        print_case(watch, event->at);
        watch->dumped++;
        watch->dump_at = watch->dumped < watch->dump_count ? next_dump_at(watch) : INT64_MAX;
    }
}

void watch_finish(struct watch *watch, int64_t now)
{
    if (now >= watch->hour_end) {
        end_hour(watch);
    }
}
