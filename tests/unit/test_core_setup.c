/* test_core_setup.c: the core's configuration is that of the cluster file. */
#include "app/core_setup.h"

#include "app/core_times.h"
#include "app/retention.h"
#include "app/type_zones.h"
#include "fixture.h"

#include <stdlib.h>

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2"
#define TYPES                                                                \
    "max_workers: 7\nhead_node_type: head\navailable_node_types:\n"          \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 0}}\n" \
    "  gpu:\n    min_workers: 1\n    max_workers: 4\n    priority: 3\n"      \
    "    idle_timeout_s: 30\n    labels: {zone: z}\n    node_config:\n"      \
    "      InstanceType: g5.xlarge\n      InstanceMarketOptions: {MarketType: spot}\n"

static const struct config *config_of(struct fixture *f, const char *yaml)
{
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    assert_int_equal(f->diags.error_count, 0);
    return config_type(&f->arena, tree);
}

static const struct core_setup *made(struct fixture *f, const char *yaml, const char *workload)
{
    const struct config *config = config_of(f, yaml);
    struct core_setup *setup = ARENA_NEW(&f->arena, struct core_setup);
    struct source *source = ARENA_NEW(&f->arena, struct source);
    struct workload_file *file = NULL;
    struct err err;
    diag_list_init(&f->diags, &f->arena);
    if (workload) {
        *source = (struct source){STR("w.yaml"), str_from(workload), false};
        file = workload_file_read(&f->arena, source, 0, &f->diags);
        assert_non_null(file);
    }
    assert_true(core_setup_make(&f->arena, config, file, &f->diags, setup, &err));
    return setup;
}

static void node_types_become_types(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct core_setup *setup = made(f, AWS "}\nidle_timeout_minutes: 2\n" TYPES, NULL);
    const struct core_settings *settings = &setup->settings;
    const struct plan_type *gpu = &settings->types[1];
    (void)state;
    assert_int_equal(settings->type_count, 2);
    assert_int_equal(settings->max_workers, 7);
    assert_int_equal(settings->idle_timeout, 120000);
    assert_int_equal(settings->head_type, 0);
    assert_int_equal(settings->upscaling_permille, PLAN_NO_LIMIT);
    assert_int_equal(settings->max_price, PLAN_NO_LIMIT);
    assert_true(settings->conserves_gpus);
    assert_true(settings->node_capacity > 7);
    assert_int_equal(settings->types[0].idle_timeout_ms, PLAN_NO_LIMIT);
    assert_str(gpu->name, "gpu");
    assert_int_equal(gpu->min_nodes, 1);
    assert_int_equal(gpu->max_nodes, 4);
    assert_int_equal(gpu->priority, 3);
    assert_int_equal(gpu->idle_timeout_ms, 30000);
    assert_int_equal(gpu->labels.count, 1);
    assert_str(intern_text(&setup->names, gpu->labels.items[0].value), "z");
    assert_str(intern_text(&setup->names, gpu->capacities[0].name), "CPU");
    assert_int_equal(gpu->capacities[0].total, 4 * RESOURCE_UNIT);
    assert_true(gpu->launch_hash == NAME_NONE && gpu->availability == 1.0);
}

static void zones_and_markets_become_offerings(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct core_setup *setup = made(
        f, AWS ", availability_zone: 'us-west-2a, us-west-2b'}\n" TYPES, NULL);
    const struct offering *offerings = setup->settings.offerings;
    (void)state;
    assert_int_equal(setup->settings.offering_count, 4);
    assert_int_equal(offerings[1].type, 0);
    assert_int_equal(offerings[1].market, MARKET_ON_DEMAND);
    assert_str(intern_text(&setup->names, offerings[1].zone), "us-west-2b");
    assert_int_equal(offerings[2].type, 1);
    assert_int_equal(offerings[2].market, MARKET_SPOT);
    assert_int_equal(offerings[2].price, PRICE_UNKNOWN); /* no preflight, no market price */
    setup = made(f, AWS "}\nmetadata: {shoal: {spot_fallback: on-demand}}\n" TYPES, NULL);
    assert_int_equal(setup->settings.offering_count, 3);
    assert_str(intern_text(&setup->names, setup->settings.offerings[2].zone), "us-west-2");
    assert_int_equal(setup->settings.offerings[2].market, MARKET_ON_DEMAND);
}

