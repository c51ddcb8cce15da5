/* test_handover.c: the head takes over what the laptop knew, once. */
#include "app/handover/handover.h"

#include "io/file.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct handover_machine machines[] = {{1, {"head", 4}}, {2, {"i-0b7", 5}}};
static const struct step_variable variables[] = {
    {{"AWS_ENDPOINT_URL", 16}, {"http://198.18.0.1:4566", 22}}};
static const struct journal_intent intents[] = {
    {.launch = (uint64_t)3 << 32, .count = 1, .token = {"t1", 2}, .call = {"a\0b", 3}},
    {.launch = ((uint64_t)3 << 32) + 1,
     .offering = 2,
     .count = 2,
     .token = {"t2", 2},
     .is_settled = true,
     .outcome = OUTCOME_CAPACITY},
};

static const struct journal_launched launched[] = {{((uint64_t)3 << 32) + 1, 2, 12345}};

static const struct handover full = {
    .uid = {"0123456789abcdef", 16},
    .epoch = 3,
    .lease_object = {"lt-1", 4},
    .sole_writer_epoch = 2,
    .sole_writer_since = 777,
    .serial = 1000,
    .config = {"{}", 2},
    .secret = {"aa", 2},
    .public_key = {"ssh-ed25519 AAAA", 16},
    .head_id = {"i-0f2", 5},
    .contents_hash = {"c0ffee", 6},
    .restarts_ray = true,
    .type_zones = {"cpu\ta b\n", 8},
    .type_images = {"cpu\tami-1\n", 10},
    .environment = variables,
    .environment_count = 1,
    .machines = machines,
    .machine_count = 2,
    .intents = intents,
    .intent_count = 2,
    .launched = launched,
    .launched_count = 1,
};

static void it_travels(void **state)
{
    (void)state;
    struct arena arena;
    struct err err;
    struct handover back;
    AUTO_BUF struct buf text;
    arena_init(&arena);
    buf_init(&text, HANDOVER_BYTES_MAX);
    handover_write(&full, &text);
    assert_true(handover_read(buf_str(&text), &arena, &back, &err));
    assert_int_equal(back.epoch, 3);
    assert_true(str_is(back.lease_object, "lt-1"));
    assert_int_equal(back.sole_writer_epoch, 2);
    assert_true(back.restarts_ray);
    assert_true(str_eq(back.contents_hash, full.contents_hash));
    assert_true(str_eq(back.public_key, full.public_key));
    assert_true(str_eq(back.type_zones, full.type_zones));
    assert_true(str_eq(back.type_images, full.type_images));
    assert_true(str_eq(back.machines[1].id, machines[1].id));
    assert_true(str_eq(back.intents[0].call, intents[0].call));
    assert_false(back.intents[0].is_settled);
    assert_true(back.intents[1].is_settled);
    assert_int_equal(back.intents[1].outcome, OUTCOME_CAPACITY);
    assert_true(str_eq(back.environment[0].value, variables[0].value));
    assert_false(handover_read(STR("{\"format\":2}"), &arena, &back, &err));
    assert_non_null(strstr(err.text, "newer"));
    assert_false(handover_read(STR("{\"format\":1}"), &arena, &back, &err));
    arena_clear(&arena);
}

/* ---- the journal ---- */

struct scene {
    char folder[40];
    struct arena arena;
    struct journal *journal;
    struct err err;
};

static int open_journal(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/shoal-handover-XXXXXX");
    arena_init(&scene->arena);
    assert_non_null(mkdtemp(scene->folder));
    assert_true(journal_open(scene->folder, "test", &scene->journal, &scene->err));
    *state = scene;
    return 0;
}

static int remove_journal(void **state)
{
    struct scene *scene = *state;
    const char *const names[] = {"journal.db", "journal.db-wal", "journal.db-shm", "lock"};
    char path[80];
    journal_close(scene->journal);
    handover_remove_copies(scene->folder, 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", scene->folder, names[i]);
        remove(path);
    }
    assert_int_equal(remove(scene->folder), 0);
    arena_clear(&scene->arena);
    free(scene);
    return 0;
}

