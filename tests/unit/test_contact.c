/* test_contact.c: how long an instance waits for contact. What the script does with it is tested
 * in tests/remote/test_contact.py. */
#include "app/contact.h"

#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

static int64_t timeout_of(struct fixture *f, const char *yaml)
{
    return contact_timeout_ms(fixture_read_c(f, yaml));
}

static void fifteen_minutes_unless_the_file_says_otherwise(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_int_equal(contact_timeout_ms(NULL), 15 * 60 * 1000);
    assert_int_equal(timeout_of(f, "{}"), 15 * 60 * 1000);
    assert_int_equal(timeout_of(f, "contact_timeout_minutes: 30"), 30 * 60 * 1000);
    assert_int_equal(timeout_of(f, "contact_timeout_minutes: 0.5"), 30 * 1000);
    assert_int_equal(timeout_of(f, "contact_timeout_minutes: 0"), 0);
    assert_true(timeout_of(f, "contact_timeout_minutes: 1e300") > 0);
}

static void checks_never_make_it_shorter(void **state)
{
    (void)state;
    assert_int_equal(contact_checks(15 * 60 * 1000), 60);
    assert_int_equal(contact_checks(15000), 1);
    assert_int_equal(contact_checks(15001), 2);
    assert_int_equal(contact_checks(1), 1);
}

static void messages_come_several_times_before_the_end(void **state)
{
    (void)state;
    assert_int_equal(contact_every_ms(15 * 60 * 1000), 225 * 1000);
    assert_int_equal(contact_every_ms(60 * 60 * 1000), 5 * 60 * 1000);
    assert_int_equal(contact_every_ms(30 * 1000), 15 * 1000);
}

static void the_script_has_its_role_and_limit(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_int_equal(contact_hook(0, false, &arena).len, 0);
    struct str worker = contact_hook(60000, false, &arena);
    assert_true(str_starts(worker, "#!/bin/sh\nrole=worker\nlimit=4\nevery=15\n"));
    assert_true(str_starts(contact_hook(60000, true, &arena), "#!/bin/sh\nrole=head\nlimit=4\n"));
    assert_true(worker.len < 3000); /* user-data has a small size limit */
    assert_true(str_find(worker, "end_instance()") == SIZE_MAX);
    struct str gce = contact_gce_hook(60000, false, &arena);
    assert_true(str_starts(gce, "#!/bin/sh\nrole=worker\nlimit=4\nend_instance() {\n"));
    assert_true(str_ends(gce, str_sub(worker, str_find(worker, "every="), worker.len).ptr));
    struct str head = contact_gce_hook(60000, true, &arena); /* keeps its disk */
    assert_true(str_eq(head, contact_hook(60000, true, &arena)));
    assert_true(str_find(worker, "told=$r" CONTACT_FILE "\n") != SIZE_MAX);
    assert_true(str_find(worker, "grep -q " CONTACT_KEEP " ") != SIZE_MAX);
    arena_clear(&arena);
}

static void a_message_that_is_not_written_is_an_error(void **state)
{
    char path[] = "/tmp/shoal-contact-XXXXXX", text[16] = "";
    struct err err;
    (void)state;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_true(contact_write(path, STR("keep\n"), &err));
    assert_int_equal(read(descriptor, text, sizeof(text)), 5);
    assert_string_equal(text, "keep\n");
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(contact_write(path, STR("keep\n"), &err)); /* it has no dead-man switch */
    assert_false(contact_write("/tmp", STR("keep\n"), &err));
    assert_string_equal(err.text, "/tmp cannot be written: Is a directory");
#if defined(__linux__)
    assert_false(contact_write("/dev/full", STR("keep\n"), &err));
    assert_string_equal(err.text, "/dev/full cannot be written: No space left on device");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifteen_minutes_unless_the_file_says_otherwise),
        cmocka_unit_test(checks_never_make_it_shorter),
        cmocka_unit_test(messages_come_several_times_before_the_end),
        cmocka_unit_test(the_script_has_its_role_and_limit),
        cmocka_unit_test(a_message_that_is_not_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
