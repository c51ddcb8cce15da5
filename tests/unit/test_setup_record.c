/* test_setup_record.c: when a running worker is set up again. */
#include "app/head/workers/setup_record.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct setup_record made(const char *key, const char *wanted, const char *head)
{
    struct setup_record past = {.instance = 2, .launch = 7, .is_done = key[0] != '\0'};
    snprintf(past.key, sizeof(past.key), "%s", key);
    snprintf(past.wanted, sizeof(past.wanted), "%s", wanted);
    snprintf(past.head, sizeof(past.head), "%s", head);
    return past;
}

static bool is_again(const struct setup_record *past, const struct setup_target *now)
{
    return setup_record_again(past, now) != WORKER_IS_FINE;
}

/* One setup from start to end, with Ray's id of the head at both times. */
static void set_up(struct setup_record *past, int64_t serial, const char *begin, const char *end,
                   int64_t now_ms)
{
    setup_record_name(past, STR("i-1"), serial, str_from(begin));
    setup_record_begin(past, str_from(begin));
    setup_record_end(past, true, str_from(end), now_ms);
}

/* Only after the first setup is it certain what ran on the machine. */
static void the_first_setup_is_known(void **state)
{
    struct setup_record past = made("", "key", "");
    (void)state;
    set_up(&past, 1, "", "", 0);
    assert_true(past.is_first);
    set_up(&past, 2, "", "", 0);
    assert_false(past.is_first);
    struct setup_record resumed = made("key", "key", ""); /* by the next process */
    set_up(&resumed, 1, "", "", 0);
    assert_false(resumed.is_first);
}

static void it_is_written_and_read(void **state)
{
    (void)state;
    struct arena arena;
    struct setup_record past = made("key", "", "head");
    struct setup_record back = {.instance = 3, .launch = 7};
    struct setup_record restarted = {.instance = 3, .launch = 8};
    arena_init(&arena);
    past.kept_ray = true;
    snprintf(past.run, sizeof(past.run), "run");
    snprintf(past.target, sizeof(past.target), "target");
    setup_record_read(setup_record_text(&past, &arena), &back);
    assert_string_equal(back.key, "key");
    assert_string_equal(back.run, "run");
    assert_string_equal(back.head, "head");
    assert_string_equal(back.target, "target");
    assert_true(back.kept_ray);
    assert_true(back.is_done);
    assert_int_equal(back.instance, 3);
    setup_record_read(setup_record_text(&past, &arena), &restarted);
    assert_string_equal(restarted.key, "");
    past.head[0] = '\0';
    setup_record_read(setup_record_text(&past, &arena), &back);
    assert_string_equal(back.head, "");
    assert_string_equal(back.target, "target");
    setup_record_read(STR("7 key run started done head"), &back); /* of an older version */
    assert_string_equal(back.head, "head");
    assert_string_equal(back.target, "");
    struct setup_record none = {.launch = 7};
    setup_record_read(STR(""), &none);
    setup_record_read(
        STR("7 0123456789012345678901234567890123456789012345678901234567890123456789"), &none);
    setup_record_read(STR("7 key 012345678901234567890123456789012345"), &none);
    assert_string_equal(none.key, "");
    arena_clear(&arena);
}

static void what_is_wanted_decides(void **state)
{
    (void)state;
    struct setup_target now = {.head = STR("h1"), .is_in_ray = true};
    struct setup_record past = made("a", "a", "h1");
    assert_false(is_again(&past, &now));
    past = made("a", "b", "h1");
    assert_true(is_again(&past, &now));
    past = made("", "b", ""); /* not set up yet: the core requests that */
    assert_false(is_again(&past, &now));
    past = made("a", "", "h1"); /* not known yet */
    assert_false(is_again(&past, &now));
}

static void so_does_the_heads_ray(void **state)
{
    (void)state;
    struct setup_record past = made("a", "a", "h1");
    struct setup_target now = {.head = STR("h2")};
    assert_true(is_again(&past, &now));
    now.is_in_ray = true; /* it has found the new one */
    assert_false(is_again(&past, &now));
    now = (struct setup_target){.head = STR("h1")}; /* only unreachable */
    assert_false(is_again(&past, &now));
    now.head = STR("");
    assert_false(is_again(&past, &now));
}

/* The GCS kept its tables on disk: the new Ray lists the worker, whether its raylet is alive or
 * not. */
