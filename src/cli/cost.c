/* cost.c: prices of a file and of the catalog, times hours. */
#include "cli/cost.h"

#include "app/price_lookup.h"
#include "config/catalog/catalog.h"
#include "provider/price.h"

int64_t cost_hourly(const struct config *config, struct str machine, bool is_spot)
{
    struct price_query query = {.kind = is_spot ? PRICE_SPOT : PRICE_ON_DEMAND,
                                .name = machine,
                                .region = value_text(value_get_c(config->provider, "region"))};
    struct price_known price = price_written(value_get_c(config->shoal, "prices"), &query);
    /* As `up` prices it; a spot price is not known without asking. */
    if (price.price == PRICE_UNKNOWN && !is_spot && !catalog_ec2_price(machine, &price.price)) {
        price.price = PRICE_UNKNOWN;
    }
    return price.price;
}

struct cost cost_of_ended(const struct config *config, const struct node_view *nodes, size_t count)
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
        int64_t price = view->price != PRICE_UNKNOWN
                            ? view->price
                            : cost_hourly(config, view->machine, view->is_spot);
        if (price == PRICE_UNKNOWN) {
            cost.unknown++;
            continue;
        }
        cost.count++;
        cost.dollars += (double)price / micro * (double)(view->since_ms - view->requested_ms) /
                        hour_ms;
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
    buf_addf(out, " for %zu instance%s, without disks and traffic", cost->count,
             cost->count == 1 ? "" : "s");
    if (cost->unknown > 0) {
        buf_addf(out, "; the price of %zu more is unknown", cost->unknown);
    }
    buf_add_c(out, ".\n");
}
