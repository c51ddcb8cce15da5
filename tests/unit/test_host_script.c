/* test_host_script.c: the scripts for own machines, run by a shell that sees no processes of
 * others. */
#include "provider/local/host_script.h"

#include "base/attr.h"
#include "shell_hosts.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UID_A "0123456789abcdef0123456789abcdef"
#define UID_B "fedcba9876543210fedcba9876543210"
#define SHELL "unshare -rpf --mount-proc sh"

static char home[64];

static const char *path_of(const char *name)
{
    static char paths[4][200];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", home, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static const char *get(const char *name)
{
    static char text[64 * 1024];
    FILE *file = fopen(path_of(name), "r");
    text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
    if (file) {
        fclose(file);
    }
    return text;
}

/* Programs in "fake" are found first. */
static struct host_reply run(const struct buf *script, struct arena *arena)
{
    char command[600];
    struct host_reply reply;
    put("script", arena_str(arena, buf_str(script)).ptr, 0600);
    snprintf(command, sizeof(command),
             "HOME=%s SHOAL_HOST_FOLDER=%s/host PATH=%s/fake:$PATH " SHELL " %s/script >%s/out",
             home, home, home, home, home);
    int status = shell_run(command);
    host_reply_read(str_from(get("out")), status, STR(""), arena, &reply);
    return reply;
}

static struct host_reply run_swap(int64_t expected, const char *uid, const struct host_stop *stop,
                                  struct arena *arena)
{
    AUTO_BUF struct buf script;
    json_t *record = uid ? json_pack("{s:s}", "uid", uid) : NULL;
    struct host_swap swap = {.expected = expected, .record = record, .stop = stop};
    buf_init(&script, HOST_SCRIPT_BYTES_MAX);
    host_script_swap(&script, &swap);
    json_decref(record);
    return run(&script, arena);
}

static struct host_reply run_probe(struct arena *arena)
{
    AUTO_BUF struct buf script;
    buf_init(&script, HOST_SCRIPT_BYTES_MAX);
    host_script_probe(&script);
    return run(&script, arena);
}

static struct host_reply run_key(const char *key, const char *uid, struct arena *arena)
{
    AUTO_BUF struct buf script;
    buf_init(&script, HOST_SCRIPT_BYTES_MAX);
    host_script_authorize(&script, str_from(key), str_from(uid));
    return run(&script, arena);
}

static void a_stale_process_cannot_remove_a_later_record(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    (void)state;
    assert_int_equal(run_swap(0, UID_A, NULL, &arena).end, HOST_DONE);
    struct host_reply first = run_probe(&arena);
    assert_true(first.end == HOST_DONE && first.serial > 1000000000);
    assert_int_equal(run_swap(first.serial, UID_A, NULL, &arena).end, HOST_DONE);
    assert_int_equal(run_swap(first.serial + 1, NULL, NULL, &arena).end, HOST_DONE);
    assert_int_equal(run_swap(0, UID_B, NULL, &arena).end, HOST_DONE);
    for (int64_t i = 0; i < 2; i++) {
        struct host_reply stale = run_swap(first.serial + i, NULL, NULL, &arena);
        assert_int_equal(stale.end, HOST_CONFLICT);
        host_reply_clear(&stale);
    }
    struct host_reply last = run_probe(&arena);
    assert_non_null(strstr(get("out"), UID_B));
    assert_int_equal(run_swap(last.serial, NULL, NULL, &arena).end, HOST_DONE);
    host_reply_clear(&first);
    host_reply_clear(&last);
}

static void a_lost_host_frees_itself_if_its_record_is_the_same(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf script;
    AUTO_BUF struct buf lost;
    json_t *record = json_pack("{s:s}", "uid", UID_A);
    struct host_swap swap = {.record = record, .watch = STR(":")};
    (void)state;
    buf_init(&script, HOST_SCRIPT_BYTES_MAX);
    buf_init(&lost, HOST_SCRIPT_BYTES_MAX);
    host_script_swap(&script, &swap);
    json_decref(record);
    assert_int_equal(run(&script, &arena).end, HOST_DONE);
    buf_add_c(&lost, get("host/lost"));
    struct host_reply first = run_probe(&arena);
    assert_int_equal(run_swap(first.serial, UID_A, NULL, &arena).end, HOST_DONE);
    run(&lost, &arena);
    assert_string_not_equal(get("host/record"), "");
    assert_int_equal(run_swap(first.serial + 1, NULL, NULL, &arena).end, HOST_DONE);
    host_reply_clear(&first);
    assert_int_equal(run(&script, &arena).end, HOST_DONE);
    buf_clear(&lost);
    buf_add_c(&lost, get("host/lost"));
    run(&lost, &arena);
    assert_string_equal(get("host/record"), "");
}

static void a_record_is_printed_as_one_line(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    (void)state;
    mkdir(path_of("host"), 0700);
    put("host/record",
        "7\\nkey EVIL\n{\"uid\":\"" UID_A "\"}\nowner eve\nkey ssh-ed25519 EVIL\nchanged yes\n",
        0600);
    struct host_reply reply = run_probe(&arena);
    assert_int_equal(reply.end, HOST_DONE);
    assert_true(reply.serial == 0 && reply.owner.len == 0 && reply.record != NULL);
    assert_null(strstr(get("out"), "EVIL"));
    host_reply_clear(&reply);
    remove(path_of("host/record"));
    remove(path_of("host"));
}

static void a_key_is_removed_from_a_whole_copy(void **state)
{
    static const char user[] = "ssh-ed25519 AAAA me\nssh-rsa BBBB shoal-" UID_B "\n";
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    (void)state;
    mkdir(path_of(".ssh"), 0700);
    put("keys", user, 0640);
    assert_int_equal(symlink("../keys", path_of(".ssh/authorized_keys")), 0);
    struct host_reply reply = run_key("ssh-ed25519 CCCC", UID_A, &arena);
    assert_true(reply.end == HOST_DONE && reply.was_changed);
    assert_false(run_key("ssh-ed25519 CCCC", UID_A, &arena).was_changed);
    assert_non_null(strstr(get("keys"), "\nssh-ed25519 CCCC shoal-" UID_A "\n"));
    char before[400];
    snprintf(before, sizeof(before), "%s", get("keys"));
    static const char *const fakes[][2] = {
        {"fake/cp", "#!/bin/sh\nhead -c 5 \"$2\" >\"$3\"\nexit 1\n"},
        {"fake/grep", "#!/bin/sh\n[ \"$1\" = -vF ] || exec /bin/grep \"$@\"\necho half; exit 2\n"},
        {"fake/flock", "#!/bin/sh\nexit 1\n"},
        {"fake/mv", "#!/bin/sh\nexit 1\n"}};
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        put(fakes[i][0], fakes[i][1], 0700);
        assert_int_equal(run_key("", UID_A, &arena).end, HOST_FAILED);
        assert_string_equal(get("keys"), before);
        assert_string_equal(get("keys.shoal"), "");
        remove(path_of(fakes[i][0]));
    }
    reply = run_key("", UID_A, &arena);
    assert_true(reply.end == HOST_DONE && reply.was_changed);
    assert_string_equal(get("keys"), user);
    struct stat now;
    assert_int_equal(lstat(path_of(".ssh/authorized_keys"), &now), 0);
    assert_true(S_ISLNK(now.st_mode));
    assert_int_equal(stat(path_of("keys"), &now), 0);
    assert_int_equal(now.st_mode & 0777, 0640);
    assert_false(run_key("", UID_A, &arena).was_changed);
}

