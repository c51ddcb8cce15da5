/* test_cluster_folder.c: each owner has a folder of its own, whatever a command left behind. */
#include "app/cluster_folder.h"

#include "app/cluster_state.h"
#include "app/launch/head_connection.h"
#include "fixture.h"
#include "io/file.h"
#include "io/lock.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AWS "provider: {type: aws, region: us-west-2}\n"
#define TYPES                                                          \
    "auth: {ssh_user: ubuntu}\nmax_workers: 1\nhead_node_type: head\n" \
    "available_node_types:\n"                                          \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"

struct scene {
    char base[64];
    struct fixture *f;
    struct err err;
};

static void set_up(struct scene *scene)
{
    *scene = (struct scene){.base = "/tmp/shoal-folder-XXXXXX", .f = fixture_new()};
    assert_non_null(mkdtemp(scene->base));
    assert_int_equal(setenv("XDG_STATE_HOME", scene->base, 1), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

static void tear_down(struct scene *scene)
{
    assert_int_equal(scratch_remove(scene->base), 0);
    fixture_free(&scene->f);
}

static const struct config *config_of(struct scene *scene, const char *provider, const char *types)
{
    struct arena *arena = &scene->f->arena;
    const char *text = arena_printf(arena, "cluster_name: demo\n%s%s", provider, types).ptr;
    const struct value *tree = fixture_prepare(scene->f, text);
    assert_non_null(tree);
    return config_type(arena, tree);
}

static const struct config *of_account(struct scene *scene, const char *owner)
{
    const struct config *config = config_of(scene, AWS, TYPES);
    cluster_folder_know(config, str_from(owner), &scene->f->arena);
    return config;
}

static struct cluster_folder find(struct scene *scene, const struct config *config)
{
    return cluster_folder_find(config, &scene->f->arena);
}

static struct cluster_state make(struct scene *scene, const struct config *config)
{
    struct cluster_state state;
    assert_true(cluster_state_open(config, true, &scene->f->arena, &state, &scene->err));
    return state;
}

static const char *below(struct scene *scene, const char *folder, const char *name)
{
    return arena_printf(&scene->f->arena, "%s/%s", folder, name).ptr;
}

/* ---- two owners ---- */

static void check_pair(const char *first, const char *second, const char *types, const char *owner)
{
    struct scene scene;
    set_up(&scene);
    const struct config *one = config_of(&scene, first, types);
    const struct config *two = config_of(&scene, second, types);
    struct cluster_state a = make(&scene, one);
    assert_false(find(&scene, two).has_records);
    assert_str(find(&scene, two).other, owner);
    struct cluster_state b = make(&scene, two);
    assert_true(a.is_new && b.is_new);
    assert_string_not_equal(a.folder, b.folder);
    assert_str(cluster_folder_plain(str_from(b.folder)), a.folder);
    assert_false(str_eq(a.secret, b.secret) || str_eq(a.public_key, b.public_key));
    assert_string_equal(make(&scene, one).folder, a.folder);
    assert_string_equal(make(&scene, two).folder, b.folder);
    assert_str(cluster_folder_read(a.folder, &scene.f->arena), owner);
    assert_true(cluster_state_remove(&a, &scene.err));
    assert_string_equal(find(&scene, two).path, b.folder);
    assert_int_equal(find(&scene, two).other.len, 0);
    assert_string_equal(find(&scene, one).path, a.folder); /* free again */
    tear_down(&scene);
}

static void owners_of_the_file_are_kept_apart(void **state)
{
    (void)state;
    check_pair("provider: {type: gcp, region: us-west1, project_id: red}\n",
               "provider: {type: gcp, region: us-west1, project_id: blue}\n",
               "auth: {ssh_user: ubuntu}\nmax_workers: 1\nhead_node_type: head\n"
               "available_node_types:\n"
               "  head: {node_config: {machineType: n1-standard-1}, resources: {CPU: 2}}\n",
               "project red");
    check_pair("provider: {type: local, head_ip: 10.0.0.1, worker_ips: []}\n",
               "provider: {type: local, head_ip: 10.0.0.2, worker_ips: []}\n",
               "auth: {ssh_user: me}\n", "head 10.0.0.1");
}

static void accounts_are_kept_apart(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    const struct config *one = of_account(&scene, "account 1");
    const struct config *two = of_account(&scene, "account 2");
    struct cluster_state a = make(&scene, one);
    struct cluster_state b = make(&scene, two);
    assert_string_not_equal(a.folder, b.folder);
    assert_str(find(&scene, one).other, "account 2");
    assert_str(find(&scene, two).other, "account 1");
    /* Without a call to the cloud: of two the first, of one that one. */
    const struct config *any = config_of(&scene, AWS, TYPES);
    assert_int_equal(find(&scene, any).count, 2);
    assert_string_equal(find(&scene, any).path, a.folder);
    assert_true(cluster_state_remove(&a, &scene.err));
    assert_string_equal(find(&scene, any).path, b.folder);
    tear_down(&scene);
}

/* Their commands have folders of their own. */
static void plug_ins_need_no_other_folder(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    const struct config *one = config_of(&scene, "provider: {type: external, command: [a]}\n",
                                         TYPES);
    const struct config *two = config_of(&scene, "provider: {type: external, command: [b]}\n",
                                         TYPES);
    struct cluster_state a = make(&scene, one);
    struct cluster_state b = make(&scene, two);
    assert_string_not_equal(a.folder, b.folder);
    assert_int_equal(find(&scene, one).other.len, 0);
    assert_int_equal(unlink(below(&scene, a.folder, "owner")), 0); /* of an older release */
    assert_false(find(&scene, one).is_unowned);
    assert_string_equal(make(&scene, one).folder, a.folder);
    tear_down(&scene);
}

/* ---- records without an owner ---- */

static void old_records_are_not_taken_over(void **state)
{
    struct scene scene;
    struct cluster_state state_of;
    (void)state;
    set_up(&scene);
    const struct config *one = of_account(&scene, "account 1");
    struct cluster_state a = make(&scene, one);
    const char *owner = below(&scene, a.folder, "owner");
    assert_int_equal(unlink(owner), 0);
    assert_true(find(&scene, one).is_unowned);
    assert_false(cluster_state_open(one, true, &scene.f->arena, &state_of, &scene.err));
    assert_int_equal(scene.err.kind, ERR_EXISTS);
    assert_true(cluster_state_open(one, false, &scene.f->arena, &state_of, &scene.err));
    assert_true(state_of.owner.len == 0 && cluster_state_make(&state_of, &scene.err));
    assert_int_equal(file_stat(owner).kind, FILE_MISSING);
    assert_true(cluster_folder_claim(a.folder, STR("account 1"), &scene.err));
    assert_false(find(&scene, one).is_unowned);
    tear_down(&scene);
}

/* A folder without a key and a journal is ignored: the first who comes gets it. */
static void an_empty_folder_is_free(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    const struct config *one = of_account(&scene, "account 1");
    const char *folder = find(&scene, one).path;
    assert_true(file_make_private_folder(below(&scene, folder, "known_hosts"), &scene.err));
    assert_string_equal(make(&scene, one).folder, folder);
    assert_str(cluster_folder_read(folder, &scene.f->arena), "account 1");
    tear_down(&scene);
}

static void a_folder_with_only_an_owner_is_ignored(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    const struct config *one = of_account(&scene, "account 1");
    const char *folder = find(&scene, one).path;
    assert_true(file_make_private_folder(folder, &scene.err));
    assert_true(cluster_folder_claim(folder, STR("account 1"), &scene.err));
    const struct config *two = of_account(&scene, "account 2");
    assert_int_equal(find(&scene, two).other.len, 0);
    assert_string_not_equal(find(&scene, two).path, folder);
    tear_down(&scene);
}

static void a_claim_is_made_once(void **state)
{
    struct scene scene;
    struct lock *lock;
    (void)state;
    set_up(&scene);
    const char *folder = below(&scene, scene.base, "x");
    assert_true(file_make_private_folder(folder, &scene.err));
    assert_true(lock_take(below(&scene, folder, "lock"), "another", &lock, &scene.err));
    assert_false(cluster_folder_claim(folder, STR("account 1"), &scene.err));
    assert_int_equal(scene.err.kind, ERR_EXISTS);
    lock_drop(lock);
    assert_true(cluster_folder_claim(folder, STR("account 1"), &scene.err));
    assert_true(cluster_folder_claim(folder, STR("account 1"), &scene.err));
    assert_false(cluster_folder_claim(folder, STR("account 2"), &scene.err));
    assert_int_equal(scene.err.kind, ERR_EXISTS);
    assert_str(cluster_folder_read(folder, &scene.f->arena), "account 1");
    tear_down(&scene);
}

static void an_owner_is_escaped_before_it_is_printed(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct cluster_state a = make(&scene, of_account(&scene, "account 1"));
    assert_true(
        file_write(below(&scene, a.folder, "owner"), STR("account \x1b[2J\n"), 0600, &scene.err));
    struct str other = find(&scene, of_account(&scene, "account 1")).other;
    assert_true(other.len > 0 && str_find_char(other, '\x1b') == SIZE_MAX);
    tear_down(&scene);
}

/* ---- the stored head ---- */

static struct launcher_head recall(struct scene *scene, bool *ret_is_known, struct str *ret_owner)
{
    struct launcher_head head = {.is_up_to_date = true};
    struct ssh_target place;
    const struct config *any = config_of(scene, AWS, TYPES);
    struct launcher_setup setup = {.config = any};
    *ret_is_known = head_connection_recall(&setup, &scene->f->arena, &head, &place);
    *ret_owner = cluster_folder_owner(any, &scene->f->arena);
    return head;
}

static void store_head(struct scene *scene, const char *owner, const char *id)
{
    const struct config *config = of_account(scene, owner);
    struct launcher_setup setup = {.config = config};
    struct cluster_state state = make(scene, config);
    struct launcher_head head = {
        .id = str_from(id), .address = STR("10.0.0.1"), .is_up_to_date = true};
    assert_true(cluster_state_pin(&state, head.id, STR("ssh-ed25519 AAAA"), false, &scene->err));
    head_connection_store(&setup, &head, &scene->f->arena);
}

/* Commands that make no call use the head that was stored with the same profile. */
static void the_stored_head_says_whose_it_is(void **state)
{
    struct scene scene;
    struct str owner;
    bool is_known;
    (void)state;
    set_up(&scene);
    assert_int_equal(setenv("AWS_PROFILE", "red", 1), 0);
    store_head(&scene, "account 1", "i-1");
    assert_int_equal(setenv("AWS_PROFILE", "blue", 1), 0);
    recall(&scene, &is_known, &owner);
    assert_true(!is_known && owner.len == 0);
    store_head(&scene, "account 2", "i-2");
    assert_str(recall(&scene, &is_known, &owner).id, "i-2");
    assert_true(is_known);
    assert_str(owner, "account 2");
    assert_int_equal(setenv("AWS_PROFILE", "red", 1), 0);
    assert_str(recall(&scene, &is_known, &owner).id, "i-1");
    assert_str(owner, "account 1");
    /* The profile leads to another account now: only the cloud knows which one is meant. */
    store_head(&scene, "account 2", "i-2");
    recall(&scene, &is_known, &owner);
    assert_true(!is_known && owner.len == 0);
    assert_int_equal(unsetenv("AWS_PROFILE"), 0);
    tear_down(&scene);
}

/* ---- the key on another machine ---- */

static void a_key_is_imported_for_its_owner_only(void **state)
{
    struct scene scene;
    AUTO_BUF struct buf text;
    struct cluster_state opened;
    struct str owner;
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.f->arena;
    buf_init(&text, 64 * 1024);
    const struct config *one = config_of(
        &scene, "provider: {type: local, head_ip: 10.0.0.1, worker_ips: []}\n",
        "auth: {ssh_user: me}\n");
    const struct config *two = config_of(
        &scene, "provider: {type: local, head_ip: 10.0.0.2, worker_ips: []}\n",
        "auth: {ssh_user: me}\n");
    struct cluster_state a = make(&scene, one);
    assert_true(cluster_state_export(&a, one, &text, &scene.err));
    assert_true(cluster_state_remove(&a, &scene.err));
    struct str rest = buf_str(&text);
    assert_false(cluster_state_import_owner(two, arena, &rest, &owner, &scene.err));
    assert_like(str_from(scene.err.text), "*is of head 10.0.0.1*the file names head 10.0.0.2*");
    rest = buf_str(&text);
    assert_true(cluster_state_import_owner(one, arena, &rest, &owner, &scene.err));
    assert_str(owner, "head 10.0.0.1");
    assert_true(cluster_state_open(one, false, arena, &opened, &scene.err));
    assert_true(cluster_state_import(&opened, owner, rest, &scene.err));
    assert_str(cluster_folder_read(opened.folder, arena), "head 10.0.0.1");
    a.owner = STR("");
    assert_false(cluster_state_export(&a, one, &text, &scene.err));
    tear_down(&scene);
}

/* ---- by name ---- */

static void note_name(void *context, struct str name)
{
    assert_str(name, "demo");
    ++*(size_t *)context;
}

static void names_have_no_hash(void **state)
{
    struct scene scene;
    struct cluster_known known[4];
    size_t names = 0;
    (void)state;
    set_up(&scene);
    make(&scene, of_account(&scene, "account 1"));
    make(&scene, of_account(&scene, "account 2"));
    assert_int_equal(cluster_state_known(STR("demo"), &scene.f->arena, known, 4), 2);
    assert_str(known[0].region, "us-west-2");
    assert_str(known[1].region, "us-west-2");
    assert_false(str_eq(known[0].owner, known[1].owner));
    cluster_state_names(&scene.f->arena, note_name, &names);
    assert_int_equal(names, 2);
    const struct config *east = config_of(&scene, "provider: {type: aws, region: eu-west-1}\n",
                                          TYPES);
    assert_str(cluster_state_elsewhere(east, &scene.f->arena), "us-west-2");
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_of_the_file_are_kept_apart),
        cmocka_unit_test(accounts_are_kept_apart),
        cmocka_unit_test(plug_ins_need_no_other_folder),
        cmocka_unit_test(old_records_are_not_taken_over),
        cmocka_unit_test(an_empty_folder_is_free),
        cmocka_unit_test(a_folder_with_only_an_owner_is_ignored),
        cmocka_unit_test(a_claim_is_made_once),
        cmocka_unit_test(an_owner_is_escaped_before_it_is_printed),
        cmocka_unit_test(the_stored_head_says_whose_it_is),
        cmocka_unit_test(a_key_is_imported_for_its_owner_only),
        cmocka_unit_test(names_have_no_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
