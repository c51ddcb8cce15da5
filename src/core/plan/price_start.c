/* price_start.c: Ray's own placement as the initial answer of the cover. */
#include "base/require.h"
#include "core/plan/cover.h"
#include "core/plan/pack.h"
#include "core/plan/price_internal.h"

#include <string.h>

/* The places of each node in the log, in order. */
struct chains {
    uint32_t *first; /* by node */
    uint32_t *next;  /* by place */
};

static void chain_places(const struct market *market, struct chains *chains)
{
    const struct price_log *log = &market->price->log;
    size_t nodes = market->fleet->node_count;
    chains->first = ARENA_ARRAY(market->arena, nodes, uint32_t);
    chains->next = ARENA_ARRAY(market->arena, log->place_count, uint32_t);
    for (size_t i = 0; i < nodes; i++) {
        chains->first[i] = NOWHERE;
    }
    for (uint32_t i = (uint32_t)log->place_count; i-- > 0;) {
        if (log->places[i].node != NOWHERE) {
            require(log->places[i].node < nodes, "a place is on a node of the fleet");
            chains->next[i] = chains->first[log->places[i].node];
            chains->first[log->places[i].node] = i;
        }
    }
}

static size_t price_start_add_parts(const struct price_log *log, const struct logged_place *place,
                                    struct cover_part *parts, size_t count)
{
    for (size_t i = 0; i < place->part_count; i++) {
        const struct cover_part *part = &log->parts[place->part_first + i];
        size_t at = 0;
        while (at < count && parts[at].class != part->class) {
            at++;
        }
        if (at == count) {
            require(count < log->class_count, "each class has one part");
            parts[count++] = *part;
        } else {
            parts[at].count += part->count;
        }
    }
    return count;
}

static bool price_start_is_same(const struct cover_pattern *pattern, uint32_t kind,
                                const struct cover_part *parts, size_t count)
{
    bool is_same = pattern->kind == kind && pattern->part_count == count;
    for (size_t i = 0; is_same && i < count; i++) {
        is_same = pattern->parts[i].class == parts[i].class &&
                  pattern->parts[i].count == parts[i].count;
    }
    return is_same;
}

/* Consecutive nodes often have the same pattern. */
static void add_pattern(struct market *market, struct cover_answer *start, uint32_t kind,
                        const struct cover_part *parts, size_t count, int64_t times)
{
    struct cover *cover = &market->cover;
    require(kind < cover->kind_count, "a kind of node");
    require(times > 0, "a place is on at least one node");
    if (start->count > 0 &&
        price_start_is_same(&start->patterns[start->count - 1], kind, parts, count)) {
        start->patterns[start->count - 1].times += times;
        start->price += times * cover->kinds[kind].price;
        return;
    }
    struct cover_pattern pattern = cover_pattern(cover, kind, parts, count);
    pattern.times = times;
    cover_append(cover, start, pattern);
}

void market_start(struct market *market, struct cover_answer *start)
{
    const struct price_log *log = &market->price->log;
    struct chains chains;
    struct cover_part *parts = ARENA_ARRAY(market->arena, log->class_count, struct cover_part);
    uint32_t *kind_of = ARENA_ARRAY(market->arena, market->fleet->input->type_count, uint32_t);
    for (uint32_t i = 0; i < market->new_kinds; i++) {
        kind_of[market->type_of_kind[i]] = i;
    }
    chain_places(market, &chains);
    for (uint32_t i = 0; i < log->place_count; i++) {
        const struct logged_place *place = &log->places[i];
        bool is_first = place->node == NOWHERE || chains.first[place->node] == i;
        if (!is_first || !market_is_flexible(market, place)) {
            continue;
        }
        size_t count = price_start_add_parts(log, place, parts, 0);
        for (uint32_t j = i; place->node != NOWHERE && (j = chains.next[j]) != NOWHERE;) {
            count = price_start_add_parts(log, &log->places[j], parts, count);
        }
        uint32_t kind = place->node < market->price->node_count
                            ? (uint32_t)market->new_kinds + market->group_of[place->node]
                            : kind_of[place->type];
        add_pattern(market, start, kind, parts, count, place->times);
    }
    for (size_t i = 0; i < start->count; i++) {
        const struct cover_pattern *pattern = &start->patterns[i];
        for (size_t j = 0; j < pattern->part_count; j++) {
            market->cover.classes[pattern->parts[j].class].count += pattern->times *
                                                                    pattern->parts[j].count;
        }
    }
}