static void put_record_of_container(const char *id)
{
    char text[100];
    snprintf(text, sizeof(text), "{\n  \"id\": \"%s\",\n  \"image\": \"ray:1\"\n}\n", id);
    mkdir(path_of(".shoal"), 0700);
    put(".shoal/container.json", text, 0600);
}

/* A container with the name of the cluster's runs; `said` is what docker says about it. */
static bool is_container_stopped(const char *recorded, const char *said, struct arena *arena)
{
    struct host_stop stop = {.container = STR("ray_box"), .cluster = STR("demo")};
    char fake[600];
    remove(path_of("stopped"));
    put_record_of_container(recorded);
    snprintf(fake, sizeof(fake),
             "#!/bin/sh\ncase $1 in\nps) [ -e %s/stopped ] || echo 0abc ;;\n"
             "container) [ \"$*\" != \"${*%% 0abc}\" ] && echo '%s' ;;\n"
             "stop) : >%s/stopped ;;\nesac\n",
             home, said, home);
    put("fake/docker", fake, 0700);
    assert_int_equal(run_swap(0, UID_A, NULL, arena).end, HOST_DONE);
    struct host_reply first = run_probe(arena);
    assert_int_equal(run_swap(first.serial, NULL, &stop, arena).end, HOST_DONE);
    host_reply_clear(&first);
    assert_string_equal(get("host/record"), "");
    return access(path_of("stopped"), F_OK) == 0;
}

