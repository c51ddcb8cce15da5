/* print_json.c: the result as one object with stable keys. Times are in seconds, money in US
 * dollars. */
#include "cli/json_object.h"
#include "cli/simulate/print.h"
#include "config/catalog/catalog.h"
#include "config/document/json_write.h"

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static double hours(int64_t ms)
{
    return (double)ms / 3600000;
}

/* A price or a sum; null if unknown. */
static void simulate_print_json_set_money(struct arena *arena, struct value *record,
                                          const char *key, int64_t micro)
{
    if (micro == PRICE_UNKNOWN) {
        record_null(arena, record, key);
    } else {
        record_number(arena, record, key, (double)micro / 1e6);
    }
}

static struct value *wait_record(struct arena *arena, const struct wait_figures *wait)
{
    struct value *record = record_new(arena);
    record_number(arena, record, "p50", seconds(wait->p50));
    record_number(arena, record, "p90", seconds(wait->p90));
    record_number(arena, record, "p99", seconds(wait->p99));
    record_number(arena, record, "max", seconds(wait->longest));
    return record;
}

static struct value *class_records(struct arena *arena, const struct figures *figures)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < figures->class_count; i++) {
        const struct class_row *row = &figures->classes[i];
        struct value *record = record_new(arena);
        record_text(arena, record, "class", row->name);
        record_int(arena, record, "arrived", row->arrived);
        record_int(arena, record, "started", row->started);
        record_int(arena, record, "finished", row->finished);
        record_int(arena, record, "lost", row->lost);
        value_map_set_c(arena, record, "wait_seconds", wait_record(arena, &row->wait));
        value_list_add(arena, list, record);
    }
    return list;
}

static struct value *type_records(struct arena *arena, const struct figures *figures)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < figures->type_count; i++) {
        const struct type_row *row = &figures->types[i];
        struct value *record = record_new(arena);
        record_text(arena, record, "type", row->facts->name);
        record_text(arena, record, "instance_type", row->facts->machine);
        record_text(arena, record, "market", row->facts->is_spot ? STR("spot") : STR("on-demand"));
        simulate_print_json_set_money(arena, record, "price", row->facts->price);
        record_number(arena, record, "node_hours", hours(row->node_ms));
        simulate_print_json_set_money(arena, record, "cost", row->cost);
        value_list_add(arena, list, record);
    }
    return list;
}

static void set_moment(struct arena *arena, struct value *record, const char *key, int64_t ms)
{
    if (ms < 0) {
        record_null(arena, record, key);
    } else {
        record_number(arena, record, key, seconds(ms));
    }
}

static struct value *line_records(struct arena *arena, const struct simulate_run *run)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < run->line_count; i++) {
        struct value *record = record_new(arena);
        record_number(arena, record, "seconds", seconds(run->lines[i].at));
        record_text(arena, record, "text", print_line_body(run->lines[i].text));
        value_list_add(arena, list, record);
    }
    return list;
}

static struct value *planner_record(struct arena *arena, const struct result *result, size_t which,
                                    const struct figures *figures)
{
    const struct measure *measure = figures->measure;
    const struct simulate_run *run = &result->runs[which];
    struct value *record = record_new(arena);
    record_text(arena, record, "planner", str_from(figures->planner));
    set_moment(arena, record, "first_node_seconds", measure->first_node_at);
    record_int(arena, record, "most_nodes", measure->most_nodes);
    set_moment(arena, record, "most_nodes_seconds",
               measure->most_nodes > 0 ? measure->most_nodes_at : -1);
    value_map_set_c(arena, record, "wait_seconds", wait_record(arena, &figures->wait));
    record_int(arena, record, "arrived", figures->arrived);
    record_int(arena, record, "started", figures->started);
    record_int(arena, record, "finished", figures->finished);
    record_int(arena, record, "lost", figures->lost);
    record_number(arena, record, "node_hours", hours(figures->node_ms));
    simulate_print_json_set_money(arena, record, "cost", figures->cost);
    record_flag(arena, record, "cost_is_partial", figures->is_cost_partial);
    if (figures->busy_permille < 0) {
        record_null(arena, record, "utilization");
    } else {
        record_number(arena, record, "utilization", (double)figures->busy_permille / 1000);
    }
    record_int(arena, record, "launches", measure->launches);
    record_int(arena, record, "refused", measure->refused);
    record_int(arena, record, "preemptions", measure->preemptions);
    record_int(arena, record, "ended", measure->ends);
    value_map_set_c(arena, record, "types", type_records(arena, figures));
    value_map_set_c(arena, record, "classes", class_records(arena, figures));
    record_int(arena, record, "events", (int64_t)run->events);
    record_text(arena, record, "trace",
                arena_printf(arena, "%016llx", (unsigned long long)run->trace));
    if (result->options->explain_at >= 0) {
        value_map_set_c(arena, record, "lines", line_records(arena, run));
    }
    return record;
}

