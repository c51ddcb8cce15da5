/* metrics_nodes.c: nodes and their resources, by type. */
#include "app/head/metrics/metrics_internal.h"
#include "core/resource.h"

static size_t *census_at(const struct metrics_census *census, size_t type, enum node_phase phase)
{
    return &census->counts[type * PHASE_COUNT + phase];
}

static size_t metrics_nodes_type_of(const struct config *config, struct str name)
{
    size_t at = 0;
    while (at < config->node_type_count && !str_eq(config->node_types[at].name, name)) {
        at++;
    }
    return at;
}

static void count_node(struct metrics_census *census, const struct node_view *view)
{
    enum node_phase phase = view->phase;
    bool is_there = phase != PHASE_TERMINATED && phase != PHASE_FAILED;
    census->workers_ready += phase == PHASE_READY && !view->is_head;
    census->updating += phase >= PHASE_COPYING && phase <= PHASE_STARTING;
    census->spot += is_there && view->is_spot;
    census->price += is_there && view->price != PRICE_UNKNOWN ? view->price : 0;
    census->unknown_prices += is_there && view->price == PRICE_UNKNOWN;
}

struct metrics_census metrics_take_census(struct metrics_writing *writing)
{
    const struct metrics_scene *scene = writing->scene;
    struct metrics_census census = {.type_count = scene->config->node_type_count};
    census.counts = ARENA_ARRAY(writing->arena, (census.type_count + 1) * PHASE_COUNT, size_t);
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        ++*census_at(&census, metrics_nodes_type_of(scene->config, view->type), view->phase);
        count_node(&census, view);
    }
    if (scene->cluster_status && scene->cluster_status->price >= 0) {
        census.price = scene->cluster_status->price;
    }
    return census;
}

static struct str metrics_nodes_type_name(const struct metrics_writing *writing, size_t type)
{
    const struct config *config = writing->scene->config;
    return type < config->node_type_count ? config->node_types[type].name : STR("(other)");
}

static size_t count_phases(const struct metrics_census *census, size_t type, enum node_phase from,
                           enum node_phase to)
{
    size_t sum = 0;
    for (size_t phase = from; phase <= (size_t)to; phase++) {
        sum += *census_at(census, type, (enum node_phase)phase);
    }
    return sum;
}