/* A file with known prices and disks, as after a preflight. */
static struct core_setup *priced(struct fixture *f, const struct config *config)
{
    static const char *const table = "0 m5.large - 110000 4 1790000000\n"
                                     "0 g5.xlarge - 1200000 4 1790000000\n"
                                     "1 g5.xlarge us-west-2a 600000 5 1790000000\n"
                                     "1 g5.xlarge us-west-2b 700000 5 1790000000\n"
                                     "2 gp3 - 73000 4 1790000000\n";
    struct core_setup *setup = ARENA_NEW(&f->arena, struct core_setup);
    struct err err;
    assert_true(core_setup_make(&f->arena, config, NULL, &f->diags, setup, &err));
    price_table_read(str_from(table), setup->region, &f->arena, &setup->book.table);
    setup->book.disks = STR("head\tgp3 10 ipv4 1\ngpu\tgp3 100 ipv4 0\n");
    core_setup_place(&f->arena, config, STR("gpu\tus-west-2b us-west-2a\n"), setup);
    return setup;
}

static void prices_are_those_of_the_offering(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = config_of(
        f, AWS "}\nmetadata: {shoal: {spot_fallback: on-demand, max_hourly_cost: 2}}\n" TYPES);
    struct core_setup *setup = priced(f, config);
    const struct offering *offerings = setup->settings.offerings;
    (void)state;
    assert_int_equal(setup->facts[0].price, 110000 + 1000 + 5000);
    assert_int_equal(offerings[1].price, 700000 + 10000);
    assert_int_equal(offerings[2].price, 600000 + 10000);
    assert_int_equal(offerings[3].price, 1200000 + 10000);
    assert_int_equal(setup->facts[1].price, offerings[1].price);
    assert_int_equal(setup->facts[1].source, PRICE_FROM_MARKET);
    assert_int_equal(setup->settings.max_price, 2000000 - 116000);
    assert_false(setup->settings.has_unpriced_head);
    /* The market moves: the same arrays change, because a core reads them. */
    struct price_query spot = {PRICE_SPOT, STR("g5.xlarge"), STR("us-west-2"), STR("us-west-2b")};
    struct price_known dear = {900000, PRICE_FROM_MARKET, 1, false};
    price_table_put(&setup->book.table, &spot, dear, &f->arena);
    core_setup_reprice(config, setup);
    assert_ptr_equal(setup->settings.offerings, offerings);
    assert_int_equal(offerings[1].price, 910000);
    assert_int_equal(offerings[2].price, 610000);
    assert_int_equal(offerings[3].price, 1210000);
    assert_int_equal(setup->facts[1].price, 910000);
}

static void a_running_instance_has_the_price_of_its_zone(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct core_setup *setup = priced(f, config_of(f, AWS "}\n" TYPES));
    const struct machine_tag tags[] = {{STR("ray-user-node-type"), STR("gpu")}};
    struct machine machine = {.type = STR("g5.xlarge"),
                              .zone = STR("us-west-2a"),
                              .market = MARKET_SPOT,
                              .tags = tags,
                              .tag_count = 1};
    (void)state;
    assert_int_equal(core_setup_price(setup, &machine), 610000);
    machine.market = MARKET_ON_DEMAND;
    assert_int_equal(core_setup_price(setup, &machine), 1210000);
    machine.tag_count = 0; /* a type that is no longer in the file: its disks are unknown */
    assert_int_equal(core_setup_price(setup, &machine), PRICE_UNKNOWN);
}

