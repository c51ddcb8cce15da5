/* test_rsync.c: the arguments of rsync, and ssh's error messages. */
#include "remote/rsync.h"
#include "remote/ssh_error.h"

#include "unit.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct ssh_target place;

static int open_place(void **state)
{
    place = (struct ssh_target){.user = STR("ubuntu"),
                                .address = STR("198.51.100.7"),
                                .machine = STR("i-0f2"),
                                .known_hosts = "/state/known_hosts"};
    return open_arena(state);
}

/* The arguments, each in brackets, without that of ssh. */
static struct str words_of(const struct rsync_copy *copy)
{
    const char *const *argv;
    struct err err = {0};
    struct str line = STR("");
    assert_true(rsync_argv(copy, &arena, &argv, &err));
    assert_string_equal(argv[0], "rsync");
    assert_string_equal(argv[1], "--rsh");
    assert_like(str_from(argv[2]), "'ssh' *'StrictHostKeyChecking=yes'*");
    for (size_t i = 3; argv[i]; i++) {
        line = arena_printf(&arena, "%.*s[%s]", STR_ARG(line), argv[i]);
    }
    return line;
}

static void into_a_container(void **state)
{
    (void)state;
    struct rsync_copy copy = {.place = &place,
                              .here = STR("/a"),
                              .there = STR("~/it's/b"),
                              .makes_parents = true,
                              .container_program = "docker",
                              .container = STR("my box")};
    assert_str(words_of(&copy),
               "[-avz][--no-owner][--no-group][--rsync-path][docker exec -i 'my box' sh -c 'cd && "
               "mkdir -p \"$0\" && exec rsync \"$@\"' 'it'\"'\"'s'][--][/a]"
               "[ubuntu@198.51.100.7:it's/b]");
    copy.there = STR("/data/b");
    copy.is_down = true;
    assert_str(words_of(&copy),
               "[-avz][--safe-links][--no-devices][--no-specials][--rsync-path][docker exec -i 'my "
               "box' sh -c 'cd && mkdir -p \"$0\" && exec rsync \"$@\"' .][--]"
               "[ubuntu@198.51.100.7:/data/b][/a]");
    copy.there = STR("~/");
    assert_like(words_of(&copy), "*[ubuntu@198.51.100.7:./][/a]");
}

static void test_as_ray_starts_it(void **state)
{
    (void)state;
    struct str excludes[] = {STR("**/.git"), STR("*.o")};
    struct str filters[] = {STR(".gitignore")};
    struct rsync_copy copy = {.place = &place,
                              .here = STR("/home/me/code/"),
                              .there = STR("/home/ubuntu/code/"),
                              .excludes = excludes,
                              .exclude_count = 2,
                              .filters = filters,
                              .filter_count = 1};
    assert_str(words_of(&copy),
               "[-avz][--exclude][**/.git][--exclude][*.o][--filter][dir-merge,- .gitignore][--]"
               "[/home/me/code/][ubuntu@198.51.100.7:/home/ubuntu/code/]");
    copy = (struct rsync_copy){
        .place = &place, .here = STR("/tmp/x"), .there = STR("~/x"), .is_down = true};
    assert_str(words_of(&copy), "[-avz][--safe-links][--no-devices][--no-specials][--]"
                                "[ubuntu@198.51.100.7:~/x][/tmp/x]");
}

static void test_folders_above(void **state)
{
    (void)state;
    struct rsync_copy copy = {
        .place = &place, .here = STR("/a"), .there = STR("~/it's a/b/c"), .makes_parents = true};
    assert_like(words_of(&copy),
                "[-avz][--rsync-path][mkdir -p ~/'it'\"'\"'s a/b' && rsync][--][/a]*");
    copy.there = STR("/opt/data/");
    assert_like(words_of(&copy), "[-avz][--rsync-path][mkdir -p /opt/data && rsync]*");
    copy.there = STR("~/c"); /* the home is there */
    assert_like(words_of(&copy), "[-avz][--][/a]*");
    struct ssh_target six = place;
    six.address = STR("2001:db8::7");
    copy.place = &six;
    assert_like(words_of(&copy), "*[ubuntu@[2001:db8::7]:~/c]");
}

