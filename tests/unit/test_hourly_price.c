/* test_hourly_price.c: what an instance costs is the sum of its parts, or unknown. */
#include "app/hourly_price.h"

#include "app/price_lookup.h"
#include "fixture.h"

static const char *const known = "0 m5.large - 153000 4 1790000000\n"
                                 "1 m5.large sa-east-1a 61234 5 1790000100\n"
                                 "2 gp2 - 190000 4 1790000000\n";

static struct price_book book_of(struct arena *arena, const char *region, const char *table)
{
    struct price_book book = {.region = str_from(region), .is_listed = true};
    price_table_read(str_from(table), book.region, arena, &book.table);
    return book;
}

static int64_t price_of(const struct price_book *book, const char *machine, const char *zone,
                        const char *disks)
{
    struct price_subject subject = {.type = STR("worker"),
                                    .machine = str_from(machine),
                                    .zone = str_from(zone),
                                    .is_spot = zone[0] != '\0',
                                    .disks = str_from(disks)};
    return hourly_price(book, &subject).price;
}

static void a_price_is_the_sum_of_its_parts(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct price_book book = book_of(&arena, "sa-east-1", known);
    (void)state;
    assert_int_equal(price_of(&book, "m5.large", "", PRICE_NO_DISKS), 153000);
    assert_int_equal(price_of(&book, "m5.large", "", "gp2 8 ipv4 1"), 153000 + 2082 + 5000);
    assert_int_equal(price_of(&book, "m5.large", "sa-east-1a", "ipv4 0"), 61234);
    assert_int_equal(price_of(&book, "", "", "gp2 73"), 19000); /* stopped */
    book.disks = STR("head\tgp2 1\nworker\tgp2 73 ipv4 1\n");
    assert_int_equal(price_of(&book, "m5.large", "", ""), 153000 + 19000 + 5000);
}

static void an_unknown_part_makes_it_unknown(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct price_book book = book_of(&arena, "sa-east-1", known);
    (void)state;
    assert_int_equal(price_of(&book, "c5.large", "", "ipv4 0"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&book, "m5.large", "sa-east-1b", "ipv4 0"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&book, "m5.large", "", "gp3 8"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&book, "m5.large", "", "gp2 x"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&book, "m5.large", "", "gp2 -1"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&book, "m5.large", "", ""), PRICE_UNKNOWN);
    book.is_listed = false; /* a cloud without a price list */
    assert_int_equal(price_of(&book, "m5.large", "", "ipv4 0"), PRICE_UNKNOWN);
}

static void the_catalog_is_for_its_own_region(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct price_book here = book_of(&arena, "us-east-1", "");
    struct price_book there = book_of(&arena, "us-west-2", "");
    (void)state;
    assert_int_equal(price_of(&here, "m5.large", "", "gp3 73 ipv4 1"), 96000 + 8000 + 5000);
    assert_int_equal(price_of(&here, "m5.large", "us-east-1a", "ipv4 0"), PRICE_UNKNOWN);
    assert_int_equal(price_of(&there, "m5.large", "", "ipv4 0"), PRICE_UNKNOWN);
}

static void what_the_user_wrote_is_the_whole_price(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct place nowhere = {0};
    struct price_book book = book_of(&arena, "sa-east-1", known);
    struct value *written = value_new(&arena, VALUE_MAP, nowhere);
    (void)state;
    value_map_set_c(&arena, written, "m5.large", value_int(&arena, 2, nowhere));
    book.written = written;
    assert_int_equal(price_of(&book, "m5.large", "", "gp2 100 ipv4 1"), 2000000);
    assert_int_equal(price_of(&book, "m5.large", "sa-east-1a", "ipv4 0"), 61234);
    book.is_listed = false;
    assert_int_equal(price_of(&book, "m5.large", "", ""), 2000000);
    value_map_set_c(&arena, written, "worker", value_int(&arena, 1, nowhere));
    assert_int_equal(price_of(&book, "m5.large", "sa-east-1a", ""), 1000000);
}

static void a_simulation_assumes_and_says_so(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct price_book book = book_of(&arena, "sa-east-1", known);
    struct workload_file workload = {.spot_share = 400};
    struct price_subject subject = {.machine = STR("m5.large"), .is_spot = true};
    (void)state;
    book.workload = &workload;
    struct price_known price = hourly_price(&book, &subject);
    assert_int_equal(price.price, 38400);
    assert_true(price.is_share);
    assert_int_equal(price.source, PRICE_FROM_CATALOG);
    subject.is_spot = false;
    assert_false(hourly_price(&book, &subject).is_share);
}

static void a_table_becomes_text_and_back(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf out;
    struct price_table table;
    (void)state;
    buf_init(&out, 10000);
    price_table_read(str_from("9 x - 1 4 1\n0  - 1 4 1\n0 a - -1 4 1\n0 a - 1 99 1\nrubbish\n\n"),
                     STR("r"), &arena, &table);
    assert_int_equal(table.count, 0);
    price_table_read(str_from(known), STR("sa-east-1"), &arena, &table);
    assert_int_equal(table.count, 3);
    price_table_write(&table, &out);
    assert_str(buf_str(&out), known);
    for (int i = 0; i < 40; i++) { /* grows, and replaces */
        struct price_query query = {PRICE_VOLUME, arena_printf(&arena, "v%d", i % 30),
                                    STR("sa-east-1"), STR("")};
        price_table_put(&table, &query, (struct price_known){i, PRICE_FROM_LIST, 0, false}, &arena);
    }
    assert_int_equal(table.count, 33);
    struct price_query query = {PRICE_VOLUME, STR("v9"), STR("sa-east-1"), STR("")};
    assert_int_equal(price_table_find(&table, &query).price, 39);
    query.region = STR("us-west-2");
    assert_int_equal(price_table_find(&table, &query).price, PRICE_UNKNOWN);
}

static void what_is_asked_fits_the_file(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f, "cluster_name: x\nprovider: {type: aws, region: us-west-2, availability_zone: z1}\n"
           "head_node_type: head\navailable_node_types:\n"
           "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 0}}\n"
           "  gpu:\n    max_workers: 1\n    resources: {GPU: 1}\n    node_config:\n"
           "      InstanceType: g5.xlarge\n"
           "      BlockDeviceMappings: [{DeviceName: x, Ebs: {VolumeType: io2}}]\n"
           "      InstanceMarketOptions: {MarketType: spot}\n");
    const struct config *config = config_type(&f->arena, tree);
    struct price_table asked;
    size_t spot = 0;
    size_t on_demand = 0;
    (void)state;
    price_queries_of(config, STR("us-west-2"), &f->arena, &asked);
    for (size_t i = 0; i < asked.count; i++) {
        spot += asked.queries[i].kind == PRICE_SPOT;
        on_demand += asked.queries[i].kind == PRICE_ON_DEMAND;
    }
    assert_int_equal(spot, 7); /* us-west-2a to f, and z1 */
    assert_int_equal(on_demand, 1);
    assert_int_equal(asked.count - spot - on_demand, 3); /* gp2, gp3, io2 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_price_is_the_sum_of_its_parts),
        cmocka_unit_test(an_unknown_part_makes_it_unknown),
        cmocka_unit_test(the_catalog_is_for_its_own_region),
        cmocka_unit_test(what_the_user_wrote_is_the_whole_price),
        cmocka_unit_test(a_simulation_assumes_and_says_so),
        cmocka_unit_test(a_table_becomes_text_and_back),
        cmocka_unit_test(what_is_asked_fits_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
