/* cover_greedy.c: repeatedly takes the pattern with the most value for its price. */
#include "base/require.h"
#include "core/plan/cover_fill.h"
#include "core/plan/cover_internal.h"

/* The best filling of a node of one kind. */
struct bid {
    struct cover_pattern pattern;
    double value;
    bool is_tried;
};

static bool cover_greedy_still_true(const struct bid *bid, const struct cover_rest *rest)
{
    for (size_t i = 0; i < bid->pattern.part_count; i++) {
        if (bid->pattern.parts[i].count > rest->counts[bid->pattern.parts[i].class]) {
            return false;
        }
    }
    return bid->is_tried;
}

/* Existing nodes come first, then the best value per dollar, then the lower index. */
static bool cover_greedy_is_better(const struct cover *cover, const struct bid *a,
                                   const struct bid *b)
{
    double price_a = (double)cover->kinds[a->pattern.kind].price;
    double price_b = (double)cover->kinds[b->pattern.kind].price;
    return a->value * price_b > b->value * price_a ||
           (price_a == 0.0 && price_b == 0.0 && a->value > b->value);
}

static struct bid *best_bid(struct cover *cover, struct bid *bids, const double *values,
                            const struct cover_rest *rest, int64_t steps)
{
    struct bid *best = NULL;
    for (uint32_t i = 0; i < cover->kind_count; i++) {
        struct bid *bid = &bids[i];
        if (!cover_kind_open(cover, i, rest) || (bid->is_tried && bid->pattern.part_count == 0)) {
            continue;
        }
        if (!cover_greedy_still_true(bid, rest)) {
            cover_fill(cover, i, values, rest->counts, steps);
            bid->pattern = cover_pattern(cover, i, cover->fill->parts, cover->fill->part_count);
            bid->value = cover->fill->value;
            bid->is_tried = true;
        }
        if (bid->pattern.part_count > 0 && (!best || cover_greedy_is_better(cover, bid, best))) {
            best = bid;
        }
    }
    return best;
}

bool cover_greedy(struct cover *cover, const double *values, struct cover_rest *rest, int64_t price,
                  int64_t steps, struct cover_answer *answer)
{
    struct bid *bids = ARENA_ARRAY(cover->arena, cover->kind_count, struct bid);
    while (!cover_rest_empty(cover, rest)) {
        struct bid *best = answer->price < price && cover->work > 0
                               ? best_bid(cover, bids, values, rest, steps)
                               : NULL;
        if (!best) {
            return false;
        }
        struct cover_pattern pattern = best->pattern;
        pattern.times = cover_times(cover, &pattern, rest);
        require(pattern.times > 0, "every round places requests");
        cover_take(cover, &pattern, pattern.times, rest);
        cover_append(cover, answer, pattern);
    }
    return answer->price < price;
}
