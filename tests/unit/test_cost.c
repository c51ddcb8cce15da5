/* test_cost.c: what `down` says that the cluster has cost. */
#include "cli/cost.h"

#include "provider/price.h"
#include "unit.h"

enum { HOUR_MS = 3600 * 1000 };
static const int64_t requested_ms = 1790000000000;

static struct node_view node(const char *machine, enum node_phase phase, int64_t ran_ms)
{
    return (struct node_view){.id = STR("i-1"),
                              .machine = str_from(machine),
                              .phase = phase,
                              .requested_ms = requested_ms,
                              .since_ms = requested_ms + ran_ms,
                              .price = PRICE_UNKNOWN};
}

static struct str words(struct arena *arena, const struct node_view *nodes, size_t count)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    struct cost cost = cost_of_ended(nodes, count);
    cost_add(&out, &cost);
    return arena_str(arena, buf_str(&out));
}

static void what_has_ended_is_counted(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct node_view nodes[] = {
        node("big.metal", PHASE_TERMINATED, HOUR_MS / 2),
        node("m5.large", PHASE_TERMINATING, HOUR_MS),
        node("big.metal", PHASE_READY, HOUR_MS), /* --workers-only: the head continues */
        node("no.such", PHASE_TERMINATED, HOUR_MS), node("m5.large", PHASE_TERMINATED, HOUR_MS)};
    nodes[0].price = 10000000;
    nodes[1].price = 96000;
    assert_str(words(&arena, nodes, 5),
               "Cost: about $5.10 for 2 instances, without traffic; the price of 2 more "
               "is unknown.\n");
    nodes[4].price = 38000; /* the head has reported it */
    assert_str(words(&arena, &nodes[4], 1), "Cost: about $0.04 for 1 instance, without traffic.\n");
    nodes[4].since_ms = requested_ms + 1000;
    assert_str(words(&arena, &nodes[4], 1),
               "Cost: less than $0.01 for 1 instance, without traffic.\n");
    arena_clear(&arena);
}

static void nothing_is_said_of_what_is_not_known(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct node_view late = node("m5.large", PHASE_TERMINATED, -5);
    struct node_view unborn = node("m5.large", PHASE_TERMINATED, HOUR_MS);
    struct node_view strange = node("no.such", PHASE_TERMINATED, HOUR_MS);
    unborn.requested_ms = 0;
    assert_str(words(&arena, &late, 1), "");
    assert_str(words(&arena, &unborn, 1), "");
    assert_str(words(&arena, &strange, 1), "");
    assert_str(words(&arena, NULL, 0), "");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_ended_is_counted),
        cmocka_unit_test(nothing_is_said_of_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
