/* test_state_damage.c: transfers through a proxy that changes and cuts them; processes that die and
 * files that change during a transfer; parts that are missing. */
#include "app/train/state_load.h"
#include "app/train/state_transfer.h"

/* Longer than a busy machine lets a process wait: here, nothing ends because it was idle. */
#define SERVER_IDLE_MS 60000
#include "transfer_scene.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>

/* ---- a proxy that damages one stream ---- */

enum stream { TO_SERVER, TO_CLIENT };

struct damage { /* shared with the proxy */
    enum stream stream;
    int64_t flip_at, cut_at, act_at; /* -1: never */
    pid_t kill_pid;
    char truncate_path[PATH_SIZE];
    int64_t truncate_to;
    int64_t passed[2]; /* bytes of the last connection */
};

static struct damage *damage;

static void act(void)
{
    if (damage->kill_pid > 0) {
        kill(damage->kill_pid, SIGKILL);
    }
    if (damage->truncate_path[0] && truncate(damage->truncate_path, damage->truncate_to) != 0) {
        abort();
    }
}

/* False at the end of the stream. */
static bool pass(int from, int to, enum stream stream)
{
    char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof(bytes), 0);
    if (got <= 0) {
        return false;
    }
    int64_t at = damage->passed[stream];
    bool is_ours = damage->stream == stream;
    ssize_t kept = got;
    if (is_ours && damage->flip_at >= at && damage->flip_at < at + got) {
        bytes[damage->flip_at - at] ^= 1;
    }
    if (is_ours && damage->cut_at >= 0 && damage->cut_at < at + got) {
        kept = damage->cut_at - at;
    }
    if (is_ours && damage->act_at >= at && damage->act_at < at + got) {
        act();
    }
    for (ssize_t done = 0; done < kept;) {
        ssize_t sent = send(to, bytes + done, (size_t)(kept - done), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        done += sent;
    }
    damage->passed[stream] = at + kept;
    return kept == got;
}

static void run_proxy(int listener, uint16_t port)
{
    while (true) {
        int client = accept(listener, NULL, NULL);
        int server = dial(port);
        struct pollfd watch[2] = {{.fd = client, .events = POLLIN},
                                  {.fd = server, .events = POLLIN}};
        bool is_open = true;
        damage->passed[0] = damage->passed[1] = 0;
        while (is_open && poll(watch, 2, -1) > 0) {
            if (watch[1].revents) {
                is_open = pass(server, client, TO_CLIENT);
            } else if (watch[0].revents) {
                is_open = pass(client, server, TO_SERVER);
            }
        }
        close(server);
        close(client);
    }
}

static void start_proxy(struct scene *scene)
{
    *damage = (struct damage){.flip_at = -1, .cut_at = -1, .act_at = -1};
    int listener = listen_on(&scene->proxy_port);
    scene->proxy = fork();
    if (scene->proxy == 0) {
        run_proxy(listener, scene->port);
    }
    close(listener);
}

static void make_small_tree(struct scene *scene)
{
    make_folder(scene, "c");
    make_folder(scene, "c/sub");
    make_file(scene, "c/a", 20, 0600);
    make_file(scene, "c/sub/b", 90, 0600);
    make_file(scene, "c/sub/zero", 0, 0600);
}

static void damage_each(struct scene *scene, int64_t *where, int64_t total, enum stream stream,
                        int64_t step)
{
    damage->stream = stream;
    scene->idle_ms = 100; /* a wrong length makes both sides wait */
    for (int64_t at = 0; at < total; at += step) {
        *where = at;
        if (fetch(scene, "c")) {
            fail_msg("damage at %d of stream %d was not noticed", (int)at, (int)stream);
        }
        assert_int_equal(count_entries(scene->to), 0);
    }
    *where = -1;
    scene->idle_ms = 60000;
}

static void test_damage_is_noticed(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_small_tree(&scene);
    start_proxy(&scene);
    assert_true(fetch(&scene, "c"));
    check_equal(&scene, "c");
    int64_t to_server = damage->passed[TO_SERVER];
    int64_t to_client = damage->passed[TO_CLIENT];
    assert_int_equal(scratch_remove(in(scene.to, "c")), 0);
    damage_each(&scene, &damage->flip_at, to_client, TO_CLIENT, 2);
    damage_each(&scene, &damage->flip_at, to_server, TO_SERVER, 2);
    damage_each(&scene, &damage->cut_at, to_client, TO_CLIENT, 1);
    damage_each(&scene, &damage->cut_at, to_server, TO_SERVER, 1);
    print_message("flipped every second, cut at each of %d and %d bytes\n", (int)to_client,
                  (int)to_server);
    assert_true(fetch(&scene, "c"));
    check_equal(&scene, "c");
    close_scene(&scene);
}

static void test_damage_of_a_comparison(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_small_tree(&scene);
    start_proxy(&scene);
    assert_true(fetch(&scene, "c"));
    assert_true(fetch(&scene, "c"));
    assert_true(scene.fetched.was_there);
    damage->stream = TO_CLIENT;
    int64_t total = damage->passed[TO_CLIENT];
    scene.idle_ms = 100;
    for (int64_t at = 0; at < total; at += 7) {
        damage->flip_at = at;
        assert_false(fetch(&scene, "c"));
        assert_int_equal(count_entries(scene.to), 1); /* the one that was there */
    }
    close_scene(&scene);
}

