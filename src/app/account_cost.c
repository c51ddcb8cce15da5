/* account_cost.c: collects the prices that an account's clusters need, and adds them up. */
#include "app/account_cost.h"

/* ---- queries ---- */

static void account_cost_ask(struct price_table *questions, struct price_query query,
                             struct arena *arena)
{
    if (query.name.len > 0) {
        price_table_put(questions, &query, (struct price_known){PRICE_UNKNOWN}, arena);
    }
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
    struct price_table questions = {0};
    for (size_t i = 0; i < account->cluster_count; i++) {
        const struct account_cluster *cluster = &account->clusters[i];
        for (size_t j = 0; j < cluster->machine_count; j++) {
            const struct account_machine *machine = &cluster->machines[j];
            if (is_paid_for(machine) && !machine->is_unpriced) {
                account_cost_ask(&questions, machine_query(machine), arena);
            }
        }
        for (size_t j = 0; j < cluster->volume_count; j++) {
            if (cluster->volumes[j].is_by_size) {
                account_cost_ask(&questions, volume_query(&cluster->volumes[j]), arena);
            }
        }
    }
    *ret_queries = questions.queries;
    *ret_count = questions.count;
}

/* ---- sums ---- */

enum { DISKS_BYTES_MAX = 4096 };

static struct price_known account_cost_price(struct str region, struct price_subject *subject,
                                             struct str disks, const struct price_table *prices)
{
    struct price_book book = {.table = *prices, .region = region, .is_listed = true};
    subject->disks = disks;
    return hourly_price(&book, subject);
}

/* Does this machine run with the volume? */
static bool has_volume(const struct account_machine *machine, const struct account_volume *volume)
{
    return is_paid_for(machine) && str_eq(machine->id, volume->machine);
}

static void account_cost_add_disk(struct buf *disks, const struct account_volume *volume)
{
    /* What is billed by more than its size has no price here. */
    buf_addf(disks, "%.*s %lld ", STR_ARG(volume->is_by_size ? volume->kind : STR("?")),
             (long long)volume->gb);
}

struct price_known account_price_of_machine(const struct account_cluster *cluster,
                                            const struct account_machine *machine,
                                            const struct price_table *prices)
{
    struct price_subject subject = {
        .machine = machine->type, .zone = machine->zone, .is_spot = machine->market == MARKET_SPOT};
    struct price_known none = {PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0, false};
    AUTO_BUF struct buf disks;
    buf_init(&disks, DISKS_BYTES_MAX);
    if (!is_paid_for(machine)) {
        none.price = 0;
        return none;
    }
    for (size_t i = 0; i < cluster->volume_count; i++) {
        if (has_volume(machine, &cluster->volumes[i])) {
            account_cost_add_disk(&disks, &cluster->volumes[i]);
        }
    }
    if (machine->is_unpriced || disks.len == 0) {
        return none; /* a machine without any disk: they could not be listed */
    }
    buf_addf(&disks, "ipv4 %d", machine->has_public_ip);
    return account_cost_price(machine->owner.region, &subject, buf_str(&disks), prices);
}

/* Is it part of the price of a machine? */
static bool account_cost_is_used(const struct account_cluster *cluster,
                                 const struct account_volume *volume)
{
    for (size_t i = 0; i < cluster->machine_count; i++) {
        if (has_volume(&cluster->machines[i], volume)) {
            return true;
        }
    }
    return false;
}

static struct price_known account_cost_volume(const struct account_volume *volume,
                                              const struct price_table *prices)
{
    struct price_subject subject = {.type = STR("")};
    AUTO_BUF struct buf disks;
    buf_init(&disks, DISKS_BYTES_MAX);
    account_cost_add_disk(&disks, volume);
    return account_cost_price(volume->owner.region, &subject, buf_str(&disks), prices);
}

static void account_cost_add(struct price_known known, int64_t *sum, size_t *unknown,
                             struct account_cost *cost)
{
    bool is_known = known.price != PRICE_UNKNOWN;
    *sum += is_known ? known.price : 0;
    *unknown += !is_known;
    cost->known_count += is_known;
}

struct account_cost account_cost_of(const struct account_cluster *cluster,
                                    const struct price_table *prices)
{
    struct account_cost cost = {0};
    for (size_t i = 0; i < cluster->machine_count; i++) {
        if (is_paid_for(&cluster->machines[i])) {
            account_cost_add(account_price_of_machine(cluster, &cluster->machines[i], prices),
                             &cost.machines, &cost.unknown_machines, &cost);
        }
    }
    for (size_t i = 0; i < cluster->volume_count; i++) {
        if (!account_cost_is_used(cluster, &cluster->volumes[i])) {
            account_cost_add(account_cost_volume(&cluster->volumes[i], prices), &cost.volumes,
                             &cost.unknown_volumes, &cost);
        }
    }
    return cost;
}
