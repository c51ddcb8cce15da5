/* figures.c: sums up, compares and formats results. */
#include "cli/simulate/figures.h"

#include "config/catalog/catalog.h"

#include <math.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* ---- formatting ---- */

/* At most two units. */
static struct str two_units(struct arena *arena, int64_t ms, int64_t large, const char *large_name,
                            int64_t small, const char *small_name)
{
    long long major = (long long)(ms / large);
    long long minor = (long long)(ms % large / small);
    return minor > 0 ? arena_printf(arena, "%lld%s %lld%s", major, large_name, minor, small_name)
                     : arena_printf(arena, "%lld%s", major, large_name);
}

struct str format_time(struct arena *arena, int64_t ms)
{
    if (ms < 10 * SECOND && ms % SECOND != 0) {
        return arena_printf(arena, "%.1fs", (double)ms / 1000);
    }
    if (ms < MINUTE) {
        return arena_printf(arena, "%llds", (long long)(ms / SECOND));
    }
    return ms < HOUR  ? two_units(arena, ms, MINUTE, "m", SECOND, "s")
           : ms < DAY ? two_units(arena, ms, HOUR, "h", MINUTE, "m")
                      : two_units(arena, ms, DAY, "d", HOUR, "h");
}

struct str format_money(struct arena *arena, int64_t micro)
{
    if (micro == PRICE_UNKNOWN) {
        return STR("unknown");
    }
    int64_t cents = (micro + 5000) / 10000;
    return arena_printf(arena, "$%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
}

struct str format_hours(struct arena *arena, int64_t ms)
{
    return arena_printf(arena, "%.1f", (double)ms / (double)HOUR);
}

struct str format_cluster(struct arena *arena, const struct result *result)
{
    const struct config *config = result->options->config;
    struct str region = result->setup.region;
    return arena_printf(arena, "%.*s on %.*s%s%.*s", STR_ARG(config->cluster_name),
                        STR_ARG(config->provider_type), region.len > 0 ? " " : "", STR_ARG(region));
}

/* ---- price sources ---- */

static void simulate_figures_add_sources(struct buf *out, const struct result *result)
{
    bool from[PRICE_SOURCE_COUNT] = {false};
    bool has_share = false;
    for (size_t i = 0; i < result->setup.settings.type_count; i++) {
        from[result->setup.facts[i].source] = true;
        has_share = has_share || result->setup.facts[i].is_share;
    }
    if (from[PRICE_FROM_CATALOG]) {
        struct str region = catalog_ec2_price_region();
        struct str date = catalog_ec2_price_date();
        buf_addf(out, "Prices: EC2 on demand in %.*s on %.*s", STR_ARG(region), STR_ARG(date));
    } else if (from[PRICE_FROM_WORKLOAD] || from[PRICE_FROM_FILE]) {
        buf_addf(out, "Prices: as given in %s",
                 from[PRICE_FROM_WORKLOAD] ? "the workload file" : "the cluster file");
    } else {
        return;
    }
    if (from[PRICE_FROM_CATALOG] && (from[PRICE_FROM_WORKLOAD] || from[PRICE_FROM_FILE])) {
        buf_add_c(out, ", except for prices set in your files");
    }
    if (has_share) {
        buf_addf(out, "; spot prices are assumed to be %lld %% of on-demand prices",
                 (long long)(result->options->workload->spot_share / 10));
    }
    buf_add_c(out, ". ");
}

static void add_unknown(struct buf *out, const struct result *result)
{
    const char *separator = "No known price for ";
    bool has_any = false;
    for (size_t i = 0; i < result->setup.settings.type_count; i++) {
        const struct type_facts *facts = &result->setup.facts[i];
        if (facts->source != PRICE_FROM_UNKNOWN) {
            continue;
        }
        buf_addf(out, "%s%.*s", separator, STR_ARG(facts->name));
        separator = ", ";
        has_any = true;
    }
    if (has_any) {
        buf_add_c(out, "; add prices to the workload file. ");
    }
}

struct str format_prices(struct arena *arena, const struct result *result)
{
    AUTO_BUF struct buf out;
    const struct type_facts *head = &result->setup.facts[result->setup.settings.head_type];
    buf_init(&out, (size_t)64 * 1024);
    simulate_figures_add_sources(&out, result);
    add_unknown(&out, result);
    buf_addf(&out, "The head is not included");
    if (head->price > 0) {
        int64_t cost = (int64_t)((double)head->price * (double)result->options->workload->duration /
                                 (double)HOUR);
        buf_addf(&out, "; it adds %.*s", STR_ARG(format_money(arena, cost)));
    }
    buf_add_char(&out, '.');
    return arena_str(arena, buf_str(&out));
}

/* ---- summing up ---- */

static struct wait_figures waits_of(const struct measure *measure)
{
    struct arena scratch;
    struct wait_figures waits = {0};
    const struct {
        int64_t permille;
        int64_t *target;
    } wanted[] = {{500, &waits.p50}, {900, &waits.p90}, {990, &waits.p99}, {1000, &waits.longest}};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        arena_init(&scratch);
        *wanted[i].target = measure_wait(measure, wanted[i].permille, &scratch);
        arena_clear(&scratch);
    }
    return waits;
}