/* ---- processes that die, files that change ---- */

static void test_a_server_that_is_killed(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    make_file(&scene, "c/large", LARGE_BYTES, 0600);
    start_proxy(&scene);
    damage->stream = TO_CLIENT;
    damage->act_at = 1 << 20;
    damage->kill_pid = scene.server;
    assert_false(fetch(&scene, "c"));
    assert_int_equal(scene.err.kind, ERR_UNAVAILABLE);
    assert_int_equal(count_entries(scene.to), 0);
    end_process(&scene.server);
    end_process(&scene.proxy);
    scene.proxy_port = 0;
    assert_false(fetch(&scene, "c")); /* nothing listens */
    assert_int_equal(scene.err.kind, ERR_UNAVAILABLE);
    start_server(&scene, 0);
    assert_true(fetch(&scene, "c"));
    check_equal(&scene, "c");
    close_scene(&scene);
}

static void test_a_fetch_that_is_killed(void **state)
{
    (void)state;
    struct scene scene;
    int status;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    make_file(&scene, "c/large", LARGE_BYTES, 0600);
    start_proxy(&scene);
    damage->stream = TO_CLIENT;
    pid_t victim = fork();
    if (victim == 0) {
        damage->kill_pid = getpid();
        damage->act_at = 1 << 20;
        _exit(fetch(&scene, "c"));
    }
    assert_int_equal(waitpid(victim, &status, 0), victim);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_entries(scene.to), 1);
    assert_int_equal(access(in(scene.to, "c"), F_OK), -1);
    damage->act_at = -1;
    damage->kill_pid = 0;
    assert_true(fetch(&scene, "c"));
    check_equal(&scene, "c"); /* also that nothing else is left */
    close_scene(&scene);
}

static void test_a_fetch_that_is_alive_is_left_alone(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 0);
    make_tree(&scene, "c");
    assert_int_equal(mkdir(in(scene.to, ".fetch-c-1"), 0700), 0);
    assert_int_equal(mkdir(in(scene.to, ".fetch-c-2"), 0700), 0);
    int folder = open(in(scene.to, ".fetch-c-1"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(folder, LOCK_EX), 0);
    assert_true(fetch(&scene, "c"));
    assert_int_equal(count_entries(scene.to), 2);
    assert_int_equal(access(in(scene.to, ".fetch-c-1"), F_OK), 0);
    close(folder);
    close_scene(&scene);
}

static void test_a_file_that_changes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1 << 20, LARGE_BYTES - 1, LARGE_BYTES + 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct scene scene;
        open_scene(&scene, 0);
        make_folder(&scene, "c");
        make_file(&scene, "c/large", LARGE_BYTES, 0600);
        start_proxy(&scene);
        damage->stream = TO_CLIENT;
        damage->act_at = 1 << 20;
        damage->truncate_to = sizes[i];
        snprintf(damage->truncate_path, PATH_SIZE, "%s/c/large", scene.from);
        assert_false(fetch(&scene, "c"));
        assert_true(scene.err.kind == ERR_PROTOCOL || scene.err.kind == ERR_UNAVAILABLE);
        assert_int_equal(count_entries(scene.to), 0);
        close_scene(&scene);
    }
}

/* ---- parts ---- */

/* The script would continue with the state of some of its ranks only. */
static void test_a_missing_part(void **state)
{
    (void)state;
    struct scene scene;
    struct scene other;
    char sources[80];
    open_scene(&scene, 0);
    open_scene(&other, 0);
    snprintf(sources, sizeof(sources), "127.0.0.1:%u,127.0.0.1:%u", scene.port, other.port);
    const struct state_load load = {
        .folder = scene.to, .checkpoint = 7, .parts = 2, .sources = sources};
    setenv("SHOAL_TRAIN_TOKEN", TOKEN, 1);
    assert_int_equal(mkdir(in(scene.to, "kept"), 0700), 0);
    make_folder(&scene, "7.part");
    make_file(&scene, "7.part/rank-0", 20, 0600);
    assert_int_equal(state_load(&load), 1);
    assert_int_equal(access(in(scene.to, "kept/7"), F_OK), -1);
    make_folder(&other, "7.part");
    make_file(&other, "7.part/rank-1", 20, 0600);
    assert_int_equal(state_load(&load), 0);
    assert_int_equal(count_entries(in(scene.to, "kept/7")), 2);
    close_scene(&other);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage_is_noticed),
        cmocka_unit_test(test_damage_of_a_comparison),
        cmocka_unit_test(test_a_server_that_is_killed),
        cmocka_unit_test(test_a_fetch_that_is_killed),
        cmocka_unit_test(test_a_fetch_that_is_alive_is_left_alone),
        cmocka_unit_test(test_a_file_that_changes),
        cmocka_unit_test(test_a_missing_part),
    };
    damage = mmap(NULL, sizeof(*damage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    umask(022);
    return damage == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
