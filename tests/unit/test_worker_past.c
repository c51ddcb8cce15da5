/* test_worker_past.c: when a worker that runs is set up again. */
#include "app/head/workers/worker_past.h"

#include "unit.h"

#include <stdio.h>

static struct worker_past made(const char *key, const char *wanted, const char *head)
{
    struct worker_past past = {.instance = 2, .launch = 7, .is_done = key[0] != '\0'};
    snprintf(past.key, sizeof(past.key), "%s", key);
    snprintf(past.wanted, sizeof(past.wanted), "%s", wanted);
    snprintf(past.head, sizeof(past.head), "%s", head);
    return past;
}

static void it_is_written_and_read(void **state)
{
    (void)state;
    struct arena arena;
    struct worker_past past = made("key", "", "head");
    struct worker_past back = {.instance = 3, .launch = 7};
    struct worker_past restarted = {.instance = 3, .launch = 8};
    arena_init(&arena);
    past.kept_ray = true;
    snprintf(past.run, sizeof(past.run), "run");
    worker_past_read(worker_past_text(&past, &arena), &back);
    assert_string_equal(back.key, "key");
    assert_string_equal(back.run, "run");
    assert_string_equal(back.head, "head");
    assert_true(back.kept_ray);
    assert_true(back.is_done);
    assert_int_equal(back.instance, 3);
    worker_past_read(worker_past_text(&past, &arena), &restarted);
    assert_string_equal(restarted.key, "");
    past.head[0] = '\0';
    worker_past_read(worker_past_text(&past, &arena), &back);
    assert_string_equal(back.head, "");
    struct worker_past none = {.launch = 7};
    worker_past_read(STR(""), &none);
    worker_past_read(
        STR("7 0123456789012345678901234567890123456789012345678901234567890123456789"), &none);
    worker_past_read(STR("7 key 012345678901234567890123456789012345"), &none);
    assert_string_equal(none.key, "");
    arena_clear(&arena);
}

static void what_is_wanted_decides(void **state)
{
    (void)state;
    struct worker_present now = {.head = STR("h1"), .is_in_ray = true};
    struct worker_past past = made("a", "a", "h1");
    assert_false(worker_past_is_outdated(&past, &now));
    past = made("a", "b", "h1");
    assert_true(worker_past_is_outdated(&past, &now));
    past = made("", "b", ""); /* not set up yet: the core asks for that */
    assert_false(worker_past_is_outdated(&past, &now));
    past = made("a", "", "h1"); /* it cannot be said yet */
    assert_false(worker_past_is_outdated(&past, &now));
}

static void so_does_the_heads_ray(void **state)
{
    (void)state;
    struct worker_past past = made("a", "a", "h1");
    struct worker_present now = {.head = STR("h2")};
    assert_true(worker_past_is_outdated(&past, &now));
    now.is_in_ray = true; /* it has found the new one */
    assert_false(worker_past_is_outdated(&past, &now));
    now = (struct worker_present){.head = STR("h1")}; /* only out of sight */
    assert_false(worker_past_is_outdated(&past, &now));
    now.head = STR("");
    assert_false(worker_past_is_outdated(&past, &now));
    past.head[0] = '\0'; /* it has not joined yet */
    now.head = STR("h2");
    assert_false(worker_past_is_outdated(&past, &now));
}

static void a_kept_ray_is_started_later(void **state)
{
    (void)state;
    struct worker_past past = made("a", "a", "h1");
    struct worker_present now = {.head = STR("h1"), .is_in_ray = true, .keeps_ray = true};
    assert_false(worker_past_is_outdated(&past, &now)); /* started before, and nothing is new */
    past.kept_ray = true;
    assert_false(worker_past_is_outdated(&past, &now));
    now.keeps_ray = false;
    assert_true(worker_past_is_outdated(&past, &now));
}

/* Killed in between: whoever comes after goes on with it, under the name that it has. */
static void what_was_begun_is_gone_on_with(void **state)
{
    (void)state;
    struct worker_present now = {.head = STR("h1"), .is_in_ray = true};
    struct worker_past past = made("a", "b", "h1");
    char run[NODE_RUN_SIZE];
    worker_past_name(&past, STR("i-1"), 2000, STR("h1"));
    worker_past_begin(&past);
    assert_true(worker_past_is_outdated(&past, &now));
    snprintf(run, sizeof(run), "%s", past.next_run);
    worker_past_name(&past, STR("i-1"), 2000, STR("h2"));
    assert_string_equal(past.next_run, run);
    worker_past_end(&past, true);
    assert_false(worker_past_is_outdated(&past, &now));
    /* What failed is not asked about again, but tried. */
    worker_past_begin(&past);
    worker_past_end(&past, false);
    assert_true(worker_past_is_outdated(&past, &now));
    worker_past_name(&past, STR("i-1"), 3000, STR("h1"));
    assert_string_not_equal(past.next_run, run);
}

/* The same name: the node goes on with what it does. Another: it does what is sent. */
static void names(void **state)
{
    (void)state;
    struct worker_past first = made("", "a", "");
    struct worker_past again = made("", "a", "");
    worker_past_name(&first, STR("i-1"), 1000, STR("h1"));
    worker_past_name(&again, STR("i-1"), 2000, STR(""));
    assert_string_equal(first.next_run, again.next_run);
    assert_int_equal(str_from(first.next_run).len, NODE_RUN_SIZE - 1);
    struct worker_past update = made("a", "b", "h1");
    struct worker_past later = update;
    struct worker_past anew = update;
    worker_past_name(&update, STR("i-1"), 2000, STR("h1"));
    worker_past_name(&later, STR("i-1"), 3000, STR("h1"));
    worker_past_name(&anew, STR("i-1"), 2000, STR("h2"));
    assert_string_not_equal(update.next_run, first.next_run);
    assert_string_not_equal(update.next_run, later.next_run);
    assert_string_not_equal(update.next_run, anew.next_run);
    worker_past_name(&anew, STR("i-1"), 2000, STR("h1"));
    assert_string_equal(update.next_run, anew.next_run);
}

static void all_of_them(void **state)
{
    (void)state;
    struct worker_pasts pasts = {0};
    for (uint64_t i = 2; i < 102; i++) {
        assert_null(worker_pasts_find(&pasts, i));
        assert_int_equal(worker_pasts_add(&pasts, i, 7)->instance, i);
    }
    assert_int_equal(worker_pasts_find(&pasts, 60)->instance, 60);
    assert_int_equal(worker_pasts_add(&pasts, 60, 8)->launch, 8);
    assert_int_equal(worker_pasts_find(&pasts, 60)->launch, 8);
    assert_int_equal(pasts.count, 100);
    worker_pasts_clear(&pasts);
    assert_null(worker_pasts_find(&pasts, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_written_and_read),
        cmocka_unit_test(what_is_wanted_decides),
        cmocka_unit_test(so_does_the_heads_ray),
        cmocka_unit_test(a_kept_ray_is_started_later),
        cmocka_unit_test(what_was_begun_is_gone_on_with),
        cmocka_unit_test(names),
        cmocka_unit_test(all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
