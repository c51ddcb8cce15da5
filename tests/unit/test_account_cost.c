/* test_account_cost.c: which prices are requested, and what they add up to. */
#include "app/account_cost.h"

#include "app/price_lookup.h"
#include "unit.h"

static const struct account_owner west = {{"us-west-2", 9}, {"demo", 4}, {"u", 1}};

static struct account_machine machine(const char *type, enum machine_state state,
                                      enum market market)
{
    return (struct account_machine){.owner = west,
                                    .id = STR("i"),
                                    .type = str_from(type),
                                    .zone = STR("us-west-2a"),
                                    .state = state,
                                    .market = market};
}

static struct account_volume volume(const char *kind, int64_t gb, bool is_by_size)
{
    return (struct account_volume){
        .owner = west, .id = STR("v"), .kind = str_from(kind), .gb = gb, .is_by_size = is_by_size};
}

static struct account_machine machines[6];
static struct account_volume volumes[7];
static const char *const ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};

static struct account_cluster a_cluster(void)
{
    machines[0] = machine("m5.large", MACHINE_RUNNING, MARKET_ON_DEMAND);
    machines[1] = machine("m5.large", MACHINE_PENDING, MARKET_ON_DEMAND);
    machines[2] = machine("m5.large", MACHINE_RUNNING, MARKET_SPOT);
    machines[3] = machine("c5.large", MACHINE_STOPPED, MARKET_ON_DEMAND);
    machines[4] = machine("p5.48xlarge", MACHINE_RUNNING, MARKET_ON_DEMAND);
    machines[5] = machine("c5.large", MACHINE_ENDING, MARKET_ON_DEMAND);
    machines[4].is_unpriced = true;
    for (size_t i = 0; i < 6; i++) {
        machines[i].id = str_from(ids[i]);
    }
    machines[1].has_public_ip = true;
    volumes[0] = volume("gp3", 100, true); /* of a stopped machine, and of none */
    volumes[1] = volume("gp3", 630, true);
    volumes[2] = volume("io2", 100, false);
    volumes[3] = volume("st1", 10, true);
    volumes[4] = volume("gp3", 73, true);
    volumes[5] = volume("gp3", 146, true);
    volumes[6] = volume("io2", 10, false);
    volumes[0].machine = STR("i-3");
    volumes[4].machine = STR("i-0");
    volumes[5].machine = STR("i-1");
    volumes[6].machine = STR("i-2");
    return (struct account_cluster){.owner = west,
                                    .machines = machines,
                                    .machine_count = 6,
                                    .volumes = volumes,
                                    .volume_count = 7};
}

static void prices_are_asked_once(void **state)
{
    struct account_cluster cluster = a_cluster();
    struct account account = {.clusters = &cluster, .cluster_count = 1};
    struct price_query *queries;
    size_t count;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    account_cost_queries(&account, &arena, &queries, &count);
    assert_int_equal(count, 4);
    assert_int_equal(queries[0].kind, PRICE_ON_DEMAND);
    assert_str(queries[0].zone, "");
    assert_int_equal(queries[1].kind, PRICE_SPOT);
    assert_str(queries[1].zone, "us-west-2a");
    assert_int_equal(queries[2].kind, PRICE_VOLUME);
    assert_str(queries[2].name, "gp3");
    assert_str(queries[3].name, "st1");
    arena_clear(&arena);
}