static enum handover_order order_of(struct scene *scene, const struct handover *handover)
{
    enum handover_order order;
    assert_true(handover_compare(scene->journal, handover, &order, &scene->err));
    return order;
}

static uint64_t number_of(struct scene *scene, const char *name)
{
    uint64_t number;
    assert_true(journal_get_number(scene->journal, name, &number, &scene->err));
    return number;
}

static void it_is_taken_once(void **state)
{
    struct scene *scene = *state;
    struct handover later = full;
    struct handover back = {0};
    assert_int_equal(order_of(scene, &full), HANDOVER_NEWER);
    assert_true(handover_take(scene->journal, &full, &scene->err));
    assert_int_equal(order_of(scene, &full), HANDOVER_SAME);
    later.serial++;
    assert_int_equal(order_of(scene, &later), HANDOVER_NEWER);
    assert_true(handover_take(scene->journal, &later, &scene->err));
    assert_int_equal(order_of(scene, &full), HANDOVER_OLDER);
    assert_true(handover_gather(scene->journal, &scene->arena, &back, &scene->err));
    assert_int_equal(back.sole_writer_epoch, 2);
    assert_int_equal(back.sole_writer_since, 777); /* no wait of an earlier controller is lost */
    assert_int_equal(back.machine_count, 2);
    assert_int_equal(back.intent_count, 2);
    assert_int_equal(back.launched_count, 1);
    assert_int_equal(back.launched[0].wall_ms, 12345);
    assert_true(back.intents[1].is_settled);
}

/* A head that was stopped has its own old numbers; others come with the lease. */
static void its_numbers_replace_those_of_before(void **state)
{
    struct scene *scene = *state;
    const struct handover_machine others[] = {{1, STR("head")}, {2, STR("i-0c1")}};
    struct handover later = full;
    uint64_t number;
    assert_true(handover_take(scene->journal, &full, &scene->err));
    assert_true(journal_begin(scene->journal, &scene->err));
    assert_true(journal_number(scene->journal, STR("i-0c1"), &number, &scene->err));
    assert_int_equal(number, 3);
    assert_false(journal_adopt(scene->journal, 3, STR("i-other"), &scene->err));
    assert_int_equal(scene->err.kind, ERR_EXISTS);
    assert_true(journal_commit(scene->journal, &scene->err));
    later.serial++;
    later.machines = others;
    assert_true(handover_take(scene->journal, &later, &scene->err));
    assert_true(journal_begin(scene->journal, &scene->err));
    assert_true(journal_number(scene->journal, STR("i-0c1"), &number, &scene->err));
    assert_int_equal(number, 2);
}

/* The service has held the lease since: its records are newer than those of a laptop. */
static void an_old_laptops_records_are_left_out(void **state)
{
    struct scene *scene = *state;
    const struct handover_machine others[] = {{1, STR("head")}, {2, STR("i-0dead")}};
    struct handover later = full;
    struct handover back = {0};
    assert_true(handover_take(scene->journal, &full, &scene->err));
    assert_true(journal_begin(scene->journal, &scene->err));
    assert_true(journal_set_number(scene->journal, "epoch", 5, &scene->err));
    assert_true(journal_set(scene->journal, SERVICE_GOAL, STR("end"), &scene->err));
    assert_true(journal_commit(scene->journal, &scene->err));
    later.serial++;
    later.epoch = 4;
    later.sole_writer_epoch = 4;
    later.machines = others;
    later.intent_count = later.launched_count = 0;
    assert_true(handover_take(scene->journal, &later, &scene->err));
    assert_true(handover_gather(scene->journal, &scene->arena, &back, &scene->err));
    assert_int_equal(back.machine_count, 2);
    assert_true(str_is(back.machines[1].id, "i-0b7"));
    assert_int_equal(back.intent_count, 2);
    assert_int_equal(back.launched_count, 1);
    assert_int_equal(number_of(scene, "epoch"), 5);
    assert_int_equal(number_of(scene, "sole_writer_epoch"), 2);
    assert_int_equal(number_of(scene, "handover"), 1001);
    struct str goal;
    assert_true(journal_get(scene->journal, SERVICE_GOAL, &scene->arena, &goal, &scene->err));
    assert_int_equal(goal.len, 0); /* the cluster should run again */
}