static void prices_come_from_whoever_knows_best(void **state)
{
    static const struct {
        const char *metadata, *workload;
        int64_t price;
        enum price_source source;
    } rows[] = {
        {"", NULL, PRICE_UNKNOWN, PRICE_FROM_UNKNOWN},
        {"", "spot: {share: 50%}\nwork: {a: {duration: 1}}", 503000, PRICE_FROM_CATALOG},
        {"metadata: {shoal: {prices: {g5.xlarge: 2}}}\n", NULL, PRICE_UNKNOWN, PRICE_FROM_UNKNOWN},
        {"metadata: {shoal: {prices: {gpu: 2}}}\n", NULL, 2000000, PRICE_FROM_FILE},
        {"metadata: {shoal: {prices: {g5.xlarge: 2}}}\n",
         "prices: {g5.xlarge: 1}\nwork: {a: {duration: 1}}", 400000, PRICE_FROM_WORKLOAD},
        {"metadata: {shoal: {prices: {g5.xlarge: 2}}}\n",
         "prices: {gpu: 0.3, g5.xlarge: 1}\nwork: {a: {duration: 1}}", 300000, PRICE_FROM_WORKLOAD},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str yaml = arena_printf(&f->arena, AWS "}\n%s" TYPES, rows[i].metadata);
        const struct core_setup *setup = made(f, yaml.ptr, rows[i].workload);
        assert_int_equal(setup->facts[1].price, rows[i].price);
        assert_int_equal(setup->facts[1].source, rows[i].source);
        assert_int_equal(setup->settings.types[1].price, rows[i].price);
        assert_true(setup->facts[1].is_spot);
    }
}

static void limits_that_are_written_count(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct core_setup *setup = made(
        f, AWS "}\nupscaling_speed: 1.5\nmetadata: {shoal: {max_hourly_cost: 2}}\n" TYPES, NULL);
    (void)state;
    assert_int_equal(setup->settings.upscaling_permille, 1500);
    assert_int_equal(setup->settings.max_price, 2000000);
    assert_true(setup->settings.has_unpriced_head); /* so nothing may be launched */
}

static void other_providers(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct core_setup *setup = made(
        f,
        "cluster_name: x\nmax_workers: 1\nhead_node_type: h\n"
        "provider: {type: gcp, project_id: p, region: us-west1, availability_zone: us-west1-a}\n"
        "available_node_types:\n  h: {node_config: {machineType: n1-standard-2}, resources: {}}\n"
        "  w:\n    resources: {CPU: 2}\n    node_config:\n      machineType: n1-standard-2\n"
        "      scheduling: [{preemptible: true}]\n",
        NULL);
    (void)state;
    assert_true(setup->facts[1].is_spot);
    assert_false(setup->facts[0].is_spot);
    assert_str(setup->facts[1].machine, "n1-standard-2");
    assert_int_equal(setup->facts[1].price, PRICE_UNKNOWN);
    assert_int_equal(setup->settings.offerings[1].price, PRICE_UNKNOWN);
    setup = made(f,
                 "cluster_name: x\nhead_node_type: h\n"
                 "metadata: {shoal: {prices: {n1-standard-2: 0.1}}}\n"
                 "provider: {type: gcp, project_id: p, region: us-west1, availability_zone: z}\n"
                 "available_node_types:\n  h: {node_config: {machineType: n1-standard-2}}\n",
                 NULL);
    assert_int_equal(setup->facts[0].price, 100000);
    assert_int_equal(setup->settings.types[0].capacities[0].total, 2 * RESOURCE_UNIT);
}

#define RACK                                                                     \
    "cluster_name: x\nprovider: {type: local, head_ip: a, worker_ips: [b, c]}\n" \
    "auth: {ssh_user: u}\n"