static void sums_say_what_is_missing(void **state)
{
    struct account_cluster cluster = a_cluster();
    struct account account = {.clusters = &cluster, .cluster_count = 1};
    struct price_query *queries;
    size_t count;
    struct price_known known[] = {{96000, PRICE_FROM_LIST, 1},
                                  {30000, PRICE_FROM_MARKET, 1},
                                  {80000, PRICE_FROM_LIST, 1},
                                  {PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0}};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    account_cost_queries(&account, &arena, &queries, &count);
    struct price_table prices = {queries, known, count};
    struct account_cost cost = account_cost_of(&cluster, &prices);
    /* With disks and address; one is prepaid, and one has a disk without a known price. */
    assert_int_equal(cost.machines, 96000 + 8000 + 96000 + 16000 + 5000);
    assert_int_equal(cost.unknown_machines, 2);
    assert_int_equal(cost.volumes, 80000); /* 730 GB for one month of 730 hours */
    assert_int_equal(cost.unknown_volumes, 2);
    assert_int_equal(cost.known_count, 4);
    assert_false(account_cost_is_whole(&cost));
    assert_int_equal(account_price_of_machine(&cluster, &machines[3], &prices).price, 0);
    assert_int_equal(account_price_of_machine(&cluster, &machines[4], &prices).price,
                     PRICE_UNKNOWN);
    assert_int_equal(account_price_of_machine(&cluster, &machines[2], &prices).price,
                     PRICE_UNKNOWN);
    volumes[6].is_by_size = true;
    volumes[6].kind = STR("gp3");
    struct price_known spot = account_price_of_machine(&cluster, &machines[2], &prices);
    assert_int_equal(spot.price, 30000 + 1096);
    assert_int_equal(spot.source, PRICE_FROM_MARKET);
    cluster.volume_count = 0; /* could not be listed */
    assert_int_equal(account_price_of_machine(&cluster, &machines[0], &prices).price,
                     PRICE_UNKNOWN);
    arena_clear(&arena);
}

/* ---- prices without a cloud ---- */

static void the_file_and_the_catalog_speak(void **state)
{
    struct price_query here = {PRICE_ON_DEMAND, STR("m5.large"), STR("us-east-1"), STR("")};
    struct price_query there = {PRICE_ON_DEMAND, STR("m5.large"), STR("eu-west-1"), STR("")};
    struct price_query spot = {PRICE_SPOT, STR("m5.large"), STR("us-east-1"), STR("us-east-1a")};
    struct price_query odd = {PRICE_ON_DEMAND, STR("x9.odd"), STR("us-east-1"), STR("")};
    struct place nowhere = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct value *written = value_new(&arena, VALUE_MAP, nowhere);
    value_map_set_c(&arena, written, "m5.large", value_int(&arena, 2, nowhere));
    value_map_set_c(&arena, written, "c5.large", value_int(&arena, -2, nowhere));
    assert_int_equal(price_written(written, &there).price, 2000000);
    assert_int_equal(price_written(written, &there).source, PRICE_FROM_FILE);
    assert_int_equal(price_written(written, &spot).price, PRICE_UNKNOWN);
    assert_int_equal(price_written(NULL, &there).source, PRICE_FROM_UNKNOWN);
    there.name = STR("c5.large");
    assert_int_equal(price_written(written, &there).price, PRICE_UNKNOWN);
    struct price_known built_in = price_built_in(&here);
    assert_int_equal(built_in.price, 96000);
    assert_int_equal(built_in.source, PRICE_FROM_CATALOG);
    assert_true(built_in.at > 1700000000);
    assert_int_equal(price_built_in(&there).price, PRICE_UNKNOWN); /* of another region */
    assert_int_equal(price_built_in(&spot).price, PRICE_UNKNOWN);
    spot.kind = PRICE_VOLUME;
    spot.name = STR("gp3");
    assert_int_equal(price_built_in(&spot).price, 80000);
    spot.name = STR("io2");
    assert_int_equal(price_built_in(&spot).price, PRICE_UNKNOWN);
    assert_int_equal(price_built_in(&odd).source, PRICE_FROM_UNKNOWN);
    arena_clear(&arena);
}

static void the_cache_is_where_it_should_be(void **state)
{
    static const char *const xdg[] = {"HOME=/home/me", "XDG_CACHE_HOME=/var/me", NULL};
    static const char *const home[] = {"HOME=/home/me", "XDG_CACHE_HOME=not/absolute", NULL};
    static const char *const none[] = {NULL};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(price_cache_folder(xdg, &arena), "/var/me/shoal");
    assert_str(price_cache_folder(home, &arena), "/home/me/.cache/shoal");
    assert_str(price_cache_folder(none, &arena), "");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_asked_once),
        cmocka_unit_test(sums_say_what_is_missing),
        cmocka_unit_test(the_file_and_the_catalog_speak),
        cmocka_unit_test(the_cache_is_where_it_should_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