static void add_rays(struct metrics_writing *writing, const struct metrics_census *census)
{
    static const struct {
        const char *name, *help;
        enum node_phase from, to;
    } rows[] = {
        {"autoscaler_pending_nodes", "Number of nodes pending to be started.", PHASE_REQUESTED,
         PHASE_JOINING},
        {"autoscaler_active_nodes", "Number of nodes in the cluster.", PHASE_READY, PHASE_READY},
        {"autoscaler_recently_failed_nodes", "The number of recently failed nodes.", PHASE_FAILED,
         PHASE_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metrics_family(writing, rows[i].name, "gauge", rows[i].help);
        for (size_t type = 0; type <= census->type_count; type++) {
            size_t count = count_phases(census, type, rows[i].from, rows[i].to);
            if (type < census->type_count || count > 0) {
                metrics_line(
                    writing, rows[i].name, "",
                    (struct metrics_label){"NodeType", metrics_nodes_type_name(writing, type)},
                    metrics_none, (double)count);
            }
        }
    }
}

static void metrics_nodes_add_ours(struct metrics_writing *writing,
                                   const struct metrics_census *census)
{
    metrics_family(writing, "shoal_nodes", "gauge", "Nodes by type and state.");
    for (size_t type = 0; type <= census->type_count; type++) {
        for (size_t phase = 0; phase < PHASE_COUNT; phase++) {
            size_t count = *census_at(census, type, (enum node_phase)phase);
            if ((type < census->type_count || count > 0) && phase != PHASE_TERMINATED) {
                const char *word = node_phase_name((enum node_phase)phase);
                metrics_line(writing, "shoal_nodes", "",
                             (struct metrics_label){"type", metrics_nodes_type_name(writing, type)},
                             (struct metrics_label){"state", str_from(word)}, (double)count);
            }
        }
    }
}

void metrics_add_nodes(struct metrics_writing *writing, const struct metrics_census *census)
{
    add_rays(writing, census);
    metrics_nodes_add_ours(writing, census);
}

/* ---- resources ---- */

enum amount_kind { AMOUNT_TOTAL, AMOUNT_PENDING, AMOUNT_USED, AMOUNT_KIND_COUNT };

struct metrics_nodes_tally {
    struct str name;
    double values[AMOUNT_KIND_COUNT];
};

struct tallies {
    struct metrics_nodes_tally items[METRICS_RESOURCES_MAX];
    size_t count;
};

static void metrics_nodes_add_amount(struct tallies *amounts, struct str name,
                                     enum amount_kind kind, double value)
{
    size_t at = 0;
    while (at < amounts->count && !str_eq(amounts->items[at].name, name)) {
        at++;
    }
    if (at == amounts->count) {
        /* The resource "node:<address>" of every node is not a quantity. */
        if (at == METRICS_RESOURCES_MAX || str_starts(name, "node:")) {
            return;
        }
        amounts->items[amounts->count++].name = name;
    }
    amounts->items[at].values[kind] += value;
}

static void metrics_nodes_add_pending(struct tallies *amounts, const struct config_node_type *type,
                                      size_t nodes)
{
    for (size_t i = 0; i < type->resources.count; i++) {
        const struct resource *resource = &type->resources.items[i];
        double units = (double)resource->amount / RESOURCE_UNIT;
        if (nodes > 0) {
            metrics_nodes_add_amount(amounts, resource->name, AMOUNT_PENDING,
                                     units * (double)nodes);
        }
    }
}

static void add_present(struct tallies *amounts, const struct cluster_status *cluster_status)
{
    for (size_t i = 0; cluster_status && i < cluster_status->node_count; i++) {
        const struct node_usage *node = &cluster_status->nodes[i];
        for (size_t j = 0; j < node->use_count && !node->is_dead; j++) {
            metrics_nodes_add_amount(amounts, node->uses[j].name, AMOUNT_TOTAL,
                                     node->uses[j].total);
            metrics_nodes_add_amount(amounts, node->uses[j].name, AMOUNT_USED, node->uses[j].used);
        }
    }
}

void metrics_add_resources(struct metrics_writing *writing, const struct metrics_census *census)
{
    static const struct {
        const char *name, *help;
    } rows[AMOUNT_KIND_COUNT] = {
        [AMOUNT_TOTAL] = {"autoscaler_cluster_resources",
                          "Total logical resources in the cluster."},
        [AMOUNT_PENDING] = {"autoscaler_pending_resources",
                            "Pending logical resources in the cluster."},
        [AMOUNT_USED] = {"shoal_used_resources", "Logical resources that are in use."},
    };
    static const struct str usual[] = {{"CPU", 3}, {"GPU", 3}, {"memory", 6}};
    struct tallies amounts = {0};
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) { /* listed even if there are none */
        metrics_nodes_add_amount(&amounts, usual[i], AMOUNT_TOTAL, 0);
    }
    for (size_t type = 0; type < census->type_count; type++) {
        metrics_nodes_add_pending(&amounts, &writing->scene->config->node_types[type],
                                  count_phases(census, type, PHASE_REQUESTED, PHASE_JOINING));
    }
    add_present(&amounts, writing->scene->cluster_status);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metrics_family(writing, rows[i].name, "gauge", rows[i].help);
        for (size_t j = 0; j < amounts.count; j++) {
            metrics_line(writing, rows[i].name, "",
                         (struct metrics_label){"resource", amounts.items[j].name}, metrics_none,
                         amounts.items[j].values[i]);
        }
    }
}