static void simulate_figures_add_classes(struct arena *arena, const struct result *result,
                                         struct figures *figures)
{
    const struct measure *measure = figures->measure;
    struct class_row *rows = ARENA_ARRAY(arena, measure->class_count, struct class_row);
    for (size_t i = 0; i < measure->class_count; i++) {
        const struct class_figures *class = &measure->classes[i];
        struct measure alone = {.classes = class, .class_count = 1};
        rows[i] = (struct class_row){.name = result->options->workload->classes[i].name,
                                     .arrived = class->arrived,
                                     .started = class->started,
                                     .finished = class->finished,
                                     .lost = class->lost,
                                     .wait = waits_of(&alone)};
        figures->arrived += class->arrived;
        figures->started += class->started;
        figures->finished += class->finished;
        figures->lost += class->lost;
    }
    figures->classes = rows;
    figures->class_count = measure->class_count;
}

static void simulate_figures_add_types(struct arena *arena, const struct result *result,
                                       struct figures *figures)
{
    const struct measure *measure = figures->measure;
    struct type_row *rows = ARENA_ARRAY(arena, measure->type_count, struct type_row);
    int64_t known = 0;
    bool has_known = false;
    for (size_t i = 0; i < measure->type_count; i++) {
        const struct type_facts *facts = &result->setup.facts[i];
        bool is_known = facts->source != PRICE_FROM_UNKNOWN;
        rows[i] = (struct type_row){facts, measure->node_ms[i],
                                    is_known ? measure->cost[i] : PRICE_UNKNOWN};
        figures->node_ms += measure->node_ms[i];
        known += is_known ? measure->cost[i] : 0;
        has_known = has_known || is_known;
        figures->is_cost_partial = figures->is_cost_partial ||
                                   (!is_known && measure->node_ms[i] > 0);
    }
    bool is_unknown = !has_known || (known == 0 && figures->is_cost_partial);
    figures->cost = is_unknown ? PRICE_UNKNOWN : known;
    figures->types = rows;
    figures->type_count = measure->type_count;
}

struct figures figures_of(struct arena *arena, const struct result *result,
                          const struct simulate_run *run)
{
    const struct measure *measure = run->measure;
    struct figures figures = {.planner = run->planner, .measure = measure};
    figures.wait = waits_of(measure);
    figures.busy_permille = measure->ready_ms > 0 ? measure->busy_ms * 1000 / measure->ready_ms
                                                  : -1;
    simulate_figures_add_classes(arena, result, &figures);
    simulate_figures_add_types(arena, result, &figures);
    return figures;
}

/* ---- the table ---- */

typedef struct str value_fn(struct arena *arena, const struct figures *figures, size_t position);

