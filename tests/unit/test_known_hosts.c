/* test_known_hosts.c: lines that ssh reads as intended, and names that it would misread. */
#include "remote/known_hosts.h"

#include "unit.h"

static const uint8_t public[SSH_PUBLIC_BYTES] = {1, 2, 3};

static void a_line_per_machine(void **state)
{
    struct err err;
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 1000);
    assert_true(known_hosts_add(&out, STR("i-0123456789abcdef0"), public, &err));
    assert_true(known_hosts_add(&out, STR("node_2.example:7"), public, &err));
    assert_str(buf_str(&out),
               "i-0123456789abcdef0 ssh-ed25519 "
               "AAAAC3NzaC1lZDI1NTE5AAAAIAECAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
               "node_2.example:7 ssh-ed25519 "
               "AAAAC3NzaC1lZDI1NTE5AAAAIAECAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
}

static void a_name_that_means_more_is_refused(void **state)
{
    static const char *const names[] = {
        "",    "*",    "i-?",        "!i-1",     "i-1,i-2", "i-1 i-2",
        "|1|", "[a]:", "@revoked a", "#comment", "i-1\n*",  "\xc3\xbc"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct err err = {0};
        AUTO_BUF struct buf out;
        buf_init(&out, 1000);
        assert_false(known_hosts_add(&out, str_from(names[i]), public, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_per_machine),
        cmocka_unit_test(a_name_that_means_more_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
