/* test_handover.c: what the head takes in is what the laptop knew, once. */
#include "app/head/handover.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

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
    .anchor = {"lt-1", 4},
    .reign = 2,
    .serial = 1000,
    .config = {"{}", 2},
    .secret = {"aa", 2},
    .head_id = {"i-0f2", 5},
    .contents_hash = {"c0ffee", 6},
    .restarts_ray = true,
    .type_zones = {"cpu\ta b\n", 8},
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
    assert_true(str_is(back.anchor, "lt-1"));
    assert_int_equal(back.reign, 2);
    assert_true(back.restarts_ray);
    assert_true(str_eq(back.contents_hash, full.contents_hash));
    assert_true(str_eq(back.type_zones, full.type_zones));
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

static void it_is_taken_once(void **state)
{
    (void)state;
    char folder[] = "/tmp/shoal-handover-XXXXXX";
    char command[64];
    struct arena arena;
    struct err err;
    struct journal *journal;
    struct handover later = full;
    struct handover back = {0};
    bool is_new;
    uint64_t number;
    arena_init(&arena);
    assert_non_null(mkdtemp(folder));
    assert_true(journal_open(folder, "test", &journal, &err));
    assert_true(handover_take(journal, &full, &is_new, &err) && is_new);
    assert_true(handover_take(journal, &full, &is_new, &err) && !is_new);
    later.serial++;
    assert_true(handover_take(journal, &later, &is_new, &err) && is_new);
    assert_true(handover_gather(journal, &arena, &back, &err));
    assert_int_equal(back.machine_count, 2);
    assert_int_equal(back.intent_count, 2);
    assert_int_equal(back.launched_count, 1);
    assert_int_equal(back.launched[0].wall_ms, 12345);
    assert_true(back.intents[1].is_settled);
    assert_true(journal_begin(journal, &err));
    assert_true(journal_number(journal, STR("i-0c1"), &number, &err));
    assert_int_equal(number, 3);
    assert_false(journal_adopt(journal, 3, STR("i-other"), &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    /* A head that was stopped has numbers of its own from before; with the lease come others. */
    const struct handover_machine others[] = {{1, STR("head")}, {2, STR("i-0c1")}};
    assert_true(journal_commit(journal, &err));
    later.serial++;
    later.machines = others;
    assert_true(handover_take(journal, &later, &is_new, &err) && is_new);
    assert_true(journal_begin(journal, &err));
    assert_true(journal_number(journal, STR("i-0c1"), &number, &err));
    assert_int_equal(number, 2);
    journal_close(journal);
    arena_clear(&arena);
    const char *const names[] = {"journal.db", "journal.db-wal", "journal.db-shm", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(command, sizeof(command), "%s/%s", folder, names[i]);
        remove(command);
    }
    remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_travels),
        cmocka_unit_test(it_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