static void one_of_the_kept_tables_may_be_dead(void **state)
{
    (void)state;
    enum { WITHIN_MS = 119 * 1000, LATER_MS = 120 * 1000 };
    struct setup_record past = made("", "a", "");
    struct setup_target now = {.head = STR("h2"), .is_in_ray = true};
    set_up(&past, 0, "h1", "h1", 5000);
    setup_record_join(&past, STR("h1"), 6000);
    assert_false(setup_record_die(&past, 6001)); /* it joined this Ray by itself */
    setup_record_join(&past, STR("h2"), 7000);
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    now.is_in_ray = false;
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE); /* Ray handles it */
    assert_true(setup_record_die(&past, 7000 + WITHIN_MS));
    assert_int_equal(setup_record_again(&past, &now), WORKER_HAS_NEW_HEAD);
    assert_false(setup_record_die(&past, 7000 + WITHIN_MS)); /* once */
    setup_record_join(&past, STR("h2"), 7000);
    assert_false(setup_record_die(&past, 7000 + LATER_MS)); /* it has answered in between */
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    setup_record_join(&past, STR("h2"), 7000);
    set_up(&past, 1, "h2", "h2", 8000);
    setup_record_join(&past, STR("h2"), 9000); /* started again, for this Ray */
    assert_false(setup_record_die(&past, 9001));
}