static void test_old_ones_are_known(void **state)
{
    static const struct {
        const char *said;
        const char *version;
        bool is_old;
    } rows[] = {
        {"rsync  version 3.2.7  protocol version 31\nCopyright", "3.2.7", true},
        {"rsync  version v3.3.0  protocol version 31", "v3.3.0", false}, /* not understood */
        {"rsync  version 3.4.0  protocol version 32", "3.4.0", false},
        {"rsync  version 3.10.1  protocol version 32", "3.10.1", false},
        {"rsync  version 2.6.9  protocol version 29", "2.6.9", true},
        {"rsync  version 4.0.0  protocol version 33", "4.0.0", false},
        {"openrsync: protocol version 29", "", false},
        {"", "", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str version = STR("");
        assert_int_equal(rsync_is_old(str_from(rows[i].said), &version), rows[i].is_old);
        assert_str(version, rows[i].version);
    }
}

static void test_which_versions_show_progress(void **state)
{
    (void)state;
    assert_true(rsync_has_progress(STR("rsync  version 3.2.7  protocol version 31\n")));
    assert_true(rsync_has_progress(STR("rsync  version 3.1.0  protocol version 31\n")));
    assert_true(rsync_has_progress(STR("rsync  version 4.0.0\n")));
    assert_false(rsync_has_progress(STR("rsync  version 3.0.9  protocol version 30\n")));
    assert_false(rsync_has_progress(STR("rsync  version 2.6.9  protocol version 29\n")));
    assert_false(rsync_has_progress(STR("openrsync: protocol version 29\n")));
    assert_false(rsync_has_progress(STR("")));
}

static void test_what_ssh_complains_about(void **state)
{
    (void)state;
    assert_int_equal(ssh_error_of(STR("ssh: connect to host 10.0.0.7 port 22: Connection "
                                      "refused")),
                     SSH_UNREACHABLE);
    assert_int_equal(ssh_error_of(STR("ubuntu@10.0.0.7: Permission denied (publickey).")),
                     SSH_DENIED);
    assert_int_equal(ssh_error_of(STR("Host key verification failed.")), SSH_HOST_KEY);
    assert_int_equal(ssh_error_of(STR("kex_exchange_identification: read: Connection reset")),
                     SSH_OTHER);
    assert_int_equal(ssh_error_of(STR("percent_dollar_expand: failed")), SSH_MISUSED);
    assert_int_equal(ssh_error_of(STR("command-line line 0: invalid quotes")), SSH_MISUSED);
    assert_true(ssh_is_chatter(STR("@@@@@@@@@@@@@@@@@")));
    assert_false(ssh_is_chatter(STR("Host key verification failed.")));
    assert_true(ssh_is_chatter(STR("WARNING: ")));
    assert_true(ssh_is_chatter(STR("To increase the performance of the tunnel, consider")));
    assert_false(ssh_is_chatter(STR("ERROR: (gcloud.compute.start-iap-tunnel) Error while")));
    assert_true(ssh_is_proxys_end(STR("Connection closed by UNKNOWN port 65535")));
    assert_false(ssh_is_proxys_end(STR("Connection closed by 10.0.0.7 port 22")));
    assert_true(ssh_is_chatter(STR("Authenticated to 10.0.0.7 ([10.0.0.7]:22).")));
}

#define LOGGED_IN "Authenticated to 10.0.0.7 ([10.0.0.7]:22) using \"publickey\".\r\n"
#define CLOSED "Connection closed by 10.0.0.7 port 22\r\n"

/* Only a failure before the login proves that the command has not started. */
static void test_whether_ssh_has_connected(void **state)
{
    (void)state;
    assert_false(ssh_has_connected(STR("ssh: connect to host h port 22: Connection refused\r\n")));
    assert_false(ssh_has_connected(STR("@@@@@@@\r\nHost key verification failed.\r\n")));
    assert_false(ssh_has_connected(STR(CLOSED)));
    assert_true(ssh_has_connected(STR(LOGGED_IN CLOSED)));
    assert_true(ssh_has_connected(STR(CLOSED "Transferred: sent 3, received 4 bytes\r\n")));
    assert_true(ssh_has_connected(STR(LOGGED_IN)));
    assert_true(ssh_has_connected(STR(""))); /* a shared connection, or a lost log */
    assert_true(ssh_has_connected(STR("Warning: something\r\n\r\n")));
    assert_true(ssh_has_logged_in(STR(LOGGED_IN CLOSED)));
    assert_false(ssh_has_logged_in(STR(CLOSED)));
    assert_false(ssh_has_logged_in(STR(""))); /* nothing proves it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(into_a_container),
        cmocka_unit_test(test_as_ray_starts_it),
        cmocka_unit_test(test_folders_above),
        cmocka_unit_test(test_old_ones_are_known),
        cmocka_unit_test(test_which_versions_show_progress),
        cmocka_unit_test(test_what_ssh_complains_about),
        cmocka_unit_test(test_whether_ssh_has_connected),
    };
    return cmocka_run_group_tests(tests, open_place, close_arena);
}