/* ---- order ---- */

static void serials_only_grow(void **state)
{
    (void)state;
    assert_int_equal(handover_next_serial(1000, 0, 0), 1000);
    assert_int_equal(handover_next_serial(1000, 999, 0), 1000);
    assert_int_equal(handover_next_serial(1000, 1000, 0), 1001);
    assert_int_equal(handover_next_serial(1000, 5000, 0), 5001); /* a clock that is behind */
    assert_int_equal(handover_next_serial(1000, 0, 7000), 7001);
    assert_int_equal(handover_next_serial(1000, 9000, 7000), 9001);
}

static void an_older_one_is_refused_in_words(void **state)
{
    struct scene *scene = *state;
    struct handover older = full;
    assert_true(handover_take(scene->journal, &full, &scene->err));
    older.serial--;
    assert_false(handover_refuse(scene->journal, &older, &scene->err));
    assert_non_null(strstr(scene->err.text, "nothing was applied"));
    assert_non_null(strstr(scene->err.text, "1970-01-01 00:00:01 UTC"));
    assert_non_null(strstr(scene->err.text, "run `shoal up` again"));
}

static void copies_are_named_after_their_serial(void **state)
{
    struct scene *scene = *state;
    const int64_t serials[] = {7, 1790000000000, 12};
    assert_int_equal(handover_known(scene->folder), 0);
    for (size_t i = 0; i < ARRAY_LEN(serials); i++) {
        const char *path = handover_copy_path(scene->folder, serials[i], &scene->arena);
        assert_true(file_write(path, STR("x"), 0600, &scene->err));
    }
    assert_int_equal(handover_known(scene->folder), 1790000000000);
    handover_remove_copies(scene->folder, 12);
    assert_int_equal(handover_known(scene->folder), 12);
    const char *path = arena_printf(&scene->arena, "%s/handover.12x.json", scene->folder).ptr;
    assert_true(file_write(path, STR("x"), 0600, &scene->err));
    assert_int_equal(handover_known(scene->folder), 12);
    remove(path);
}

/* A head of a version that made no copies. */
static void what_was_sent_is_known_without_a_copy(void **state)
{
    struct scene *scene = *state;
    AUTO_BUF struct buf text;
    buf_init(&text, HANDOVER_BYTES_MAX);
    handover_write(&full, &text);
    const char *path = arena_printf(&scene->arena, "%s/handover.json", scene->folder).ptr;
    assert_true(file_write(path, buf_str(&text), 0600, &scene->err));
    assert_int_equal(handover_known(scene->folder), 1000);
    assert_true(file_write(path, STR("{}"), 0600, &scene->err));
    assert_int_equal(handover_known(scene->folder), 0);
    remove(path);
}

#define JOURNAL_TEST(name) cmocka_unit_test_setup_teardown(name, open_journal, remove_journal)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_travels),
        JOURNAL_TEST(it_is_taken_once),
        JOURNAL_TEST(its_numbers_replace_those_of_before),
        JOURNAL_TEST(an_old_laptops_records_are_left_out),
        cmocka_unit_test(serials_only_grow),
        JOURNAL_TEST(an_older_one_is_refused_in_words),
        JOURNAL_TEST(copies_are_named_after_their_serial),
        JOURNAL_TEST(what_was_sent_is_known_without_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
