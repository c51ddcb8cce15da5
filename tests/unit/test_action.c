/* test_action.c: actions as text. */
#include "core/action.h"

#include "base/rng.h"
#include "core/core.h"
#include "core/format.h"
#include "unit.h"

#include <string.h>

enum { RANDOM_ACTIONS = 20000, MINUTE = 60 * 1000, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

struct scene {
    struct arena arena;
    struct names names;
    struct plan_type type;
    struct offering offerings[2];
    struct core_settings settings;
};

static int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    intern_init(&scene.names, &scene.arena);
    scene.type.name = STR("g5.xlarge");
    uint32_t zone = intern_add(&scene.names, STR("us-east-1a"));
    scene.offerings[0] = (struct offering){.zone = zone, .market = MARKET_SPOT, .price = 302500};
    scene.offerings[1] = (struct offering){.zone = zone, .price = PRICE_UNKNOWN};
    scene.settings = (struct core_settings){.names = &scene.names,
                                            .types = &scene.type,
                                            .type_count = 1,
                                            .offerings = scene.offerings,
                                            .offering_count = 2};
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

/* ---- random actions ------------------------------------------------------------------------ */

static int64_t any_i64(struct rng *rng)
{
    uint64_t any = rng_next(rng) >> rng_below(rng, 64);
    return rng_chance(rng, 100) ? INT64_MIN : (int64_t)any;
}

static void any_action(struct rng *rng, struct action *action)
{
    memset(action, 0, sizeof(*action));
    action->kind = (enum action_kind)rng_below(rng, ACTION_KIND_COUNT);
    action->reason.kind = (uint8_t)rng_below(rng, REASON_KIND_COUNT);
    action->reason.state = (uint8_t)rng_below(rng, NODE_STATE_COUNT);
    action->reason.amount = action->reason.kind == REASON_DRAINED
                                ? rng_below(rng, REASON_KIND_COUNT)
                                : any_i64(rng);
    action->reason.limit = any_i64(rng);
    action->not_after = any_i64(rng);
    action->epoch = (uint64_t)any_i64(rng);
    action->instance = (uint64_t)any_i64(rng);
    action->launch = (uint64_t)any_i64(rng);
    action->offering = (uint32_t)any_i64(rng);
    action->count = any_i64(rng);
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        action->count_by_cause[i] = any_i64(rng);
    }
    action->is_rejectable = rng_chance(rng, 500);
    action->drain_until = any_i64(rng);
}

static void every_action_is_one_line(void **state)
{
    struct scene *scene = *state;
    struct rng rng = {1};
    for (int i = 0; i < RANDOM_ACTIONS; i++) {
        struct action action;
        any_action(&rng, &action);
        struct str text = action_text(&action, &scene->settings, &scene->arena);
        assert_true(text.len > 0 && str_find_char(text, '\n') == SIZE_MAX);
        arena_clear(&scene->arena);
        scene->settings.offering_count = 0; /* the names are gone */
        intern_init(&scene->names, &scene->arena);
    }
}

/* ---- as text ------------------------------------------------------------------------------- */

static struct str words(struct scene *scene, const struct action *action)
{
    return action_text(action, &scene->settings, &scene->arena);
}

static void changes_in_words(void **state)
{
    struct scene *scene = *state;
    struct change change = {17, (uint64_t)7 << 32 | 3, NODE_BOOTING, NODE_SETTING_UP};
    assert_str(change_text(&change, &scene->arena), "instance 17: booting -> setting up");
    change = (struct change){INSTANCE_NONE, (uint64_t)7 << 32 | 3, NODE_GONE, NODE_REQUESTED};
    assert_str(change_text(&change, &scene->arena), "an instance of launch 7.3: requested");
}

