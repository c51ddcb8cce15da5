/* test_hash.c: hashes on a fake machine, compared with the results of Python's hashlib and json
 * for the same input. */
#include "config/hash.h"

#include "fake_host.h"
#include "fixture.h"

static const struct fake_file files[] = {
    /* Python reads every kind of line end as "\n". */
    {.path = "/home/me/key.pem", .bytes = "PRIVATE\r\nKEY\r", .mode = 0600},
    {.path = "/home/me/key.pub", .bytes = "PUBLIC\n", .mode = 0644},
    {.path = "/home/me/bad.pem", .bytes = "\xFF\xFE", .mode = 0600},
    {.path = "/single", .bytes = "one file", .mode = 0644},
    {.path = "/app", .mode = 0755},
    {.path = "/app/b.txt", .bytes = "bbb", .mode = 0644},
    {.path = "/app/a.txt", .bytes = "aaa", .mode = 0644},
    {.path = "/app/link.txt", .bytes = "linked", .mode = 0644, .is_link = true},
    {.path = "/app/elsewhere", .mode = 0755, .is_link = true}, /* not followed */
    {.path = "/app/elsewhere/x.txt", .bytes = "xxx", .mode = 0644},
    {.path = "/app/sub", .mode = 0755},
    {.path = "/app/sub/c.txt", .bytes = "ccc", .mode = 0644},
    {.path = "/app/sub/deep", .mode = 0755}, /* sorts after sub-x, as paths do */
    {.path = "/app/sub/deep/e.txt", .bytes = "eee", .mode = 0644},
    {.path = "/app/sub-x", .mode = 0755},
    {.path = "/app/sub-x/d.txt", .bytes = "ddd", .mode = 0644},
    {.path = "/bad", .mode = 0755},
    {.path = "/bad/\xFF", .bytes = "x", .mode = 0644},
};

/* The hash, or "!" and the error. */
static struct str launch(struct fixture *f, const char *node_config, const char *auth)
{
    struct fake_host fake;
    struct err err;
    struct str hash;
    fake_host_init(&fake, files, ARRAY_LEN(files));
    if (!hash_launch(&f->arena, &fake.host, fixture_read_c(f, node_config), fixture_read_c(f, auth),
                     &hash, &err)) {
        return arena_printf(&f->arena, "!%s: %s", err_kind_name(err.kind), err.text);
    }
    return hash;
}

/* Both hashes separated by a blank, or "!" and the error. */
static struct str runtime(struct fixture *f, const char *mounts, const char *synced,
                          const char *extra)
{
    struct fake_host fake;
    struct err err;
    struct str both[2];
    struct hash_runtime_input input = {fixture_read_c(f, mounts),
                                       synced ? fixture_read_c(f, synced) : NULL,
                                       fixture_read_c(f, extra)};
    fake_host_init(&fake, files, ARRAY_LEN(files));
    if (!hash_runtime(&f->arena, &fake.host, &input, &both[0], &both[1], &err)) {
        return arena_printf(&f->arena, "!%s: %s", err_kind_name(err.kind), err.text);
    }
    return arena_printf(&f->arena, "%.*s %.*s", STR_ARG(both[0]), STR_ARG(both[1]));
}

