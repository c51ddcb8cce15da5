/* test_price_cache.c: a cache is used only for the data from which it was derived. */
#include "app/price_cache.h"

#include "base/buf.h"
#include "io/file.h"
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOW = 1794738600 }; /* 2026-11-15T10:30:00Z */

static const struct price_query list_query = {
    PRICE_ON_DEMAND, {"m5.large", 8}, {"us-west-2", 9}, {"", 0}};
static const struct price_query spot_query = {
    PRICE_SPOT, {"m5.large", 8}, {"us-west-2", 9}, {"us-west-2a", 10}};

static struct price_cache a_cache(struct arena *arena, int64_t at)
{
    struct price_cache cache = {.region = STR("us-west-2"), .endpoint = STR("")};
    struct price_row list = {PRICE_ON_DEMAND, STR("m5.large"), STR(""), STR(""), 96000, at};
    struct price_row spot = {PRICE_SPOT, STR("m5.large"), STR("us-west-2a"), STR("12"), 30000, at};
    struct price_row volume = {PRICE_VOLUME, STR("gp3"), STR(""), STR(""), 80000, at};
    price_cache_put(&cache, &list, arena);
    price_cache_put(&cache, &spot, arena);
    price_cache_put(&cache, &volume, arena);
    return cache;
}

static int64_t found(const struct price_cache *cache, const struct price_query *query,
                     const char *account, int64_t now)
{
    const struct price_row *row = price_cache_find(cache, query, str_from(account), now);
    return row ? row->price : PRICE_UNKNOWN;
}

static void it_is_read_as_it_was_written(void **state)
{
    struct arena arena;
    struct err err = {0};
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf again;
    struct price_cache cache;
    (void)state;
    arena_init(&arena);
    buf_init(&text, PRICE_CACHE_BYTES_MAX);
    buf_init(&again, PRICE_CACHE_BYTES_MAX);
    cache = a_cache(&arena, NOW);
    assert_true(price_cache_print(&cache, NOW, &text, &err));
    assert_true(price_cache_parse(buf_str(&text), &arena, &cache, &err));
    assert_int_equal(cache.count, 3);
    assert_true(price_cache_print(&cache, NOW, &again, &err));
    assert_str(buf_str(&again), text.ptr);
    assert_int_equal(found(&cache, &list_query, "", NOW), 96000);
    assert_int_equal(found(&cache, &spot_query, "12", NOW), 30000);
    arena_clear(&arena);
}

static void it_is_for_the_same_only(void **state)
{
    struct arena arena;
    struct price_query other;
    (void)state;
    arena_init(&arena);
    struct price_cache cache = a_cache(&arena, NOW);
    assert_int_equal(found(&cache, &spot_query, "13", NOW), PRICE_UNKNOWN);
    assert_int_equal(found(&cache, &spot_query, "", NOW), PRICE_UNKNOWN);
    other = spot_query;
    other.zone = STR("us-west-2b");
    assert_int_equal(found(&cache, &other, "12", NOW), PRICE_UNKNOWN);
    other = list_query;
    other.region = STR("us-east-1");
    assert_int_equal(found(&cache, &other, "", NOW), PRICE_UNKNOWN);
    other = list_query;
    other.name = STR("m5.xlarge");
    assert_int_equal(found(&cache, &other, "", NOW), PRICE_UNKNOWN);
    other.name = STR("gp3");
    assert_int_equal(found(&cache, &other, "", NOW), PRICE_UNKNOWN);
    other.kind = PRICE_VOLUME;
    assert_int_equal(found(&cache, &other, "", NOW), 80000);
    arena_clear(&arena);
}

static void it_grows_old(void **state)
{
    struct arena arena;
    struct err err = {0};
    AUTO_BUF struct buf text;
    (void)state;
    arena_init(&arena);
    buf_init(&text, PRICE_CACHE_BYTES_MAX);
    struct price_cache cache = a_cache(&arena, NOW);
    assert_int_equal(found(&cache, &spot_query, "12", NOW + 3599), 30000);
    assert_int_equal(found(&cache, &spot_query, "12", NOW + 3600), PRICE_UNKNOWN);
    assert_int_equal(found(&cache, &list_query, "", NOW + 7 * 86400 - 1), 96000);
    assert_int_equal(found(&cache, &list_query, "", NOW + 7 * 86400), PRICE_UNKNOWN);
    /* from the future: the clock was wrong then, or is now */
    assert_int_equal(found(&cache, &list_query, "", NOW - 299), 96000);
    assert_int_equal(found(&cache, &list_query, "", NOW - 301), PRICE_UNKNOWN);
    assert_true(price_cache_print(&cache, NOW + 4000, &text, &err));
    assert_true(price_cache_parse(buf_str(&text), &arena, &cache, &err));
    assert_int_equal(cache.count, 2);
    arena_clear(&arena);
}

