/* test_state_transfer.c: checkpoints between processes on loopback, and what is refused: by the
 * server, and from a hostile one. */
#include "app/train/state_transfer.h"

#include "app/train/state_tree.h"
#include "app/train/state_wire.h"
#include "transfer_scene.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* ---- round trips ---- */

static void test_an_empty_tree(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_folder(&scene, "c-1");
    assert_true(fetch(&scene, "c-1"));
    assert_int_equal(scene.fetched.files, 0);
    assert_int_equal(scene.fetched.bytes, 0);
    assert_false(scene.fetched.was_there);
    check_equal(&scene, "c-1");
    close_scene(&scene);
}

static void test_a_tree(void **state)
{
    (void)state;
    struct scene scene;
    struct stat status;
    open_scene(&scene, 0);
    make_tree(&scene, "c-1");
    make_file(&scene, "c-1/large", 10 << 20, 0600);
    assert_int_equal(chmod(in(scene.from, "c-1/a"), 0750), 0);
    assert_true(fetch(&scene, "c-1"));
    assert_int_equal(scene.fetched.files, 9);
    assert_int_equal(scene.fetched.bytes, (10 << 20) + 75046);
    check_equal(&scene, "c-1");
    assert_int_equal(stat(in(scene.to, "c-1/a-b/x"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0444);
    assert_int_equal(stat(in(scene.to, "c-1/a"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0750);
    close_scene(&scene);
}

static void test_a_durable_fetch(void **state)
{
    (void)state;
    struct scene scene;
    char name[40];
    open_scene(&scene, 0);
    make_folder(&scene, "c");
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "c/%d", i);
        make_file(&scene, name, (size_t)i, 0600);
    }
    struct state_source source = {
        .host = "localhost", .port = scene.port, .token = STR(TOKEN), .is_durable = true};
    assert_true(state_fetch(&source, scene.to, "c", &scene.fetched, &scene.err));
    assert_int_equal(scene.fetched.files, 50);
    check_equal(&scene, "c");
    close_scene(&scene);
}

static void test_the_same_is_not_sent_again(void **state)
{
    (void)state;
    struct scene scene;
    struct stat status;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    assert_true(fetch(&scene, "c"));
    assert_true(fetch(&scene, "c"));
    assert_true(scene.fetched.was_there);
    assert_int_equal(scene.fetched.bytes, 75046);
    check_equal(&scene, "c");

    /* Other contents of the same size and time are another checkpoint. */
    assert_int_equal(stat(in(scene.to, "c/a/b/x"), &status), 0);
    int file = open(in(scene.to, "c/a/b/x"), O_WRONLY);
    assert_int_equal(pwrite(file, "?", 1, 3), 1);
    struct timespec times[2] = {status.st_atim, status.st_mtim};
    assert_int_equal(futimens(file, times), 0);
    close(file);
    assert_true(fetch(&scene, "c"));
    assert_false(scene.fetched.was_there);
    check_equal(&scene, "c");

    /* So is one with another permission, or with one more file. */
    assert_int_equal(chmod(in(scene.to, "c/zero"), 0640), 0);
    assert_true(fetch(&scene, "c"));
    assert_false(scene.fetched.was_there);
    make_file(&scene, "c/more", 4, 0600);
    assert_true(fetch(&scene, "c"));
    assert_false(scene.fetched.was_there);
    check_equal(&scene, "c");
    close_scene(&scene);
}

/* ---- refusals ---- */

static void test_a_wrong_token(void **state)
{
    (void)state;
    struct scene scene;
    struct err err = {0};
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    struct state_source source = {
        .host = "127.0.0.1", .port = scene.port, .token = STR(TOKEN "x"), .idle_ms = IDLE_MS};
    assert_false(state_fetch(&source, scene.to, "c", &scene.fetched, &err));
    assert_int_equal(err.kind, ERR_AUTH);
    assert_like(str_from(err.text), "checkpoint c from 127.0.0.1:*do not have the same token");
    source.token = STR("short");
    assert_false(state_fetch(&source, scene.to, "c", &scene.fetched, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    struct state_server server = {.listener = -1, .root = scene.from, .token = STR("short")};
    assert_false(state_serve(&server, &err));
    assert_int_equal(err.kind, ERR_IO);
    server.listener = listen_on(&scene.proxy_port);
    assert_false(state_serve(&server, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    close(server.listener);
    assert_int_equal(count_entries(scene.to), 0);
    close_scene(&scene);
}

static void test_what_cannot_be_sent(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    assert_false(fetch(&scene, "missing"));
    assert_int_equal(scene.err.kind, ERR_NOT_FOUND);
    static const char *const names[] = {"",    ".",    "..",       "../from",
                                        "a/b", "/tmp", ".fetch-x", "a\nb"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(fetch(&scene, names[i]));
        assert_int_equal(scene.err.kind, ERR_USAGE);
    }
    make_folder(&scene, "link");
    assert_int_equal(symlink("/etc/passwd", in(scene.from, "link/x")), 0);
    assert_false(fetch(&scene, "link"));
    assert_int_equal(scene.err.kind, ERR_PROTOCOL);
    assert_like(str_from(scene.err.text), "*x is a symbolic link that leaves*");
    make_folder(&scene, "pipe");
    assert_int_equal(mkfifo(in(scene.from, "pipe/x"), 0600), 0);
    assert_false(fetch(&scene, "pipe"));
    assert_like(str_from(scene.err.text), "*x is a special file*");
    make_folder(&scene, "line");
    make_file(&scene, "line/a\nb", 1, 0600);
    assert_false(fetch(&scene, "line"));
    assert_like(str_from(scene.err.text), "*a?b has control characters*");
    make_file(&scene, "file", 1, 0600);
    assert_false(fetch(&scene, "file"));
    assert_int_equal(symlink("/etc", in(scene.from, "outside")), 0);
    assert_false(fetch(&scene, "outside"));
    assert_int_equal(count_entries(scene.to), 0);
    close_scene(&scene);
}

static void test_links_that_stay_inside(void **state)
{
    (void)state;
    struct scene scene;
    char target[64] = "";
    open_scene(&scene, 0);
    make_folder(&scene, "c");
    make_folder(&scene, "c/deep");
    make_file(&scene, "c/model", 10, 0600);
    assert_int_equal(symlink("../model", in(scene.from, "c/deep/last")), 0);
    assert_true(fetch(&scene, "c"));
    assert_int_equal(readlink(in(scene.to, "c/deep/last"), target, sizeof(target)), 8);
    assert_string_equal(target, "../model");
    assert_true(fetch(&scene, "c")); /* the same digest on both sides */
    close_scene(&scene);
    static const char *const outside[] = {"..", "../../x", "/x", "a/../../x", "a/..", ""};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        assert_false(state_link_is_inside(STR("link"), str_from(outside[i])));
    }
    assert_true(state_link_is_inside(STR("a/link"), STR("../b")));
    assert_false(state_link_is_inside(STR("a/link"), STR("../../b")));
}

static void test_what_is_in_the_way(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    assert_int_equal(symlink(scene.from, in(scene.to, "c")), 0);
    assert_false(fetch(&scene, "c"));
    assert_int_equal(scene.err.kind, ERR_EXISTS);
    assert_int_equal(count_entries(scene.to), 1);
    assert_int_equal(count_entries(scene.from), 1);
    close_scene(&scene);
}

/* ---- a full disk ---- */

static int fetch_with_little_space(struct scene *scene)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", scene->to, "tmpfs", 0, "size=1m") != 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (fetch(scene, "c") || scene->err.kind != ERR_IO || count_entries(scene->to) != 0) {
        return 1;
    }
    return unit_is_like(str_from(scene->err.text), "*cannot write large below*") ? 0 : 2;
}

static void test_a_full_disk(void **state)
{
    (void)state;
    struct scene scene;
    int status;
    open_scene(&scene, 0);
    make_folder(&scene, "c");
    make_file(&scene, "c/large", 4 << 20, 0600);
    pid_t child = fork();
    if (child == 0) {
        _exit(fetch_with_little_space(&scene));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close_scene(&scene);
}

/* ---- limits of the server ---- */

static int count_children(pid_t pid)
{
    char path[64];
    AUTO_BUF struct buf text;
    struct err err;
    int count = 0;
    buf_init(&text, 65536);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    assert_true(file_read(path, &text, &err));
    for (size_t i = 0; i < text.len; i++) {
        count += text.ptr[i] == ' ';
    }
    return count;
}

static void wait_for_children(pid_t pid, int wanted)
{
    for (int i = 0; i < 1000 && count_children(pid) != wanted; i++) {
        poll(NULL, 0, 10);
    }
    assert_int_equal(count_children(pid), wanted);
}

static void test_sixteen_connections(void **state)
{
    (void)state;
    struct scene scene;
    int sockets[20];
    open_scene(&scene, 1000);
    make_tree(&scene, "c");
    for (size_t i = 0; i < ARRAY_LEN(sockets); i++) {
        sockets[i] = dial(scene.port); /* and says nothing */
    }
    wait_for_children(scene.server, STATE_CONNECTIONS_MAX);
    poll(NULL, 0, 100);
    assert_int_equal(count_children(scene.server), STATE_CONNECTIONS_MAX);
    struct state_source source = {.host = "127.0.0.1", .port = scene.port, .token = STR(TOKEN)};
    assert_true(state_fetch(&source, scene.to, "c", &scene.fetched, &scene.err));
    check_equal(&scene, "c");
    for (size_t i = 0; i < ARRAY_LEN(sockets); i++) {
        close(sockets[i]);
    }
    wait_for_children(scene.server, 0);
    close_scene(&scene);
}

static void open_raw(struct scene *scene, struct state_link *link, const char *name)
{
    struct err err = {0};
    int socket = dial(scene->port);
    assert_int_equal(fcntl(socket, F_SETFL, O_NONBLOCK), 0);
    state_link_open(link, socket, false, 5000);
    link->deadline_ms = state_now_ms() + 10000;
    assert_true(state_link_greet(link, STR(TOKEN), &err));
    assert_true(state_message_send(link, STATE_REQUEST, str_from(name), &err));
}

static void test_a_slow_client(void **state)
{
    (void)state;
    struct scene scene;
    struct state_link link;
    struct err err = {0};
    enum state_kind kind;
    AUTO_BUF struct buf body;
    open_scene(&scene, 0);
    make_folder(&scene, "c");
    make_file(&scene, "c/large", LARGE_BYTES, 0600);
    buf_init(&body, 1 << 20);
    open_raw(&scene, &link, "c");
    assert_true(state_message_receive(&link, &kind, &body, &err));
    assert_int_equal(kind, STATE_MANIFEST);
    assert_true(state_message_send(&link, STATE_SEND, STR(""), &err));
    int64_t start = state_now_ms();
    wait_for_children(scene.server, 0); /* it reads nothing, and the server gives up */
    assert_true(state_now_ms() - start >= IDLE_MS / 2);
    state_link_close(&link);
    open_raw(&scene, &link, "c"); /* asks for nothing */
    wait_for_children(scene.server, 1);
    wait_for_children(scene.server, 0);
    state_link_close(&link);
    close_scene(&scene);
}

static void test_a_client_that_wants_to_escape(void **state)
{
    (void)state;
    static const char *const names[] = {"..", "../to", "/etc", "c/../../to", "", "."};
    struct scene scene;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct state_link link;
        struct err err = {0};
        enum state_kind kind;
        AUTO_BUF struct buf body;
        buf_init(&body, 1 << 20);
        open_raw(&scene, &link, names[i]);
        assert_false(state_message_receive(&link, &kind, &body, &err));
        assert_like(str_from(err.text), "the other side refused:*not the name of a checkpoint*");
        state_link_close(&link);
    }
    close_scene(&scene);
}

/* ---- a hostile server ---- */

enum plot { PLOT_PATH, PLOT_LONG_PIECE, PLOT_WRONG_END, PLOT_SAME, PLOT_NO_MAGIC, PLOT_VERSION };

static void betray(struct state_link *link, enum plot plot, const char *path)
{
    struct err err;
    enum state_kind kind;
    struct buf body;
    struct state_entry entry = {str_from(path), false, false, 0600, 4};
    struct state_manifest manifest = {0700, &entry, 1, 1, 4};
    uint8_t piece[STATE_PIECE_HEAD + 8] = {0, 0, 0, 4, 'e', 'v', 'i', 'l'};
    buf_init(&body, 1 << 20);
    (void)!state_message_receive(link, &kind, &body, &err);
    buf_clear(&body);
    state_manifest_add(&body, &manifest);
    (void)!state_message_send(link, STATE_MANIFEST, buf_str(&body), &err);
    (void)!state_message_receive(link, &kind, &body, &err);
    if (plot == PLOT_SAME) {
        (void)!state_message_send(link, STATE_SAME, STR(""), &err);
        return;
    }
    (void)!state_message_send(link, STATE_CONTENTS, STR(""), &err);
    piece[3] = plot == PLOT_LONG_PIECE ? 8 : 4;
    (void)!state_link_write(link, piece, STATE_PIECE_HEAD + piece[3], false, &err);
    (void)!state_message_send(link, STATE_DONE, STR("01234567890123456789012345678901"), &err);
}

static void run_hostile(int listener, enum plot plot, const char *path)
{
    struct state_link link;
    struct err err;
    int socket = accept(listener, NULL, NULL);
    (void)fcntl(socket, F_SETFL, O_NONBLOCK);
    state_link_open(&link, socket, true, 5000);
    link.deadline_ms = state_now_ms() + 5000;
    if (plot == PLOT_NO_MAGIC || plot == PLOT_VERSION) {
        char hello[44] = "SHOALST\n\0\0\0\2";
        hello[0] = plot == PLOT_NO_MAGIC ? 'X' : 'S';
        (void)!state_link_read(&link, (char[44]){0}, 44, &err);
        (void)!state_link_write(&link, hello, sizeof(hello), false, &err);
    } else if (state_link_greet(&link, STR(TOKEN), &err)) {
        betray(&link, plot, path);
    }
    poll(NULL, 0, 50);
    _exit(0);
}

static void test_a_hostile_server(void **state)
{
    (void)state;
    static const struct {
        enum plot plot;
        const char *path, *text;
    } rows[] = {
        {PLOT_PATH, "../evil", "*file 1 of the list is not valid"},
        {PLOT_PATH, "/tmp/evil", "*file 1 of the list is not valid"},
        {PLOT_PATH, "a/../../evil", "*file 1 of the list is not valid"},
        {PLOT_PATH, "a/evil", "*file 1 of the list is not valid"}, /* no such folder */
        {PLOT_PATH, "..", "*file 1 of the list is not valid"},
        {PLOT_PATH, "", "*file 1 of the list is not valid"},
        {PLOT_LONG_PIECE, "x", "*a piece of 8 bytes"},
        {PLOT_WRONG_END, "x", "*the data was changed in transit*"},
        {PLOT_SAME, "x", "*unexpected message"},
        {PLOT_NO_MAGIC, "x", "*does not transfer checkpoints"},
        {PLOT_VERSION, "x", "*version 2*the same release on all nodes"},
    };
    struct scene scene;
    open_scene(&scene, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int listener = listen_on(&scene.proxy_port);
        pid_t hostile = fork();
        if (hostile == 0) {
            run_hostile(listener, rows[i].plot, rows[i].path);
        }
        close(listener);
        assert_false(fetch(&scene, "c"));
        assert_like(str_from(scene.err.text), rows[i].text);
        assert_int_equal(scene.err.kind, ERR_PROTOCOL);
        assert_int_equal(count_entries(scene.to), 0);
        assert_int_equal(count_entries(scene.base), 2);
        waitpid(hostile, NULL, 0);
    }
    close_scene(&scene);
}

/* ---- manifests ---- */

struct row {
    const char *path;
    bool is_folder;
    uint32_t mode;
    int64_t size;
};

static bool parse(const struct row *rows, size_t count, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf text;
    struct state_entry entries[4];
    struct state_manifest parsed;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct state_entry){str_from(rows[i].path), rows[i].is_folder, false,
                                          rows[i].mode, rows[i].size};
    }
    struct state_manifest manifest = {.mode = 0700, .entries = entries, .count = count};
    state_manifest_add(&text, &manifest);
    return state_manifest_parse(buf_str(&text), &arena, &parsed, err);
}

static void test_manifests(void **state)
{
    (void)state;
    struct err err;
    const struct row good[] = {
        {"a", true, 0700, 0}, {"a/b", false, 0, 1}, {"a-", false, 0777, 0}, {"b", false, 0600, 9}};
    const struct row bad[][2] = {
        {{"b", false, 0600, 1}, {"a", false, 0600, 1}},   /* order */
        {{"a", false, 0600, 1}, {"a", false, 0600, 1}},   /* twice */
        {{"a", false, 0600, 1}, {"a/b", false, 0600, 1}}, /* below a file */
        {{"a", true, 0700, 0}, {"b/c", false, 0600, 1}},
        {{"a", true, 0700, 1}, {"b", false, 0600, 1}},   /* a folder with a size */
        {{"a", true, 0600, 0}, {"b", false, 0600, 1}},   /* one that its owner cannot enter */
        {{"a", false, 04755, 0}, {"b", false, 0600, 1}}, /* setuid */
        {{"a", false, 0600, -1}, {"b", false, 0600, 1}},
        {{"a", false, 0600, STATE_BYTES_MAX}, {"b", false, 0600, 1}},
        {{"a", true, 0700, 0}, {"a/", false, 0600, 1}},
        {{"a", true, 0700, 0}, {"a//b", false, 0600, 1}},
        {{"a", true, 0700, 0}, {"a/./b", false, 0600, 1}},
        {{"a", true, 0700, 0}, {"a/..", false, 0600, 1}},
        {{"a", true, 0700, 0}, {"a\x7f", false, 0600, 1}},
    };
    assert_true(parse(good, 0, &err));
    assert_true(parse(good, ARRAY_LEN(good), &err));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err.kind = ERR_NONE;
        assert_false(parse(bad[i], 2, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    struct scene scene;
    char name[PATH_SIZE] = "c";
    open_scene(&scene, 0);
    make_folder(&scene, name);
    for (int i = 0; i < STATE_DEPTH_MAX; i++) {
        size_t len = strlen(name);
        snprintf(name + len, sizeof(name) - len, "/d");
        make_folder(&scene, name);
    }
    assert_true(fetch(&scene, "c"));
    check_equal(&scene, "c");
    snprintf(name + strlen(name), 3, "/d");
    make_folder(&scene, name);
    assert_false(fetch(&scene, "c"));
    assert_like(str_from(scene.err.text), "*nested too deeply");
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_tree),
        cmocka_unit_test(test_a_tree),
        cmocka_unit_test(test_a_durable_fetch),
        cmocka_unit_test(test_the_same_is_not_sent_again),
        cmocka_unit_test(test_a_wrong_token),
        cmocka_unit_test(test_what_cannot_be_sent),
        cmocka_unit_test(test_links_that_stay_inside),
        cmocka_unit_test(test_what_is_in_the_way),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_sixteen_connections),
        cmocka_unit_test(test_a_slow_client),
        cmocka_unit_test(test_a_client_that_wants_to_escape),
        cmocka_unit_test(test_a_hostile_server),
        cmocka_unit_test(test_manifests),
        cmocka_unit_test(test_nesting_is_bounded),
    };
    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