static struct figure_row *simulate_figures_add_row(struct arena *arena, struct figure_table *table,
                                                   const struct figures *figures, size_t count,
                                                   const char *label, value_fn *value,
                                                   size_t position)
{
    struct figure_row *row = &ARENA_PUSH(arena, table->rows, table->count, table->capacity);
    *row = (struct figure_row){.label = str_from(label)};
    for (size_t i = 0; i < count; i++) {
        row->values[i] = value(arena, &figures[i], position);
    }
    return row;
}

static struct str first_node(struct arena *arena, const struct figures *figures, size_t position)
{
    int64_t at = figures->measure->first_node_at;
    (void)position;
    return at < 0 ? STR("none") : format_time(arena, at);
}

static struct str most_nodes(struct arena *arena, const struct figures *figures, size_t position)
{
    const struct measure *measure = figures->measure;
    (void)position;
    if (measure->most_nodes == 0) {
        return STR("none");
    }
    return arena_printf(arena, "%lld at %.*s", (long long)measure->most_nodes,
                        STR_ARG(format_time(arena, measure->most_nodes_at)));
}

static struct str simulate_figures_wait(struct arena *arena, const struct figures *figures,
                                        size_t position)
{
    const int64_t waits[] = {figures->wait.p50, figures->wait.p90, figures->wait.p99,
                             figures->wait.longest};
    return figures->started > 0 ? format_time(arena, waits[position]) : STR("-");
}

static struct str simulate_figures_finished(struct arena *arena, const struct figures *figures,
                                            size_t position)
{
    (void)position;
    return arena_printf(arena, "%lld of %lld", (long long)figures->finished,
                        (long long)figures->arrived);
}

static struct str node_hours(struct arena *arena, const struct figures *figures, size_t position)
{
    (void)position;
    return format_hours(arena, figures->node_ms);
}

static struct str type_hours(struct arena *arena, const struct figures *figures, size_t position)
{
    return format_hours(arena, figures->types[position].node_ms);
}

static struct str cost(struct arena *arena, const struct figures *figures, size_t position)
{
    (void)position;
    if (figures->cost == PRICE_UNKNOWN || !figures->is_cost_partial) {
        return format_money(arena, figures->cost);
    }
    return arena_printf(arena, "%.*s + ?", STR_ARG(format_money(arena, figures->cost)));
}

static struct str type_cost(struct arena *arena, const struct figures *figures, size_t position)
{
    return format_money(arena, figures->types[position].cost);
}

static struct str utilization(struct arena *arena, const struct figures *figures, size_t position)
{
    (void)position;
    return figures->busy_permille < 0
               ? STR("-")
               : arena_printf(arena, "%lld %%", (long long)(figures->busy_permille + 5) / 10);
}

static struct str counted(struct arena *arena, const struct figures *figures, size_t position)
{
    const struct measure *measure = figures->measure;
    const int64_t counts[] = {measure->launches, measure->refused, measure->preemptions,
                              figures->lost};
    return arena_printf(arena, "%lld", (long long)counts[position]);
}

/* True if any run used a machine of this type. */
static bool simulate_figures_is_used(const struct figures *figures, size_t count, size_t type)
{
    for (size_t i = 0; i < count; i++) {
        if (figures[i].types[type].node_ms > 0) {
            return true;
        }
    }
    return false;
}

static void add_type_rows(struct arena *arena, struct figure_table *table,
                          const struct figures *figures, size_t count, value_fn *value)
{
    for (size_t i = 0; i < figures->type_count; i++) {
        const struct type_facts *facts = figures->types[i].facts;
        if (!simulate_figures_is_used(figures, count, i)) {
            continue;
        }
        struct figure_row *row = simulate_figures_add_row(arena, table, figures, count, "", value,
                                                          i);
        row->label = facts->name;
        row->note = facts->is_spot && facts->machine.len > 0
                        ? arena_printf(arena, "%.*s, spot", STR_ARG(facts->machine))
                        : facts->machine;
        row->is_part = true;
    }
}