static void launch_hashes_are_rays(void **state)
{
    static const char *const rows[][3] = {
        {"{}", "{}", "rrhmljjn5ofde4a5tppv07hivtqv8s9k3asakpvrfrvbn4rpdvig"},
        {"{InstanceType: m5.large}", "{ssh_user: ubuntu}",
         "v3665bgbtd46hgo35ja53o3u3nnc0p3ml669d57r3knnqjr457j0"},
        /* The order of keys does not matter, the characters do. */
        {"{a: {\xC3\xA9: \"\xC3\xBC\\n\"}, b: [1, 2.5, null, true]}", "{ssh_user: ubuntu}",
         "7jt7jdt97s0hu4faqukns8tp5al2bq2q5o7uefmfoah5lgju2krg"},
        {"{b: [1, 2.5, ~, yes], a: {\xC3\xA9: \"\xC3\xBC\\n\"}}", "{ssh_user: ubuntu}",
         "7jt7jdt97s0hu4faqukns8tp5al2bq2q5o7uefmfoah5lgju2krg"},
        /* Only the contents of keys matter. */
        {"{InstanceType: m5.large}",
         "{ssh_user: ubuntu, ssh_private_key: ~/key.pem, ssh_public_key: /home/me/key.pub}",
         "b1ura6m4ctutoq2isvq4jcn5qkrinci070f3itbobuhh90te16eg"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(launch(f, rows[i][0], rows[i][1]), rows[i][2]);
    }
}

static void launch_hash_fails_where_ray_does(void **state)
{
    static const char *const rows[][3] = {
        {"{}", "{ssh_private_key: ~/nope.pem}", "!not-found: auth.ssh_private_key*nope.pem*"},
        {"{}", "{ssh_public_key: ~/bad.pem}", "!config: auth.ssh_public_key*not text*"},
        {"{}", "{ssh_private_key: 5}", "!config: auth.ssh_private_key*path*"},
        {"{a: 2026-11-15}", "{}", "!config: *line 1*a date*"},
        {"{a: 1, 2: b}", "{}", "!config: *line 1*keys*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_like(launch(f, rows[i][0], rows[i][1]), rows[i][2]);
    }
}

static void hashing_leaves_the_configuration_alone(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct fake_host fake;
    struct err err;
    struct str hash;
    const struct value *auth = fixture_read_c(f, "{ssh_private_key: ~/key.pem}");
    (void)state;
    fake_host_init(&fake, files, ARRAY_LEN(files));
    assert_true(hash_launch(&f->arena, &fake.host, auth, auth, &hash, &err));
    assert_str(fixture_json(f, auth), "{\"ssh_private_key\": \"~/key.pem\"}");
}

static void runtime_hashes_are_rays(void **state)
{
    static const struct {
        const char *mounts, *synced, *extra, *hashes;
    } rows[] = {
        {"{}", NULL, "[]",
         "gs87jr4i1f8tpqnvnoof8oqvos4da7o1fc57sf8ahlooemea8kag "
         "seoc8gkovge196nruj49irtp4gjqsgf4cidp6j54imchmu2in1ag"},
        {"{/r: /single}", NULL, "[]",
         "kisqf5dfnmsblc57ls6h5a57r90eahjolvg3car5l4snvs3agfag "
         "b9hd9mqcsdrr0jqohcgi4avs6gp775j9hjeseng9kikocao7kaj0"},
        {"{/r/app: /app}", NULL, "[x]",
         "cpkdkl5cek07ftugl4dmrng5smfkft5eqei4phduii21k0atm640 "
         "rklggflp6pcllineg7upqkigqje1fjf43slt014i4nummns90cp0"},
        /* Synced files are part of the contents hash only, and may be missing. */
        {"{/b: /single, /a: /app, /c: ~/key.pub}", "[/single, /missing]", "{setup: [a], n: 1}",
         "17a2387qfs72p6d43foka6e3dngbn62t12ptvu1usa2k00g36nug "
         "ck7jra6tj24638h2ire4ob8ipkh449bs6cr2ts1662gu227pp56g"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(runtime(f, rows[i].mounts, rows[i].synced, rows[i].extra), rows[i].hashes);
    }
    struct str with = runtime(f, "{/r: /single}", "[/app]", "[]");
    struct str without = runtime(f, "{/r: /single}", NULL, "[]");
    assert_true(str_eq(str_sub(with, 0, 52), str_sub(without, 0, 52)));
    assert_false(str_eq(with, without));
    assert_true(str_eq(runtime(f, "{/r: /single}", "null", "[]"), without));
}

static void runtime_hash_fails_where_ray_does(void **state)
{
    static const char *const rows[][3] = {
        {"{/r: /missing}", "[]", "!not-found: *file*/missing*"},
        {"{/r: 5}", "[]", "!config: *line 1*text*"},
        {"{}", "[2026-11-15]", "!config: *line 1*a date*"},
        {"{/r: /bad}", "[]", "!config: *UTF-8*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_like(runtime(f, rows[i][0], NULL, rows[i][1]), rows[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_hashes_are_rays),
        cmocka_unit_test(launch_hash_fails_where_ray_does),
        cmocka_unit_test(hashing_leaves_the_configuration_alone),
        cmocka_unit_test(runtime_hashes_are_rays),
        cmocka_unit_test(runtime_hash_fails_where_ray_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