/* It ran its start commands for the old Ray, and was never in it: it would wait forever. */
static void a_ray_that_nobody_saw_it_in_was_replaced(void **state)
{
    (void)state;
    struct setup_target now = {.head = STR("h2")};
    const struct {
        const char *begin, *end;
    } cases[] = {{"h1", "h1"}, {"", "h1"}, {"h1", ""}, {"h1", "h2"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setup_record past = made("", "a", "");
        set_up(&past, 0, cases[i].begin, cases[i].end, 5000);
        assert_int_equal(setup_record_again(&past, &now), WORKER_HAS_NEW_HEAD);
        now.is_in_ray = true;
        assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
        now.is_in_ray = false;
        set_up(&past, 0, "h2", "h2", 6000); /* once is enough */
        assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    }
}

static void a_failure_for_a_replaced_ray_is_outdated(void **state)
{
    (void)state;
    struct setup_record past = made("a", "a", "");
    snprintf(past.target, sizeof(past.target), "h1");
    assert_true(setup_record_is_outdated(&past, STR("h2")));
    assert_false(setup_record_is_outdated(&past, STR("h1")));
    assert_false(setup_record_is_outdated(&past, STR(""))); /* not known yet */
    past.kept_ray = true;                                   /* it started nothing */
    assert_false(setup_record_is_outdated(&past, STR("h2")));
    past = made("a", "a", "h1"); /* the Ray for which it ran its start commands is not known */
    assert_false(setup_record_is_outdated(&past, STR("h2")));
}

/* The service was killed and restarted after Ray was replaced. */
static void a_request_of_the_same_name_ran_for_the_old_ray(void **state)
{
    (void)state;
    struct arena arena;
    struct setup_record past = made("", "a", "");
    struct setup_record after = made("", "a", "");
    struct setup_target now = {.head = STR("h2")};
    arena_init(&arena);
    set_up(&past, 0, "h1", "h1", 5000);
    setup_record_read(setup_record_text(&past, &arena), &after);
    memcpy(after.next_run, after.run, sizeof(after.run)); /* its node reports that it is done */
    setup_record_begin(&after, STR("h2"));
    setup_record_end(&after, true, STR("h2"), 7000);
    assert_int_equal(setup_record_again(&after, &now), WORKER_HAS_NEW_HEAD);
    arena_clear(&arena);
}

/* Its commands ended before the service saw any Ray on the head. */
static void the_first_ray_that_is_seen_is_the_one_it_started_for(void **state)
{
    (void)state;
    struct setup_record past = made("", "a", "");
    struct setup_target now = {.head = STR("h2"), .now_ms = 90000};
    set_up(&past, 0, "", "", 5000);
    assert_false(setup_record_see(&past, STR(""), 6000));
    assert_true(setup_record_see(&past, STR("h1"), 70000));
    assert_false(setup_record_see(&past, STR("h2"), 80000));
    assert_string_equal(past.target, "h1");
    assert_int_equal(setup_record_again(&past, &now), WORKER_HAS_NEW_HEAD);
    now.head = STR("h1"); /* no worker could join before Ray ran */
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    now.now_ms = 100000;
    assert_int_equal(setup_record_again(&past, &now), WORKER_HAS_NOT_JOINED);
}

static void one_that_does_not_join_starts_again(void **state)
{
    (void)state;
    enum { FIRST_MS = 30 * 1000 };
    struct setup_record past = made("", "a", "");
    struct setup_target now = {.head = STR("h1"), .now_ms = 5000 + FIRST_MS - 1};
    char run[NODE_RUN_SIZE];
    set_up(&past, 1, "h1", "h1", 5000);
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    assert_int_equal(setup_record_rejoin_at(&past), 5000 + FIRST_MS);
    now.now_ms++;
    assert_int_equal(setup_record_again(&past, &now), WORKER_HAS_NOT_JOINED);
    now.head = STR(""); /* Ray does not answer: nothing is known */
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    now.head = STR("h1");
    /* A new name, so that its node runs it again; the next wait is longer; then it stops. */
    memcpy(run, past.run, sizeof(run));
    past.rejoins++;
    set_up(&past, 1, "h1", "h1", 5000);
    assert_string_not_equal(past.run, run);
    memcpy(run, past.run, sizeof(run));
    assert_int_equal(setup_record_rejoin_at(&past), 5000 + 2 * FIRST_MS);
    past.rejoins++;
    set_up(&past, 1, "h1", "h1", 5000);
    assert_string_not_equal(past.run, run);
    past.rejoins++;
    set_up(&past, 1, "h1", "h1", 5000);
    assert_int_equal(setup_record_rejoin_at(&past), 0);
    /* If it was in this Ray once, a later loss is Ray's to handle. */
    past.rejoins = 0;
    setup_record_join(&past, STR("h1"), 1);
    now.now_ms = 5000 + 10 * FIRST_MS;
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
    /* And with --no-restart nothing is started. */
    past = made("a", "a", "");
    past.done_ms = 5000;
    past.kept_ray = now.keeps_ray = true;
    assert_int_equal(setup_record_again(&past, &now), WORKER_IS_FINE);
}

static void every_reason_has_words(void **state)
{
    (void)state;
    for (int i = 0; i < WORKER_AGAIN_COUNT; i++) {
        assert_true(str_from(worker_again_text((enum worker_again)i)).len > 0);
    }
}

static void a_kept_ray_is_started_later(void **state)
{
    (void)state;
    struct setup_record past = made("a", "a", "h1");
    struct setup_target now = {.head = STR("h1"), .is_in_ray = true, .keeps_ray = true};
    assert_false(is_again(&past, &now)); /* started before, and nothing is new */
    past.kept_ray = true;
    assert_false(is_again(&past, &now));
    now.keeps_ray = false;
    assert_true(is_again(&past, &now));
}

/* Killed in between: the next process continues it under the same name. */
static void what_was_begun_is_gone_on_with(void **state)
{
    (void)state;
    struct setup_target now = {.head = STR("h1"), .is_in_ray = true};
    struct setup_record past = made("a", "b", "h1");
    char run[NODE_RUN_SIZE];
    setup_record_name(&past, STR("i-1"), 2000, STR("h1"));
    setup_record_begin(&past, STR("h1"));
    assert_true(is_again(&past, &now));
    snprintf(run, sizeof(run), "%s", past.next_run);
    setup_record_name(&past, STR("i-1"), 2000, STR("h2"));
    assert_string_equal(past.next_run, run);
    setup_record_end(&past, true, STR("h1"), 5000);
    assert_false(is_again(&past, &now));
    /* A failed setup is not queried again, but repeated. */
    setup_record_begin(&past, STR("h1"));
    setup_record_end(&past, false, STR("h1"), 5000);
    assert_true(is_again(&past, &now));
    setup_record_name(&past, STR("i-1"), 3000, STR("h1"));
    assert_string_not_equal(past.next_run, run);
}

/* The same name: the node continues its work. Another name: it runs what is sent. */
static void names(void **state)
{
    (void)state;
    struct setup_record first = made("", "a", "");
    struct setup_record again = made("", "a", "");
    setup_record_name(&first, STR("i-1"), 1000, STR("h1"));
    setup_record_name(&again, STR("i-1"), 2000, STR(""));
    assert_string_equal(first.next_run, again.next_run);
    assert_int_equal(str_from(first.next_run).len, NODE_RUN_SIZE - 1);
    struct setup_record update = made("a", "b", "h1");
    struct setup_record later = update;
    struct setup_record changed = update;
    setup_record_name(&update, STR("i-1"), 2000, STR("h1"));
    setup_record_name(&later, STR("i-1"), 3000, STR("h1"));
    setup_record_name(&changed, STR("i-1"), 2000, STR("h2"));
    assert_string_not_equal(update.next_run, first.next_run);
    assert_string_not_equal(update.next_run, later.next_run);
    assert_string_not_equal(update.next_run, changed.next_run);
    setup_record_name(&changed, STR("i-1"), 2000, STR("h1"));
    assert_string_equal(update.next_run, changed.next_run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_setup_is_known),
        cmocka_unit_test(it_is_written_and_read),
        cmocka_unit_test(what_is_wanted_decides),
        cmocka_unit_test(so_does_the_heads_ray),
        cmocka_unit_test(one_of_the_kept_tables_may_be_dead),
        cmocka_unit_test(a_ray_that_nobody_saw_it_in_was_replaced),
        cmocka_unit_test(a_failure_for_a_replaced_ray_is_outdated),
        cmocka_unit_test(a_request_of_the_same_name_ran_for_the_old_ray),
        cmocka_unit_test(the_first_ray_that_is_seen_is_the_one_it_started_for),
        cmocka_unit_test(one_that_does_not_join_starts_again),
        cmocka_unit_test(every_reason_has_words),
        cmocka_unit_test(a_kept_ray_is_started_later),
        cmocka_unit_test(what_was_begun_is_gone_on_with),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