void figures_table(struct arena *arena, const struct figures *figures, size_t count,
                   struct figure_table *ret_table)
{
    static const struct {
        const char *label;
        value_fn *value;
        size_t position;
    } above[] = {{"first node", first_node, 0},
                 {"most nodes", most_nodes, 0},
                 {"wait, median", simulate_figures_wait, 0},
                 {"wait, p90", simulate_figures_wait, 1},
                 {"wait, p99", simulate_figures_wait, 2},
                 {"wait, longest", simulate_figures_wait, 3},
                 {"work finished", simulate_figures_finished, 0}},
      below[] = {{"utilization", utilization, 0},
                 {"launches", counted, 0},
                 {"refused launches", counted, 1},
                 {"preemptions", counted, 2},
                 {"work lost", counted, 3}};
    *ret_table = (struct figure_table){0};
    for (size_t i = 0; i < ARRAY_LEN(above); i++) {
        simulate_figures_add_row(arena, ret_table, figures, count, above[i].label, above[i].value,
                                 above[i].position);
    }
    simulate_figures_add_row(arena, ret_table, figures, count, "node-hours", node_hours, 0);
    add_type_rows(arena, ret_table, figures, count, type_hours);
    simulate_figures_add_row(arena, ret_table, figures, count, "cost", cost, 0);
    add_type_rows(arena, ret_table, figures, count, type_cost);
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        simulate_figures_add_row(arena, ret_table, figures, count, below[i].label, below[i].value,
                                 below[i].position);
    }
}

/* ---- comparing ---- */

static struct str simulate_figures_cost_text(struct arena *arena,
                                             const struct comparison *comparison)
{
    int64_t cost = comparison->cost;
    int64_t share = comparison->cost_permille;
    if (!comparison->has_cost) {
        return STR("have an unknown cost");
    }
    if (llabs(cost) < 5000) {
        return STR("cost the same");
    }
    return arena_printf(arena, "cost %.*s %s (%.*f %%)", STR_ARG(format_money(arena, llabs(cost))),
                        cost < 0 ? "less" : "more", llabs(share) < 10 ? 1 : 0,
                        (double)llabs(share) / 10);
}

static struct str wait_words(struct arena *arena, const struct comparison *comparison)
{
    int64_t wait_more = comparison->wait_p90;
    if (llabs(wait_more) < SECOND / 2) {
        return STR("wait equally long at p90");
    }
    return arena_printf(arena, "wait %.*s %s at p90", STR_ARG(format_time(arena, llabs(wait_more))),
                        wait_more < 0 ? "less" : "longer");
}

struct str figures_difference(struct arena *arena, const char *planner,
                              const struct comparison *comparison)
{
    struct str money = simulate_figures_cost_text(arena, comparison);
    struct str waiting = wait_words(arena, comparison);
    return arena_printf(arena, "%s would %.*s and %.*s", planner, STR_ARG(money), STR_ARG(waiting));
}

struct comparison figures_compare(struct arena *arena, const struct figures *first,
                                  const struct figures *second)
{
    struct comparison comparison = {.wait_p90 = second->wait.p90 - first->wait.p90};
    comparison.has_cost = first->cost != PRICE_UNKNOWN && second->cost != PRICE_UNKNOWN &&
                          !first->is_cost_partial && !second->is_cost_partial;
    if (comparison.has_cost) {
        comparison.cost = second->cost - first->cost;
        comparison.cost_permille = first->cost > 0 ? comparison.cost * 1000 / first->cost : 0;
    }
    int64_t undone = second->finished - first->finished;
    comparison.text = figures_difference(arena, second->planner, &comparison);
    if (undone != 0) {
        comparison.text = arena_printf(arena, "%.*s, and finish %lld %s", STR_ARG(comparison.text),
                                       llabs(undone), undone < 0 ? "fewer" : "more");
    }
    comparison.text = arena_printf(arena, "%.*s.", STR_ARG(comparison.text));
    return comparison;
}
