/* cost.c: prices times hours. */
#include "cli/cost.h"

#include "provider/price.h"

struct cost cost_of_ended(const struct node_view *nodes, size_t count)
{
    const double hour_ms = 3600.0 * 1000;
    const double micro = 1e6;
    struct cost cost = {0};
    for (size_t i = 0; i < count; i++) {
        const struct node_view *view = &nodes[i];
        bool has_ended = view->phase == PHASE_TERMINATED || view->phase == PHASE_TERMINATING;
        if (!has_ended || view->id.len == 0 || view->requested_ms <= 0 ||
            view->since_ms <= view->requested_ms) {
            continue;
        }
        if (view->price == PRICE_UNKNOWN) {
            cost.unknown++;
            continue;
        }
        cost.count++;
        cost.dollars += (double)view->price / micro *
                        (double)(view->since_ms - view->requested_ms) / hour_ms;
    }
    return cost;
}

void cost_add(struct buf *out, const struct cost *cost)
{
    const double cent = 0.01;
    if (cost->count == 0) {
        return;
    }
    buf_add_c(out, "Cost: ");
    if (cost->dollars < cent) {
        buf_add_c(out, "less than $0.01");
    } else {
        buf_addf(out, "about $%.2f", cost->dollars);
    }
    buf_addf(out, " for %zu instance%s, without traffic", cost->count, cost->count == 1 ? "" : "s");
    if (cost->unknown > 0) {
        buf_addf(out, "; the price of %zu more is unknown", cost->unknown);
    }
    buf_add_c(out, ".\n");
}