static void launches_in_words(void **state)
{
    struct scene *scene = *state;
    struct action action = {.kind = ACTION_LAUNCH, .launch = 7, .count = 3};
    action.count_by_cause[LAUNCH_DEMAND] = 3;
    assert_str(words(scene, &action), "launch 0.7: 3 x g5.xlarge in us-east-1a (spot, $0.3025/h "
                                      "each): 3 for pending requests");
    action.offering = 1;
    action.count_by_cause[LAUNCH_DEMAND] = 2;
    action.count_by_cause[LAUNCH_MIN_NODES] = 1;
    assert_str(words(scene, &action), "launch 0.7: 3 x g5.xlarge in us-east-1a (on demand): "
                                      "1 to keep min_workers, 2 for pending requests");
    action.instance = 17;
    action.reason = (struct reason){.kind = REASON_NEEDED, .amount = 1, .limit = 1};
    assert_str(action_reason_text(&action, &scene->arena),
               "1 to keep min_workers, 1 for pending requests, "
               "1 to replace instance 17, which is being terminated");
    action.reason.limit = 3;
    assert_str(action_reason_text_with(&action, STR("worker-17"), &scene->arena),
               "1 to keep min_workers, 1 for pending requests, "
               "1 to replace worker-17 and 2 more nodes, which are being terminated");
    action.reason.amount = 3; /* a count above the number of nodes: not trusted */
    assert_str(action_reason_text(&action, &scene->arena),
               "1 to keep min_workers, 2 for pending requests");
    action.reason.kind = REASON_REPEATED;
    assert_str(words(scene, &action), "launch 0.7 again: 3 x g5.xlarge in us-east-1a (on demand): "
                                      "no definite reply so far");
}

static struct str terminate(struct scene *scene, enum reason_kind kind, int64_t amount,
                            int64_t limit)
{
    struct action action = {.kind = ACTION_TERMINATE, .instance = 17};
    action.reason = (struct reason){(uint8_t)kind, NODE_BOOTING, amount, limit};
    struct str text = words(scene, &action);
    struct str start = STR("terminate instance 17 (g5.xlarge in us-east-1a, spot): ");
    assert_true(str_starts(text, start.ptr));
    return str_sub(text, start.len, text.len);
}

static void ends_in_words(void **state)
{
    struct scene *scene = *state;
    assert_str(terminate(scene, REASON_OUTDATED, 0, 0), "its node_config was changed in the file");
    assert_str(terminate(scene, REASON_OUTDATED, 1, 0), "its node type is no longer in the file");
    assert_str(terminate(scene, REASON_TYPE_LIMIT, 0, 4),
               "more nodes of its type than its max_workers of 4");
    assert_str(terminate(scene, REASON_CLUSTER_LIMIT, 0, 10),
               "more nodes in the cluster than the limit of 10");
    assert_str(terminate(scene, REASON_DRAINED, REASON_IDLE, 0), "drained, because it was idle");
    assert_str(terminate(scene, REASON_CLOUD_ENDED, 0, 0), "terminated by the cloud, or manually");
    assert_str(terminate(scene, REASON_RAY_DEAD, 0, 0), "Ray declared it dead");
    assert_str(terminate(scene, REASON_LOST_CONTACT, 65 * 1000, MINUTE),
               "not listed by Ray for 1 min 5 s (limit: 1 min)");
    assert_str(terminate(scene, REASON_SETUP_FAILED, 0, 0), "its setup failed");
    assert_str(terminate(scene, REASON_TOO_SLOW, 10 * MINUTE + 2000, 10 * MINUTE),
               "booting without a reply from ssh for 10 min 2 s (limit: 10 min)");
    assert_str(terminate(scene, REASON_DOWN, 0, 0), "the cluster is being deleted");
    struct action again = {.kind = ACTION_TERMINATE, .instance = 17, .offering = 5};
    again.reason.kind = REASON_REPEATED;
    assert_str(words(scene, &again),
               "retry terminating instance 17 (offering 5): no definite reply so far");
}

/* The tables must grow with their enums: otherwise a user would be the first to see a missing
 * text. */
