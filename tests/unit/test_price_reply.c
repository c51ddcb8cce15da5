/* test_price_reply.c: prices as AWS sends them, and values that are not prices. */
#include "provider/aws/account/price_reply.h"

#include "base/buf.h"
#include "config/document/json_write.h"
#include "unit.h"

/* ---- numbers ---- */

static void dollars_become_micro_dollars(void **state)
{
    static const struct {
        const char *text;
        int64_t micro;
    } rows[] = {{"0.0960000000", 96000},
                {"0", 0},
                {"3", 3000000},
                {"0.0000005", 1},
                {"0.0000004", 0},
                {"32.7726", 32772600},
                {"1000000.999999", 1000000999999}};
    static const char *const bad[] = {"",     ".5",  "1.",  "-1",      "+1",    " 1",   "1 ",
                                      "1e-3", "1,5", "0x1", "1000001", "0.0.1", "0.1a", "NaN"};
    int64_t micro;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(price_parse_dollars(str_from(rows[i].text), &micro));
        assert_int_equal(micro, rows[i].micro);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(price_parse_dollars(str_from(bad[i]), &micro));
    }
}

/* ---- products ---- */

struct product {
    const char *family, *type, *region, *os_name, *tenancy, *software, *capacity, *more, *unit,
        *money;
};

static const struct product good = {"Compute Instance",
                                    "m5.large",
                                    "us-west-2",
                                    "Linux",
                                    "Shared",
                                    "NA",
                                    "Used",
                                    "",
                                    "Hrs",
                                    "{\"USD\":\"0.0960000000\"}"};

/* As AWS writes it: a text in a list, with the product's JSON in it. */
static void add_product(struct buf *out, const struct product *p)
{
    AUTO_BUF struct buf inner;
    buf_init(&inner, 8192);
    buf_addf(&inner,
             "{\"product\":{\"productFamily\":\"%s\",\"attributes\":{\"instanceType\":\"%s\","
             "\"volumeApiName\":\"%s\",\"regionCode\":\"%s\",\"operatingSystem\":\"%s\","
             "\"tenancy\":\"%s\",\"preInstalledSw\":\"%s\",\"capacitystatus\":\"%s\"%s}},"
             "\"terms\":{\"OnDemand\":{\"A.B\":{\"priceDimensions\":{\"A.B.C\":{\"unit\":\"%s\","
             "\"pricePerUnit\":%s}}}}}}",
             p->family, p->type, p->type, p->region, p->os_name, p->tenancy, p->software,
             p->capacity, p->more, p->unit, p->money);
    json_add_string(out, buf_str(&inner), true);
}

static bool read_two(const struct product *first, const struct product *second,
                     enum price_kind kind, struct arena *arena, struct price_page *ret_page,
                     struct err *err)
{
    AUTO_BUF struct buf json;
    struct price_query query = {kind, kind == PRICE_VOLUME ? STR("gp3") : STR("m5.large"),
                                STR("us-west-2"), STR("")};
    buf_init(&json, 65536);
    buf_add_c(&json, "{\"FormatVersion\":\"aws_v1\",\"PriceList\":[");
    add_product(&json, first);
    if (second) {
        buf_add_char(&json, ',');
        add_product(&json, second);
    }
    buf_add_c(&json, "],\"NextToken\":\"more\"}");
    return price_products_read(buf_str(&json), &query, arena, ret_page, err);
}

