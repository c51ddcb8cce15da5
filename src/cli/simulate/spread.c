/* spread.c: repeats the simulation with more seeds. */
#include "cli/simulate/spread.h"

#include <stdlib.h>

/* Limits the time spent on the range. In events, so that the output does not depend on the speed of
 * the machine. */
#define EVENTS_MAX 20000000

struct pair {
    int64_t cost[2];
    int64_t wait[2];
    bool has_cost;
};

static void simulate_spread_add_pair(struct spread *spread, int64_t *ret_first_cost,
                                     const struct pair *pair)
{
    int64_t cost = pair->cost[1] - pair->cost[0];
    int64_t wait = pair->wait[1] - pair->wait[0];
    bool is_first = spread->seeds++ == 0;
    spread->has_cost = pair->has_cost && (is_first || spread->has_cost);
    spread->cost_mean += cost; /* a sum until all runs are done */
    spread->wait_mean += wait;
    spread->cost_least = is_first || cost < spread->cost_least ? cost : spread->cost_least;
    spread->cost_most = is_first || cost > spread->cost_most ? cost : spread->cost_most;
    spread->wait_least = is_first || wait < spread->wait_least ? wait : spread->wait_least;
    spread->wait_most = is_first || wait > spread->wait_most ? wait : spread->wait_most;
    *ret_first_cost += pair->cost[0];
}

static struct pair pair_of(const struct figures *first, const struct figures *second)
{
    return (struct pair){{first->cost, second->cost},
                         {first->wait.p90, second->wait.p90},
                         first->cost != PRICE_UNKNOWN && second->cost != PRICE_UNKNOWN &&
                             !first->is_cost_partial && !second->is_cost_partial};
}

/* ---- formatting ---- */

static struct str money_words(struct arena *arena, int64_t micro)
{
    if (llabs(micro) < 5000) {
        return STR("the same");
    }
    return arena_printf(arena, "%.*s %s", STR_ARG(format_money(arena, llabs(micro))),
                        micro < 0 ? "less" : "more");
}

static struct str verdict(struct arena *arena, const char *planner, const struct spread *spread)
{
    struct comparison mean = {.has_cost = spread->has_cost,
                              .cost = spread->cost_mean,
                              .cost_permille = spread->cost_permille,
                              .wait_p90 = spread->wait_mean};
    struct str least = money_words(arena, spread->cost_least);
    struct str most = money_words(arena, spread->cost_most);
    struct str range = STR("");
    if (spread->has_cost && !str_eq(least, most)) {
        range = arena_printf(arena, " (from %.*s to %.*s)", STR_ARG(least), STR_ARG(most));
    }
    return arena_printf(arena, "%.*s, on average over %zu seeds%.*s.",
                        STR_ARG(figures_difference(arena, planner, &mean)), spread->seeds,
                        STR_ARG(range));
}

/* ---- all seeds ---- */

static void add_seed(const struct result *result, uint64_t seed, struct spread *spreads,
                     int64_t *first_costs)
{
    struct arena scratch;
    struct figures figures[PLANNERS_MAX];
    arena_init(&scratch);
    for (size_t i = 0; i < result->run_count; i++) {
        struct simulate_run run;
        run_once_more(&scratch, result, seed, result->runs[i].planner, &run);
        figures[i] = figures_of(&scratch, result, &run);
    }
    for (size_t i = 1; i < result->run_count; i++) {
        struct pair pair = pair_of(&figures[0], &figures[i]);
        simulate_spread_add_pair(&spreads[i - 1], &first_costs[i - 1], &pair);
    }
    arena_clear(&scratch);
}

struct spread *spread_make(struct arena *arena, const struct result *result,
                           const struct figures *figures)
{
    size_t count = result->run_count > 0 ? result->run_count - 1 : 0;
    struct spread *spreads = ARENA_ARRAY(arena, count, struct spread);
    int64_t *first_costs = ARENA_ARRAY(arena, count, int64_t);
    uint64_t events = 0;
    for (size_t i = 0; i < result->run_count; i++) {
        events += result->runs[i].events;
    }
    for (size_t i = 0; i < count; i++) {
        struct pair pair = pair_of(&figures[0], &figures[i + 1]);
        simulate_spread_add_pair(&spreads[i], &first_costs[i], &pair);
    }
    bool is_affordable = count > 0 && events < EVENTS_MAX / SPREAD_SEEDS;
    for (uint64_t n = 1; is_affordable && n < SPREAD_SEEDS; n++) {
        add_seed(result, result->options->seed + n, spreads, first_costs);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t seeds = (int64_t)spreads[i].seeds;
        spreads[i].cost_permille = first_costs[i] > 0 ? spreads[i].cost_mean * 1000 / first_costs[i]
                                                      : 0;
        spreads[i].cost_mean /= seeds;
        spreads[i].wait_mean /= seeds;
        spreads[i].text = seeds > 1 ? verdict(arena, figures[i + 1].planner, &spreads[i])
                                    : figures_compare(arena, &figures[0], &figures[i + 1]).text;
    }
    return spreads;
}
