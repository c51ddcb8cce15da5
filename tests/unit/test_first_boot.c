/* test_first_boot.c: our user-data, with every form of the user's own. How a mail parser and
 * cloud-init read it is tested in tests/diff and on the bed. */
#include "remote/first_boot.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define SECRET "0123456789abcdef0123456789abcdef"
#define OURS                                    \
    "#cloud-config\n"                           \
    "ssh_deletekeys: true\n"                    \
    "ssh_keys:\n"                               \
    "  ed25519_private: |\n"                    \
    "    -----BEGIN OPENSSH PRIVATE KEY-----\n" \
    "    *\n    *\n    *\n    *\n    *\n"       \
    "    -----END OPENSSH PRIVATE KEY-----\n"   \
    "  ed25519_public: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA*\n"

/* The login user's; none unless a test sets it. */
static struct str user, authorized;

static bool compose_with(struct str boot_hook, struct str user_data, struct buf *out,
                         struct err *err)
{
    struct ssh_key key;
    assert_true(ssh_key_of_launch(STR(SECRET), 1, &key, err));
    struct first_boot_setup setup = {&key, boot_hook, user_data, user, authorized};
    buf_init(out, 100000);
    return first_boot_compose(&setup, out, err);
}

static bool compose(struct str user_data, struct buf *out, struct err *err)
{
    return compose_with(STR(""), user_data, out, err);
}

static void forms_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        enum first_boot_form form;
    } cases[] = {{"", FIRST_BOOT_EMPTY},
                 {" \n\t", FIRST_BOOT_EMPTY},
                 {"#!/bin/sh", FIRST_BOOT_PART},
                 {"#cloud-config\n", FIRST_BOOT_PART},
                 {"#include\nhttp://h/", FIRST_BOOT_PART},
                 {"## template: jinja\n#cloud-config", FIRST_BOOT_PART},
                 {"MIME-Version: 1.0\n", FIRST_BOOT_MIME},
                 {"Content-Type: multipart/mixed; boundary=b\n", FIRST_BOOT_MIME},
                 {"content-type: text/x-shellscript\n", FIRST_BOOT_MIME},
                 {"Subject: hello\nmime-version: 1.0\n", FIRST_BOOT_MIME},
                 {"#!/bin/sh\ncat <<END\nMIME-Version: 1.0\n", FIRST_BOOT_PART},
                 {"\x1f\x8b\x08", FIRST_BOOT_GZIP},
                 {"echo hello", FIRST_BOOT_UNKNOWN},
                 {"\n #Cloud-Config", FIRST_BOOT_PART},
                 {"<powershell>", FIRST_BOOT_UNKNOWN},
                 {"Content-Type", FIRST_BOOT_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(first_boot_form_of(str_from(cases[i].text)), cases[i].form);
    }
}

static void without_user_data_it_is_a_cloud_config(void **state)
{
    struct err err;
    AUTO_BUF struct buf out;
    (void)state;
    assert_true(compose(STR(""), &out, &err));
    assert_like(buf_str(&out), OURS);
}

static void a_script_is_a_part_of_its_own(void **state)
{
    struct err err;
    AUTO_BUF struct buf out;
    (void)state;
    assert_true(compose(STR("#!/bin/sh\necho a"), &out, &err));
    assert_like(buf_str(&out), "Content-Type: multipart/mixed; boundary=\"shoal-*\"\n"
                               "MIME-Version: 1.0\n"
                               "\n"
                               "--shoal-*\n"
                               "Content-Type: text/x-shellscript\n"
                               "\n"
                               "#!/bin/sh\n"
                               "echo a\n"
                               "--shoal-*\n"
                               "Content-Type: text/cloud-config\n"
                               "\n" OURS "\n--shoal-*--\n");
}

static void a_boot_hook_is_a_part_of_its_own(void **state)
{
    struct err err;
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf both;
    (void)state;
    assert_true(compose_with(STR("#!/bin/sh\necho b\n"), STR(""), &out, &err));
    assert_like(buf_str(&out), "Content-Type: multipart/mixed; boundary=\"shoal-*\"\n"
                               "MIME-Version: 1.0\n"
                               "\n"
                               "--shoal-*\n"
                               "Content-Type: text/cloud-boothook\n"
                               "\n"
                               "#!/bin/sh\n"
                               "echo b\n"
                               "\n"
                               "--shoal-*\n"
                               "Content-Type: text/cloud-config\n"
                               "\n" OURS "\n--shoal-*--\n");
    /* The user's part comes first, then ours. */
    assert_true(compose_with(STR("#!/bin/sh\necho b\n"), STR("#!/bin/sh\necho a"), &both, &err));
    size_t theirs = str_find(buf_str(&both), "echo a");
    size_t hook = str_find(buf_str(&both), "echo b");
    size_t config = str_find(buf_str(&both), "#cloud-config");
    assert_true(theirs < hook && hook < config && config != SIZE_MAX);
}