static struct value *price_record(struct arena *arena, const struct result *result)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "region", catalog_ec2_price_region());
    record_text(arena, record, "date", catalog_ec2_price_date());
    record_number(arena, record, "spot_share",
                  (double)result->options->workload->spot_share / 1000);
    record_text(arena, record, "text", format_prices(arena, result));
    return record;
}

static struct value *spread_record(struct arena *arena, const struct spread *spread)
{
    struct value *record = record_new(arena);
    record_int(arena, record, "seeds", (int64_t)spread->seeds);
    if (spread->has_cost) {
        record_number(arena, record, "cost_mean", (double)spread->cost_mean / 1e6);
        record_number(arena, record, "cost_min", (double)spread->cost_least / 1e6);
        record_number(arena, record, "cost_max", (double)spread->cost_most / 1e6);
    } else {
        record_null(arena, record, "cost_mean");
        record_null(arena, record, "cost_min");
        record_null(arena, record, "cost_max");
    }
    record_number(arena, record, "wait_p90_seconds_mean", seconds(spread->wait_mean));
    record_number(arena, record, "wait_p90_seconds_min", seconds(spread->wait_least));
    record_number(arena, record, "wait_p90_seconds_max", seconds(spread->wait_most));
    return record;
}

static struct value *comparison_record(struct arena *arena, const struct figures *first,
                                       const struct figures *second, const struct spread *spread)
{
    struct comparison comparison = figures_compare(arena, first, second);
    struct value *record = record_new(arena);
    record_text(arena, record, "planner", str_from(second->planner));
    record_text(arena, record, "against", str_from(first->planner));
    if (comparison.has_cost) {
        record_number(arena, record, "cost", (double)comparison.cost / 1e6);
        record_number(arena, record, "cost_share", (double)comparison.cost_permille / 1000);
    } else {
        record_null(arena, record, "cost");
        record_null(arena, record, "cost_share");
    }
    record_number(arena, record, "wait_p90_seconds", seconds(comparison.wait_p90));
    value_map_set_c(arena, record, "spread", spread_record(arena, spread));
    record_text(arena, record, "text", spread->text);
    return record;
}

bool print_json(struct buf *out, struct arena *arena, const struct result *result,
                const struct figures *figures, const struct spread *spreads, struct err *err)
{
    const struct sim_options *options = result->options;
    struct value *record = record_new(arena);
    struct value *planners = record_list(arena);
    struct value *comparisons = record_list(arena);
    record_text(arena, record, "cluster", options->config->cluster_name);
    record_text(arena, record, "provider", options->config->provider_type);
    record_text(arena, record, "workload", options->workload_name);
    record_number(arena, record, "hours", hours(options->workload->duration));
    record_text(arena, record, "faults", str_from(options->faults));
    record_int(arena, record, "seed", (int64_t)options->seed);
    value_map_set_c(arena, record, "prices", price_record(arena, result));
    for (size_t i = 0; i < result->run_count; i++) {
        value_list_add(arena, planners, planner_record(arena, result, i, &figures[i]));
    }
    for (size_t i = 1; i < result->run_count; i++) {
        value_list_add(arena, comparisons,
                       comparison_record(arena, &figures[0], &figures[i], &spreads[i - 1]));
    }
    value_map_set_c(arena, record, "planners", planners);
    value_map_set_c(arena, record, "comparisons", comparisons);
    bool ok = json_write(out, record, JSON_PRETTY, err);
    buf_add_char(out, '\n');
    return ok;
}