static void machines_of_ones_own_need_resources(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct core_setup setup;
    struct err err = {0};
    (void)state;
    const struct config *config = config_of(f, RACK);
    const struct workload_file workload = {0}; /* a simulation cannot ask the machines */
    assert_false(core_setup_make(&f->arena, config, &workload, &f->diags, &setup, &err));
    assert_like(str_from(err.text),
                "*does not say what resources its nodes have*\n*node_resources: {local.*");
    const struct core_setup *good = made(
        f, RACK, "node_resources: {local.cluster.node: {CPU: 16}}\nwork: {a: {duration: 1}}");
    assert_int_equal(good->settings.types[0].capacities[0].total, 16 * RESOURCE_UNIT);
    assert_int_equal(good->facts[0].price, PRICE_UNKNOWN);
    assert_str(good->facts[0].machine, "");
    assert_int_equal(good->settings.max_workers, 2);
}

/* Until a preflight has asked them, a machine counts as one CPU. */
static void machines_of_ones_own_say_what_they_have(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct core_setup setup;
    struct err err = {0};
    (void)state;
    const struct config *config = config_of(f, RACK);
    assert_true(core_setup_make(&f->arena, config, NULL, &f->diags, &setup, &err));
    assert_int_equal(setup.settings.types[0].capacity_count, 1);
    assert_int_equal(setup.settings.types[0].capacities[0].total, RESOURCE_UNIT);
    assert_true(setup.settings.min_excludes_head);
    assert_int_equal(setup.settings.times.horizon, 0);
    assert_int_equal(setup.settings.times.cool_most, 30 * 1000);
    core_setup_place(&f->arena, config, STR("\tlocal.cluster.node\tCPU 8 memory 900 GPU 2\n"),
                     &setup);
    assert_int_equal(setup.settings.types[0].capacity_count, 3);
    assert_int_equal(setup.settings.types[0].capacities[0].total, 8 * RESOURCE_UNIT);
    assert_int_equal(setup.settings.types[0].capacities[2].total, 2 * RESOURCE_UNIT);
    assert_int_equal(setup.settings.types[0].min_nodes, 2);
}

static void names_that_fit_nothing_are_warned_of(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    made(f, AWS "}\n" TYPES,
         "prices: {g5.xlrage: 1, gpu: 1}\nnode_resources: {gpus: {CPU: 1}}\n"
         "work: {a: {duration: 1}}");
    assert_like(fixture_messages(f),
                "1:10 warning unused-name: *g5.xlrage*(did you mean \"g5.xlarge\"?)\n"
                "2:18 warning unused-name: *gpus*(did you mean \"gpu\"?)");
}

static void a_preflight_says_where(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const char *yaml = AWS "}\n" TYPES;
    struct core_setup setup = *made(f, yaml, NULL);
    const struct str zones = STR("gpu\tus-west-2b us-west-2a\nother\tus-west-2c\n");
    (void)state;
    setup.settings.names = &setup.names;
    assert_int_equal(setup.settings.offering_count, 2);
    core_setup_place(&f->arena, config_of(f, yaml), zones, &setup);
    const struct offering *offerings = setup.settings.offerings;
    assert_int_equal(setup.settings.offering_count, 3);
    assert_str(intern_text(&setup.names, offerings[0].zone), "us-west-2"); /* nothing is known */
    assert_int_equal(offerings[1].type, 1);
    assert_str(intern_text(&setup.names, offerings[1].zone), "us-west-2b");
    assert_str(intern_text(&setup.names, offerings[2].zone), "us-west-2a");
    assert_true(offerings[1].market == MARKET_SPOT && offerings[2].market == MARKET_SPOT);
}

static void zones_are_found_by_type(void **state)
{
    const struct str text = STR("gpu\ta b\ncpu\tc\n");
    (void)state;
    assert_str(type_zones_find(text, STR("gpu")), "a b");
    assert_str(type_zones_find(text, STR("cpu")), "c");
    assert_int_equal(type_zones_find(text, STR("gp")).len, 0);
    assert_int_equal(type_zones_find(STR("gpu"), STR("gpu")).len, 0);
    assert_int_equal(type_zones_find(STR(""), STR("gpu")).len, 0);
}