static void a_message_stays_a_message(void **state)
{
    struct err err;
    AUTO_BUF struct buf out;
    (void)state;
    assert_true(compose(STR("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
                            "--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--b--\n"),
                        &out, &err));
    assert_true(str_find(buf_str(&out), "\nMIME-Version: 1.0\nContent-Type: multipart/mixed; "
                                        "boundary=b\n\n--b\n") != SIZE_MAX);
}

static void bytes_that_mail_would_change_are_encoded(void **state)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"#!/bin/sh\r\n", "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n"
                          "IyEvYmluL3NoDQo=\n"},
        {"#cloud-config\n# \xc3\xbc", "Content-Type: text/cloud-config\nContent-Transfer-Encoding: "
                                      "base64\n\nI2Nsb3VkLWNvbmZpZwojIMO8\n"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        AUTO_BUF struct buf out;
        assert_true(compose(str_from(cases[i].text), &out, &err));
        assert_true(str_find(buf_str(&out), cases[i].found) != SIZE_MAX);
    }
}

static void what_cloud_init_does_not_know_is_refused(void **state)
{
    struct err err = {0};
    AUTO_BUF struct buf out;
    (void)state;
    assert_false(compose(STR("[settings]\nmotd = \"hello\""), &out, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_int_equal(out.len, 0);
    assert_false(compose(STR("\x1f\x8b\x08"), &out, &err));
    assert_str(str_from(err.text), "UserData is compressed; use it uncompressed");
}

static void the_limit_of_ec2_holds(void **state)
{
    struct err err = {0};
    size_t largest = 0;
    char *text = malloc(FIRST_BOOT_BYTES_MAX + 1);
    (void)state;
    assert_non_null(text);
    memset(text, '#', FIRST_BOOT_BYTES_MAX + 1);
    text[1] = '!';
    for (size_t len = FIRST_BOOT_BYTES_MAX - 2000; len <= FIRST_BOOT_BYTES_MAX; len++) {
        AUTO_BUF struct buf out;
        if (compose((struct str){text, len}, &out, &err)) {
            assert_true(out.len <= FIRST_BOOT_BYTES_MAX);
            largest = len;
        }
    }
    free(text);
    assert_true(largest > FIRST_BOOT_BYTES_MAX - 1100); /* ours is about a kilobyte */
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_like(str_from(err.text), "UserData has 16384 bytes and Shoal adds *, but EC2 "
                                    "accepts only 16384 bytes in total; *");
}

#define LOGIN                                                       \
    "merge_how: dict(no_replace,recurse_list)+list(append)+str()\n" \
    "ssh_authorized_keys:\n"                                        \
    "  - ssh-ed25519 AAAAC3Nz+/=\n"

static void a_key_is_let_in(void **state)
{
    struct err err = {0};
    AUTO_BUF struct buf alone;
    AUTO_BUF struct buf with;
    AUTO_BUF struct buf unnamed;
    (void)state;
    user = STR("ec2-user");
    authorized = STR("ssh-ed25519 AAAAC3Nz+/= shoal-it's");
    assert_true(compose(STR(""), &alone, &err));
    assert_like(buf_str(&alone), OURS LOGIN
                "runcmd:\n"
                "  - - sh\n    - -c\n"
                "    - id -u \"$1\" > /dev/null 2>&1 && su \"$1\" -s /bin/sh -c \"$2\"; true\n"
                "    - sh\n    - 'ec2-user'\n"
                "    - cd && umask 077 && mkdir -p .ssh && { grep -qsF 'AAAAC3Nz+/=' "
                ".ssh/authorized_keys || echo 'ssh-ed25519 AAAAC3Nz+/=' >> .ssh/authorized_keys; "
                "}\n");
    assert_true(compose(STR("#cloud-config\nssh_authorized_keys: [theirs]\n"), &with, &err));
    size_t theirs = str_find(buf_str(&with), "[theirs]");
    size_t ours = str_find(buf_str(&with), "\nContent-Type: text/cloud-config\n\n"
                                           "#cloud-config\n" LOGIN "runcmd:\n");
    assert_true(theirs < ours && ours != SIZE_MAX); /* a part of its own: its lists are appended */
    user = STR("a; reboot");
    assert_true(compose(STR(""), &unnamed, &err));
    assert_like(buf_str(&unnamed), OURS LOGIN); /* ssh would not log in as such a user either */
    authorized = STR("ssh-ed25519 $(reboot)");
    AUTO_BUF struct buf none;
    assert_false(compose(STR(""), &none, &err));
    assert_int_equal(none.len, 0);
    user = authorized = STR("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_told_apart),
        cmocka_unit_test(without_user_data_it_is_a_cloud_config),
        cmocka_unit_test(a_key_is_let_in),
        cmocka_unit_test(a_script_is_a_part_of_its_own),
        cmocka_unit_test(a_boot_hook_is_a_part_of_its_own),
        cmocka_unit_test(a_message_stays_a_message),
        cmocka_unit_test(bytes_that_mail_would_change_are_encoded),
        cmocka_unit_test(what_cloud_init_does_not_know_is_refused),
        cmocka_unit_test(the_limit_of_ec2_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