static void a_new_price_takes_the_old_place(void **state)
{
    struct arena arena;
    struct price_row row = {PRICE_ON_DEMAND, STR("m5.large"), STR(""), STR(""), 97000, NOW + 5};
    (void)state;
    arena_init(&arena);
    struct price_cache cache = a_cache(&arena, NOW);
    price_cache_put(&cache, &row, &arena);
    assert_int_equal(cache.count, 3);
    assert_int_equal(found(&cache, &list_query, "", NOW + 5), 97000);
    arena_clear(&arena);
}

#define HEAD "{\"version\":1,\"region\":\"us-west-2\",\"endpoint\":\"\",\"prices\":["
#define AT "\"at\":\"2026-11-15T10:30:00Z\""

static void damage_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "null",
        "{\"version\":2,\"region\":\"us-west-2\",\"prices\":[]}",
        "{\"version\":1,\"region\":\"../x\",\"prices\":[]}",
        "{\"version\":1,\"region\":\"us-west-2\"}",
        "{\"version\":1,\"region\":\"us-west-2\",\"endpoint\":1,\"prices\":[]}",
        HEAD "1]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"m5.large\",\"price\":1}]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"m5.large\",\"price\":0," AT "}]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"m5.large\",\"price\":-5," AT "}]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"m5.large\",\"price\":0.5," AT "}]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"M5\\u001b\",\"price\":5," AT "}]}",
        HEAD "{\"kind\":\"on-demand\",\"name\":\"m5\",\"zone\":\"a\",\"price\":5," AT "}]}",
        HEAD "{\"kind\":\"spot\",\"name\":\"m5\",\"account\":\"1\",\"price\":5," AT "}]}",
        HEAD "{\"kind\":\"spot\",\"name\":\"m5\",\"zone\":\"a\",\"price\":5," AT "}]}",
        HEAD "{\"kind\":\"gift\",\"name\":\"m5\",\"price\":5," AT "}]}",
        HEAD "{\"kind\":\"volume\",\"name\":\"gp3\",\"price\":5," AT "}]} tail",
        HEAD "{\"kind\":\"volume\",\"name\":\"gp3\",\"price\":99999999999999," AT "}]}",
    };
    struct arena arena;
    struct price_cache cache;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        assert_false(price_cache_parse(str_from(texts[i]), &arena, &cache, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
    arena_clear(&arena);
}

static size_t loaded(const char *folder, const char *endpoint, struct arena *arena)
{
    struct price_cache cache;
    price_cache_load(str_from(folder), STR("us-west-2"), str_from(endpoint), arena, &cache);
    assert_str(cache.region, "us-west-2");
    assert_str(cache.endpoint, endpoint);
    return cache.count;
}

static void it_lives_in_a_private_file(void **state)
{
    char base[] = "/tmp/shoal-test-XXXXXX";
    struct arena arena;
    struct err err = {0};
    struct stat status;
    (void)state;
    arena_init(&arena);
    assert_non_null(mkdtemp(base));
    struct str folder = arena_printf(&arena, "%s/a/shoal", base);
    struct price_cache cache = a_cache(&arena, NOW);
    assert_int_equal(loaded(folder.ptr, "", &arena), 0);
    assert_true(price_cache_save(&cache, folder, NOW, &err));
    struct str path = price_cache_path(folder, STR("us-west-2"), &arena);
    assert_int_equal(stat(path.ptr, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(loaded(folder.ptr, "", &arena), 3);
    /* from another region: other prices */
    assert_int_equal(loaded(folder.ptr, "http://localhost:1", &arena), 0);
    assert_int_equal(loaded("", "", &arena), 0);
    /* other users could have written it */
    assert_int_equal(chmod(path.ptr, 0666), 0);
    assert_int_equal(loaded(folder.ptr, "", &arena), 0);
    assert_true(file_write(path.ptr, STR("{\"version\": 1, \"reg"), 0600, &err));
    assert_int_equal(loaded(folder.ptr, "", &arena), 0);
    assert_true(price_cache_save(&cache, folder, NOW, &err));
    assert_int_equal(loaded(folder.ptr, "", &arena), 3);
    assert_false(price_cache_save(&cache, STR(""), NOW, &err));
    (void)unlink(path.ptr);
    (void)rmdir(folder.ptr);
    (void)rmdir(arena_printf(&arena, "%s/a", base).ptr);
    (void)rmdir(base);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_as_it_was_written),
        cmocka_unit_test(it_is_for_the_same_only),
        cmocka_unit_test(it_grows_old),
        cmocka_unit_test(a_new_price_takes_the_old_place),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(it_lives_in_a_private_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