static void a_test_turns_the_times(void **state)
{
    struct core_times usual, turned;
    (void)state;
    core_times_default(&usual);
    setenv("SHOAL_TEST_TIMES", "settle=5,no_such=1,quiet_start=x,drain_retry=-3,horizon=7", 1);
    core_times_make(&turned, 5 * 60 * 1000);
    unsetenv("SHOAL_TEST_TIMES");
    assert_int_equal(turned.settle, 5);
    assert_int_equal(turned.horizon, 7);
    assert_int_equal(turned.quiet_start, 20 * 1000);
    assert_int_equal(turned.drain_retry, usual.drain_retry);
    core_times_make(&turned, 5 * 60 * 1000);
    assert_int_equal(turned.settle, usual.settle);
}

static void a_test_shortens_the_retention(void **state)
{
    (void)state;
    struct retention usual = retention_make();
    assert_int_equal(usual.node_ms, 24 * 3600 * 1000);
    assert_int_equal(usual.node_count, 500);
    assert_int_equal(usual.sweep_ms, 3600 * 1000);
    assert_int_equal(usual.first_ms, 60 * 1000);
    assert_int_equal(usual.launch_ms, 24 * 3600 * 1000);
    assert_int_equal(usual.entry_count, 20000);
    assert_int_equal(usual.event_count, 5000);
    assert_int_equal(usual.service_bytes, 10 * 1000 * 1000);
    setenv("SHOAL_TEST_TIMES",
           "keep_node=1,keep_nodes=2,sweep=3,keep_launch=4,keep_entries=5,keep_events=6,keep_log=7",
           1);
    struct retention brief = retention_make();
    unsetenv("SHOAL_TEST_TIMES");
    assert_int_equal(brief.node_ms, 1);
    assert_int_equal(brief.node_count, 2);
    assert_int_equal(brief.sweep_ms, 3);
    assert_int_equal(brief.first_ms, 3);
    assert_int_equal(brief.launch_ms, 4);
    assert_int_equal(brief.entry_count, 5);
    assert_int_equal(brief.event_count, 6);
    assert_int_equal(brief.service_bytes, 7);
    assert_int_equal(retention_trim_after(20000), 2000);
    assert_int_equal(retention_trim_after(5), 1);
}

static void impatient_files_settle_sooner(void **state)
{
    struct core_times usual, made;
    (void)state;
    core_times_default(&usual);
    core_times_make(&made, 20 * 1000);
    assert_int_equal(made.settle, 20 * 1000);
    core_times_make(&made, 100);
    assert_int_equal(made.settle, 10 * 1000);
    core_times_make(&made, PLAN_NO_LIMIT);
    assert_int_equal(made.settle, usual.settle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_types_become_types),
        cmocka_unit_test(zones_and_markets_become_offerings),
        cmocka_unit_test(a_preflight_says_where),
        cmocka_unit_test(zones_are_found_by_type),
        cmocka_unit_test(prices_come_from_whoever_knows_best),
        cmocka_unit_test(prices_are_those_of_the_offering),
        cmocka_unit_test(a_running_instance_has_the_price_of_its_zone),
        cmocka_unit_test(limits_that_are_written_count),
        cmocka_unit_test(other_providers),
        cmocka_unit_test(machines_of_ones_own_need_resources),
        cmocka_unit_test(machines_of_ones_own_say_what_they_have),
        cmocka_unit_test(names_that_fit_nothing_are_warned_of),
        cmocka_unit_test(a_test_turns_the_times),
        cmocka_unit_test(a_test_shortens_the_retention),
        cmocka_unit_test(impatient_files_settle_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
