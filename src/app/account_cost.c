/* account_cost.c: collects the prices that an account's clusters need, and adds them up. */
#include "app/account_cost.h"

/* ---- queries ---- */

struct request_list {
    struct arena *arena;
    struct price_query *items;
    size_t count, capacity;
};

static size_t account_cost_find_request(const struct price_query *queries, size_t count,
                                        const struct price_query *query)
{
    size_t i = 0;
    while (i < count && !price_query_eq(&queries[i], query)) {
        i++;
    }
    return i;
}

static void account_cost_add_request(struct request_list *list, struct price_query query)
{
    if (query.name.len == 0 ||
        account_cost_find_request(list->items, list->count, &query) < list->count) {
        return;
    }
    ARENA_PUSH(list->arena, list->items, list->count, list->capacity) = query;
}

static bool is_paid_for(const struct account_machine *machine)
{
    return machine->state == MACHINE_RUNNING || machine->state == MACHINE_PENDING;
}

static struct price_query machine_query(const struct account_machine *machine)
{
    bool is_spot = machine->market == MARKET_SPOT;
    return (struct price_query){is_spot ? PRICE_SPOT : PRICE_ON_DEMAND, machine->type,
                                machine->owner.region, is_spot ? machine->zone : STR("")};
}

static struct price_query volume_query(const struct account_volume *volume)
{
    return (struct price_query){PRICE_VOLUME, volume->kind, volume->owner.region, STR("")};
}

void account_cost_queries(const struct account *account, struct arena *arena,
                          struct price_query **ret_queries, size_t *ret_count)
{
    struct request_list list = {.arena = arena};
    for (size_t i = 0; i < account->cluster_count; i++) {
        const struct account_cluster *cluster = &account->clusters[i];
        for (size_t j = 0; j < cluster->machine_count; j++) {
            const struct account_machine *machine = &cluster->machines[j];
            if (is_paid_for(machine) && !machine->is_unpriced) {
                account_cost_add_request(&list, machine_query(machine));
            }
        }
        for (size_t j = 0; j < cluster->volume_count; j++) {
            if (cluster->volumes[j].is_by_size) {
                account_cost_add_request(&list, volume_query(&cluster->volumes[j]));
            }
        }
    }
    *ret_queries = list.items;
    *ret_count = list.count;
}

/* ---- sums ---- */

static struct price_known account_cost_price_of(const struct account_prices *prices,
                                                struct price_query query)
{
    size_t index = account_cost_find_request(prices->queries, prices->count, &query);
    return index < prices->count ? prices->prices[index]
                                 : (struct price_known){PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0};
}

struct price_known account_price_of_machine(const struct account_machine *machine,
                                            const struct account_prices *prices)
{
    if (!is_paid_for(machine)) {
        return (struct price_known){0, PRICE_FROM_UNKNOWN, 0};
    }
    return machine->is_unpriced ? (struct price_known){PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0}
                                : account_cost_price_of(prices, machine_query(machine));
}

struct account_cost account_cost_of(const struct account_cluster *cluster,
                                    const struct account_prices *prices)
{
    struct account_cost cost = {0};
    for (size_t i = 0; i < cluster->machine_count; i++) {
        if (!is_paid_for(&cluster->machines[i])) {
            continue;
        }
        struct price_known known = account_price_of_machine(&cluster->machines[i], prices);
        bool is_known = known.price != PRICE_UNKNOWN;
        cost.machines += is_known ? known.price : 0;
        cost.unknown_machines += !is_known;
        cost.known_count += is_known;
    }
    for (size_t i = 0; i < cluster->volume_count; i++) {
        const struct account_volume *volume = &cluster->volumes[i];
        struct price_known known = account_cost_price_of(prices, volume_query(volume));
        bool is_known = known.price != PRICE_UNKNOWN && volume->is_by_size;
        int64_t by_month = is_known ? known.price * volume->gb : 0;
        cost.volumes += (by_month + PRICE_HOURS_A_MONTH / 2) / PRICE_HOURS_A_MONTH;
        cost.unknown_volumes += !is_known;
        cost.known_count += is_known;
    }
    return cost;
}