static void a_product_has_a_price(void **state)
{
    struct arena arena;
    struct price_page page;
    struct err err = {0};
    struct product volume = {"Storage", "gp3", "us-west-2", "",      "",
                             "",        "",    "",          "GB-Mo", "{\"USD\":\"0.08\"}"};
    struct product metal = good;
    (void)state;
    arena_init(&arena);
    assert_true(read_two(&good, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    assert_int_equal(page.price, 96000);
    assert_str(page.next_token, "more");
    assert_true(read_two(&good, &good, PRICE_ON_DEMAND, &arena, &page, &err));
    assert_int_equal(page.price, 96000);
    assert_true(read_two(&volume, NULL, PRICE_VOLUME, &arena, &page, &err));
    assert_int_equal(page.price, 80000);
    metal.family = "Compute Instance (bare metal)";
    assert_true(read_two(&metal, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    assert_int_equal(page.price, 96000);
    arena_clear(&arena);
}

static void other_products_are_passed_over(void **state)
{
    struct product others[9];
    struct arena arena;
    struct price_page page;
    struct err err = {0};
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        others[i] = good;
        others[i].money = "{\"USD\":\"9\"}";
    }
    others[0].type = "m5.xlarge";
    others[1].region = "us-east-1";
    others[2].os_name = "Windows";
    others[3].tenancy = "Dedicated";
    others[4].software = "SQL Std";
    others[5].capacity = "UnusedCapacityReservation";
    others[6].more = ",\"marketoption\":\"CapacityBlock\"";
    others[7].family = "Dedicated Host";
    others[8].more = ",\"locationType\":\"AWS Outposts\"";
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_true(read_two(&others[i], NULL, PRICE_ON_DEMAND, &arena, &page, &err));
        assert_int_equal(page.price, PRICE_UNKNOWN);
        assert_true(read_two(&others[i], &good, PRICE_ON_DEMAND, &arena, &page, &err));
        assert_int_equal(page.price, 96000);
    }
    arena_clear(&arena);
}

static void doubtful_products_are_refused(void **state)
{
    struct product bad = good;
    struct arena arena;
    struct price_page page;
    struct err err = {0};
    (void)state;
    arena_init(&arena);
    bad.money = "{\"USD\":\"0.1\"}";
    assert_false(read_two(&good, &bad, PRICE_ON_DEMAND, &arena, &page, &err));
    assert_like(str_from(err.text), "AWS returned two prices for one product");
    bad.money = "{\"CNY\":\"0.1\"}";
    assert_false(read_two(&bad, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    bad.money = "{\"USD\":\"0.0000000000\"}";
    assert_false(read_two(&bad, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    bad.money = "{\"USD\":0.096}";
    assert_false(read_two(&bad, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    bad = good;
    bad.unit = "Quantity";
    assert_false(read_two(&bad, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    bad = good;
    bad.money = "{\"USD\":\"1\"}},\"A.B.D\":{\"unit\":\"Hrs\",\"pricePerUnit\":{\"USD\":\"2\"}";
    assert_false(read_two(&bad, NULL, PRICE_ON_DEMAND, &arena, &page, &err));
    assert_like(str_from(err.text), "AWS returned a product with 2 prices instead of exactly one");
    arena_clear(&arena);
}

static void other_json_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"PriceList\":{}}",
                                        "{\"PriceList\":[1]}",
                                        "{\"PriceList\":[\"\"]}",
                                        "{\"PriceList\":[\"[]\"]}",
                                        "{\"PriceList\":[],\"NextToken\":1}",
                                        "{\"PriceList\":[],\"PriceList\":[]}",
                                        "<html>"};
    struct price_query query = {PRICE_ON_DEMAND, STR("m5.large"), STR("us-west-2"), STR("")};
    struct arena arena;
    struct price_page page;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        assert_false(price_products_read(str_from(texts[i]), &query, &arena, &page, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
    arena_clear(&arena);
}

static void the_question_says_all(void **state)
{
    struct price_query query = {PRICE_ON_DEMAND, STR("m5.large"), STR("eu-west-1"), STR("")};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    const struct param *input = price_products_input(&query, STR("t"), &arena);
    assert_str(param_find(input, "ServiceCode")->text, "AmazonEC2");
    assert_str(param_find(input, "NextToken")->text, "t");
    const struct param *filter = param_find(input, "Filters")->first;
    assert_str(param_find(filter, "Field")->text, "regionCode");
    assert_str(param_find(filter, "Value")->text, "eu-west-1");
    size_t count = 0;
    for (; filter; filter = filter->next) {
        count++;
    }
    assert_int_equal(count, 6);
    assert_null(param_find(price_products_input(&query, STR(""), &arena), "NextToken"));
    arena_clear(&arena);
}

/* ---- spot ---- */

#define ROW(type, zone, product, price, time)                                 \
    "<item><instanceType>" type "</instanceType><productDescription>" product \
    "</productDescription><spotPrice>" price "</spotPrice><timestamp>" time   \
    "</timestamp><availabilityZone>" zone "</availabilityZone></item>"
#define PAGE(rows)                                                                         \
    "<DescribeSpotPriceHistoryResponse><requestId>r</requestId><spotPriceHistorySet>" rows \
    "</spotPriceHistorySet><nextToken/></DescribeSpotPriceHistoryResponse>"

static bool read_pages(const char *const *pages, size_t count, struct arena *arena,
                       struct spot_price **ret_prices, size_t *ret_count, struct err *err)
{
    const struct xml_element *roots[4];
    for (size_t i = 0; i < count; i++) {
        assert_true(xml_tree_parse(str_from(pages[i]), arena, &roots[i], err));
    }
    return price_history_read(roots, count, arena, ret_prices, ret_count, err);
}

static void the_newest_spot_price_counts(void **state)
{
    static const char *const pages[] = {
        PAGE(ROW("m5.large", "us-west-2a", "Linux/UNIX", "0.03", "2026-11-15T01:00:00.000Z")
                 ROW("m5.large", "us-west-2a", "Windows", "0.9", "2026-11-15T03:00:00.000Z") ROW(
                     "m5.large", "us-west-2b", "Linux/UNIX", "0.05", "2026-11-15T01:00:00.000Z")),
        PAGE(ROW("m5.large", "us-west-2a", "Linux/UNIX", "0.04", "2026-11-15T02:00:00.000Z")
                 ROW("m5.large", "us-west-2b", "Linux/UNIX", "0.06", "2026-11-14T02:00:00.000Z")),
    };
    struct arena arena;
    struct spot_price *prices;
    size_t count;
    struct err err = {0};
    (void)state;
    arena_init(&arena);
    assert_true(read_pages(pages, 2, &arena, &prices, &count, &err));
    assert_int_equal(count, 2);
    assert_str(prices[0].zone, "us-west-2a");
    assert_int_equal(prices[0].price, 40000);
    assert_str(prices[1].zone, "us-west-2b");
    assert_int_equal(prices[1].price, 50000);
    arena_clear(&arena);
}

static void a_broken_spot_price_is_refused(void **state)
{
    static const char *const pages[] = {
        "<DescribeInstancesResponse><spotPriceHistorySet/></DescribeInstancesResponse>",
        "<DescribeSpotPriceHistoryResponse/>",
        PAGE(ROW("", "us-west-2a", "Linux/UNIX", "0.03", "2026-11-15T01:00:00Z")),
        PAGE(ROW("m5.large", "", "Linux/UNIX", "0.03", "2026-11-15T01:00:00Z")),
        PAGE(ROW("m5.large", "us-west-2a", "Linux/UNIX", "cheap", "2026-11-15T01:00:00Z")),
        PAGE(ROW("m5.large", "us-west-2a", "Linux/UNIX", "0.03", "today")),
    };
    struct arena arena;
    struct spot_price *prices;
    size_t count;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        struct err err = {0};
        assert_false(read_pages(&pages[i], 1, &arena, &prices, &count, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dollars_become_micro_dollars),
        cmocka_unit_test(a_product_has_a_price),
        cmocka_unit_test(other_products_are_passed_over),
        cmocka_unit_test(doubtful_products_are_refused),
        cmocka_unit_test(other_json_is_refused),
        cmocka_unit_test(the_question_says_all),
        cmocka_unit_test(the_newest_spot_price_counts),
        cmocka_unit_test(a_broken_spot_price_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
