/* test_node_view.c: a node is the same after it was sent. */
#include "app/model/node_view.h"

#include "core/plan.h"
#include "io/json_line.h"
#include "unit.h"

#include <string.h>

static bool node_view_test_read(const char *text, struct arena *arena, struct node_view *ret_view)
{
    struct err err;
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    bool is_read = node_view_read(json, arena, ret_view, &err);
    json_decref(json);
    return is_read;
}

static void everything_survives(void **state)
{
    (void)state;
    struct arena arena;
    struct err err;
    struct node_view back;
    arena_init(&arena);
    static const struct resource_usage uses[] = {{{"CPU", 3}, 1.5, 4}, {{"GPU", 3}, 0, 1}};
    struct node_view view = {
        .name = STR("worker-2"),
        .id = STR("i-0c1"),
        .type = STR("gpu"),
        .machine = STR("g5.xlarge"),
        .private_ip = STR("10.0.0.7"),
        .is_spot = true,
        .phase = PHASE_FAILED,
        .since_ms = 12,
        .price = 39000,
        .step = 3,
        .steps = 5,
        .detail = STR("pip install torch==9.9"),
        .failure = {.step = STR("setup command 3 of 5"), .said = STR("bad \xff byte"), .status = 1},
        .ray_id = STR("abcdef"),
        .uses = uses,
        .use_count = 2,
        .idle_since_ms = 99,
        .activity = STR("Busy workers on node."),
        .is_draining = true,
    };
    json_t *json = node_view_json(&view);
    assert_true(node_view_read(json, &arena, &back, &err));
    json_decref(json);
    assert_true(str_eq(back.name, view.name));
    assert_true(str_eq(back.failure.step, view.failure.step));
    assert_true(str_starts(back.failure.said, "bad ")); /* the byte itself has no form in JSON */
    assert_int_equal(back.phase, PHASE_FAILED);
    assert_int_equal(back.price, 39000);
    assert_int_equal(back.failure.status, 1);
    assert_true(back.is_spot && !back.is_head);
    assert_int_equal(back.use_count, 2);
    assert_true(str_is(back.uses[0].name, "CPU"));
    assert_true(back.uses[0].used == 1.5 && back.uses[0].total == 4);
    assert_int_equal(back.idle_since_ms, 99);
    assert_true(str_eq(back.ray_id, view.ray_id) && str_eq(back.activity, view.activity));
    assert_true(back.is_draining);
    arena_clear(&arena);
}

static void an_unknown_price_stays_unknown(void **state)
{
    (void)state;
    struct arena arena;
    struct node_view back;
    arena_init(&arena);
    assert_true(node_view_test_read("{\"name\":\"head\",\"phase\":\"ready\",\"later\":[1]}", &arena,
                                    &back));
    assert_int_equal(back.price, PRICE_UNKNOWN);
    assert_false(node_view_test_read("{\"name\":\"head\",\"phase\":\"asleep\"}", &arena, &back));
    assert_false(node_view_test_read("{\"phase\":\"ready\"}", &arena, &back));
    assert_false(node_view_test_read("{\"name\":1,\"phase\":\"ready\"}", &arena, &back));
    assert_false(node_view_test_read(
        "{\"name\":\"a\",\"phase\":\"ready\",\"failure\":{\"step\":1}}", &arena, &back));
    assert_false(node_view_test_read("[]", &arena, &back));
    arena_clear(&arena);
}

/* A copy shares no text with the original: the original is overwritten here. */
static void a_copy_has_its_own_texts(void **state)
{
    (void)state;
    char text[] = "worker-2", step[] = "setup command 3 of 5", use[] = "CPU";
    struct arena arena;
    arena_init(&arena);
    struct resource_usage uses[] = {{str_from(use), 1, 4}};
    struct node_view view = {.name = str_from(text),
                             .activity = str_from(text),
                             .failure = {.step = str_from(step), .next = str_from(step)},
                             .uses = uses,
                             .use_count = 1};
    struct node_view copy = node_view_copy(&arena, &view);
    memset(text, 'x', sizeof(text) - 1);
    memset(step, 'x', sizeof(step) - 1);
    memset(use, 'x', sizeof(use) - 1);
    assert_true(str_is(copy.name, "worker-2") && str_is(copy.activity, "worker-2"));
    assert_true(str_is(copy.failure.step, "setup command 3 of 5"));
    assert_true(str_is(copy.failure.next, "setup command 3 of 5"));
    assert_true(str_is(copy.uses[0].name, "CPU"));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_survives),
        cmocka_unit_test(an_unknown_price_stays_unknown),
        cmocka_unit_test(a_copy_has_its_own_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