static void a_container_of_another_user_is_not_stopped(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mounts[200];
    (void)state;
    assert_false(is_container_stopped("", "null", &arena));
    assert_false(is_container_stopped("abc", "{\"a\":\"shoal-cluster\"} /data", &arena));
    assert_false(is_container_stopped("", "{\"shoal-cluster\":\"demo-2\"}", &arena));
    snprintf(mounts, sizeof(mounts), "null %s/.shoal/mounts/demo-2/x", home);
    assert_false(is_container_stopped("", mounts, &arena));
    assert_true(is_container_stopped("0abc", "null", &arena));
    assert_true(is_container_stopped("", "{\"shoal-cluster\":\"demo\"}", &arena));
    snprintf(mounts, sizeof(mounts), "null /data %s/.shoal/mounts/demo/x", home);
    assert_true(is_container_stopped("", mounts, &arena));
    remove(path_of(".shoal/container.json"));
}

static void a_container_that_runs_is_not_stopped(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct host_stop stop = {.container = STR("ray_box")};
    (void)state;
    assert_int_equal(run_swap(0, UID_A, NULL, &arena).end, HOST_DONE);
    struct host_reply first = run_probe(&arena);
    put_record_of_container("abc");
    put("fake/docker",
        "#!/bin/sh\n[ \"$1\" = ps ] || exit 1\n"
        "[ \"$*\" = 'ps -q --no-trunc -f name=^/ray_box$' ] && echo abc\n",
        0700);
    struct host_reply reply = run_swap(first.serial, NULL, &stop, &arena);
    assert_int_equal(reply.end, HOST_FAILED);
    assert_true(str_is(reply.why, "the container ray_box still runs after docker stop"));
    put("fake/docker", "#!/bin/sh\necho 'permission denied' >&2; exit 1\n", 0700);
    reply = run_swap(first.serial, NULL, &stop, &arena);
    assert_true(str_is(reply.why, "docker ps failed: permission denied"));
    assert_string_not_equal(get("host/record"), "");
    put("fake/docker", "#!/bin/sh\n[ \"$1\" = ps ]\n", 0700);
    assert_int_equal(run_swap(first.serial, NULL, &stop, &arena).end, HOST_DONE);
    assert_string_equal(get("host/record"), "");
    host_reply_clear(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_process_cannot_remove_a_later_record),
        cmocka_unit_test(a_lost_host_frees_itself_if_its_record_is_the_same),
        cmocka_unit_test(a_record_is_printed_as_one_line),
        cmocka_unit_test(a_key_is_removed_from_a_whole_copy),
        cmocka_unit_test(a_container_of_another_user_is_not_stopped),
        cmocka_unit_test(a_container_that_runs_is_not_stopped),
    };
    if (shell_run(SHELL " -c 'command -v flock' >/dev/null 2>&1") != 0) {
        return 77;
    }
    snprintf(home, sizeof(home), "/tmp/shoal-host-script.XXXXXX");
    if (!mkdtemp(home) || mkdir(path_of("fake"), 0700) != 0) {
        return 1;
    }
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", home);
    return shell_run(command) == 0 ? status : 1;
}