static void every_reason_and_state_has_words(void **state)
{
    struct scene *scene = *state;
    for (int64_t kind = 0; kind < REASON_KIND_COUNT; kind++) {
        assert_like(terminate(scene, REASON_DRAINED, kind, 0), "drained, because * *");
        assert_int_equal(str_find(terminate(scene, REASON_DRAINED, kind, 0), "null"), SIZE_MAX);
    }
    for (unsigned i = 0; i < NODE_STATE_COUNT; i++) {
        struct action action = {.reason = {.kind = REASON_TOO_SLOW, .state = (uint8_t)i}};
        struct str text = words(scene, &action);
        assert_like(text, "*: * for 0 s (limit: 0 s)");
        assert_int_equal(str_find(text, "null"), SIZE_MAX);
    }
}

static void set_ups_and_drains_in_words(void **state)
{
    struct scene *scene = *state;
    struct action action = {.kind = ACTION_SET_UP, .instance = 17};
    action.reason.kind = REASON_CLOUD_RUNS_IT;
    assert_str(words(scene, &action),
               "set up instance 17 (g5.xlarge in us-east-1a, spot): its instance is running");
    action.kind = ACTION_DRAIN;
    action.is_rejectable = true;
    action.reason = (struct reason){REASON_IDLE, 0, 5 * MINUTE + 10 * 1000, 5 * MINUTE};
    assert_str(words(scene, &action),
               "drain instance 17 (g5.xlarge in us-east-1a, spot): idle for 5 min 10 s (limit: "
               "5 min); it can refuse if it is busy");
    action.is_rejectable = false;
    action.drain_until = 130000;
    action.reason = (struct reason){REASON_NOTICE, 0, 0, 132500};
    assert_str(words(scene, &action),
               "drain instance 17 (g5.xlarge in us-east-1a, spot): the cloud is reclaiming it; "
               "its work can continue until 130.000");
}

static void numbers_in_words(void **state)
{
    struct arena *arena = &((struct scene *)*state)->arena;
    assert_str(format_span(0, arena), "0 s");
    assert_str(format_span(850, arena), "850 ms");
    assert_str(format_span(1000, arena), "1 s");
    assert_str(format_span(1500, arena), "1 s 500 ms");
    assert_str(format_span(MINUTE + 999, arena), "1 min");
    assert_str(format_span(2 * HOUR + 5 * MINUTE, arena), "2 h 5 min");
    assert_str(format_span(3 * (int64_t)DAY + HOUR, arena), "3 d 1 h");
    assert_str(format_span(-MINUTE, arena), "-1 min");
    assert_str(format_span(INT64_MIN, arena), "-106751991167 d 7 h");
    assert_str(format_seconds(12500, arena), "12.500");
    assert_str(format_price(1006000, arena), "$1.006/h");
    assert_str(format_price(300000, arena), "$0.30/h");
    assert_str(format_price(12, arena), "$0.000012/h");
    assert_str(format_amount(STR("CPU"), 5000, arena), "0.5");
    assert_str(format_amount(STR("CPU"), -40000, arena), "-4");
}

/* Names are cut between characters, without characters that would break a line or move a cursor. */
static void names_in_words(void **state)
{
    struct scene *scene = *state;
    struct arena *arena = &scene->arena;
    char text[200];
    memset(text, 'x', sizeof(text));
    memcpy(text + 119, "\xc3\xa9", 2);
    struct str cut = format_plain((struct str){text, sizeof(text)}, arena);
    assert_int_equal(cut.len, 119 + 3);
    assert_true(str_ends(cut, "x..."));
    assert_str(format_plain(STR("a\x1b[31m\0b"), arena), "a?[31m?b");
    assert_str(format_name(&scene->names, 99, arena), "(name 99)");
    assert_str(format_name(&scene->names, NAME_NONE, arena), "(none)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_action_is_one_line),
        TEST(changes_in_words),
        TEST(launches_in_words),
        TEST(ends_in_words),
        TEST(every_reason_and_state_has_words),
        TEST(set_ups_and_drains_in_words),
        TEST(numbers_in_words),
        TEST(names_in_words),
    };
    return cmocka_run_group_tests_name("action", tests, NULL, NULL);
}
