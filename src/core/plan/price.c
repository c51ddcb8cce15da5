/* price.c: converts Ray's answer to a cover, and the cheaper cover to launches. */
#include "core/plan/price.h"

#include "core/plan/pack.h"
#include "core/plan/price_internal.h"

#include <string.h>

void price_begin(struct price *price, struct packer *packer)
{
    const struct fleet *fleet = packer->fleet;
    size_t type_count = fleet->input->type_count;
    *price = (struct price){.node_count = fleet->node_count, .total_nodes = fleet->total_nodes};
    price_log_init(&price->log, fleet->arena);
    price->type_nodes = ARENA_ARRAY(fleet->arena, type_count, int64_t);
    if (type_count > 0) {
        memcpy(price->type_nodes, fleet->type_nodes, type_count * sizeof(int64_t));
    }
    packer->log = &price->log;
}

/* ---- Ray's answer -------------------------------------------------------------------------- */

static bool has_price(const struct fleet *fleet, uint32_t type)
{
    return fleet->input->types[type].price >= 0;
}

bool market_is_flexible(const struct market *market, const struct logged_place *place)
{
    if (place->node < market->price->node_count) {
        return market->group_of[place->node] != NOWHERE;
    }
    return has_price(market->fleet, place->type);
}

/* A node may appear in several batches; its price is added once. */
static int64_t price_of_rays(struct market *market)
{
    const struct price_log *log = &market->price->log;
    int64_t sum = 0;
    uint8_t *is_seen = ARENA_ARRAY(market->arena, market->fleet->node_count, uint8_t);
    for (size_t i = 0; i < log->place_count; i++) {
        const struct logged_place *place = &log->places[i];
        bool is_first = place->node == NOWHERE || !is_seen[place->node];
        if (place->node != NOWHERE) {
            is_seen[place->node] = 1;
        }
        if (place->node >= market->price->node_count && is_first) {
            if (has_price(market->fleet, place->type)) {
                sum += place->times * market->fleet->input->types[place->type].price;
            } else {
                market->kept_of_type[place->type] += place->times;
                market->kept += place->times;
            }
        }
    }
    return sum;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static void price_add_place(struct market *market, struct plan *plan, struct plan_place place,
                            const struct cover_part *parts)
{
    struct plan_place *places = market->places;
    const struct price_log *log = &market->price->log;
    struct plan_placed *placed = ARENA_ARRAY(market->arena, place.placed_count, struct plan_placed);
    for (size_t i = 0; i < place.placed_count; i++) {
        const struct logged_class *class = &log->classes[parts[i].class];
        placed[i] = (struct plan_placed){class->request, class->cause, parts[i].count};
    }
    place.placed = placed;
    places[plan->place_count++] = place;
}

/* Assigns numbers to new nodes, after all existing numbers. */
static uint32_t number_nodes(struct market *market, int64_t count)
{
    uint32_t first = market->next_number;
    market->next_number += (uint32_t)count;
    return first;
}

static void list_rays_places(struct market *market, struct plan *plan, bool has_answer)
{
    const struct price_log *log = &market->price->log;
    for (size_t i = 0; i < log->place_count; i++) {
        const struct logged_place *place = &log->places[i];
        if (!has_answer || !market_is_flexible(market, place)) {
            uint32_t node = place->node == NOWHERE ? number_nodes(market, place->times)
                                                   : place->node;
            struct plan_place one = {.node = node,
                                     .type = place->type,
                                     .times = place->times,
                                     .placed_count = place->part_count};
            price_add_place(market, plan, one, log->parts + place->part_first);
        }
    }
}

static enum launch_cause cause_of(const struct market *market, const struct cover_pattern *pattern)
{
    enum launch_cause first = LAUNCH_DEMAND;
    for (size_t i = 0; i < pattern->part_count; i++) {
        enum launch_cause cause = market->price->log.classes[pattern->parts[i].class].cause;
        first = cause < first ? cause : first;
    }
    return first;
}

/* Assigns the pattern to the next members of a group; those that Ray used come first. */
static void use_members(struct market *market, struct plan *plan,
                        const struct cover_pattern *pattern)
{
    struct node_group *group = &market->groups[pattern->kind - market->new_kinds];
    for (int64_t i = 0; i < pattern->times; i++) {
        uint32_t node = group->first;
        group->first = market->next_in_group[node];
        market->fleet->nodes[node].demand.has_requests = true;
        struct plan_place one = {.node = node,
                                 .type = market->fleet->nodes[node].type,
                                 .times = 1,
                                 .placed_count = pattern->part_count};
        price_add_place(market, plan, one, pattern->parts);
    }
}

static void clear_fleet(struct market *market)
{
    struct fleet *fleet = market->fleet;
    const struct price *price = market->price;
    size_t causes = fleet->input->type_count * LAUNCH_CAUSE_COUNT;
    for (size_t i = 0; i < price->node_count; i++) {
        if (market->group_of[i] != NOWHERE) {
            fleet->nodes[i].demand.has_requests = false;
            if (fleet->nodes[i].constraint) {
                fleet->nodes[i].constraint->has_requests = false;
            }
        }
    }
    memset(fleet->type_launches, 0, causes * sizeof(int64_t));
    memcpy(fleet->type_nodes, price->type_nodes, fleet->input->type_count * sizeof(int64_t));
    fleet->total_nodes = price->total_nodes;
}

/* Keeps launches whose type has no price. */
static void keep_launches(struct market *market)
{
    struct fleet *fleet = market->fleet;
    const struct price_log *log = &market->price->log;
    for (size_t i = market->price->node_count; i < fleet->node_count; i++) {
        if (!has_price(fleet, fleet->nodes[i].type)) {
            fleet_count_launch(fleet, fleet->nodes[i].type, 1,
                               (enum launch_cause)fleet->nodes[i].cause);
        }
    }
    for (size_t i = 0; i < log->place_count; i++) {
        if (log->places[i].node == NOWHERE && !has_price(fleet, log->places[i].type)) {
            fleet_count_launch(fleet, log->places[i].type, log->places[i].times, LAUNCH_DEMAND);
        }
    }
    fleet->node_count = market->price->node_count;
}

static void use_answer(struct market *market, const struct cover_answer *answer, struct plan *plan)
{
    clear_fleet(market);
    keep_launches(market);
    for (size_t i = 0; i < answer->count; i++) {
        const struct cover_pattern *pattern = &answer->patterns[i];
        if (pattern->kind >= market->new_kinds) {
            use_members(market, plan, pattern);
            continue;
        }
        uint32_t type = market->type_of_kind[pattern->kind];
        fleet_count_launch(market->fleet, type, pattern->times, cause_of(market, pattern));
        struct plan_place one = {.node = number_nodes(market, pattern->times),
                                 .type = type,
                                 .times = pattern->times,
                                 .placed_count = pattern->part_count};
        price_add_place(market, plan, one, pattern->parts);
    }
}

static size_t places_needed(const struct market *market, const struct cover_answer *answer)
{
    size_t count = market->price->log.place_count;
    for (size_t i = 0; i < answer->count; i++) {
        bool is_group = answer->patterns[i].kind >= market->new_kinds;
        count += is_group ? (size_t)answer->patterns[i].times : 1;
    }
    return count;
}

void price_improve(struct price *price, struct fleet *fleet, struct plan *plan)
{
    struct cover_answer start = {0};
    struct cover_answer answer = {0};
    struct market market = {.price = price, .fleet = fleet, .arena = fleet->arena};
    int64_t budget = fleet->input->work_budget;
    market.next_number = (uint32_t)fleet->node_count;
    market.kept_of_type = ARENA_ARRAY(fleet->arena, fleet->input->type_count, int64_t);
    market.group_of = ARENA_ARRAY(fleet->arena, price->node_count, uint32_t);
    int64_t rays = price_of_rays(&market);
    bool has_answer = false;
    if (rays > 0 && budget != 0 && market_fill(&market)) {
        market.cover.work = budget < 0 ? INT64_MAX / 2 : budget;
        market_start(&market, &start);
        has_answer = cover_solve(&market.cover, &start, &answer);
    }
    market.places = ARENA_ARRAY(fleet->arena, places_needed(&market, &answer), struct plan_place);
    list_rays_places(&market, plan, has_answer);
    if (has_answer) {
        use_answer(&market, &answer, plan);
        plan->saving = start.price - answer.price;
    }
    plan->places = market.places;
}
