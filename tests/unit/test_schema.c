/* test_schema.c: each kind of mistake is found at its place with a useful hint, and the table of
 * keys is complete and correct. */
#include "config/schema/schema.h"

#include "fixture.h"

#include <string.h>

#define REQUIRED "cluster_name: x\nprovider: {type: aws}\n"

/* What schema_check() says of the two required keys and, from line 3 on, `yaml`. */
static struct str checked(struct fixture *f, const char *yaml)
{
    struct str text = arena_printf(&f->arena, REQUIRED "%s\n", yaml);
    const struct value *root = fixture_read(f, text);
    assert_non_null(root);
    schema_check(root, &f->diags, root->place);
    return fixture_messages(f);
}

struct row {
    const char *yaml, *messages;
};

static void check_rows(const struct row *rows, size_t count)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    for (size_t i = 0; i < count; i++) {
        assert_like(checked(f, rows[i].yaml), rows[i].messages);
    }
}

static void wrong_types_are_told_with_a_remedy(void **state)
{
    static const struct row rows[] = {
        {"max_workers: 2", ""},
        {"max_workers: 2.0", ""},
        {"idle_timeout_minutes: 0.5", ""},
        {"max_workers: \"4\"",
         "3:14 error wrong-type: max_workers must be a whole number*text*(remove the quotes)"},
        {"max_workers: many", "3:14 error wrong-type: max_workers must be a whole number*text*"},
        {"max_workers: 1.5", "3:14 error wrong-type: max_workers*whole*fractional*"},
        {"max_workers: true", "3:14 error wrong-type: max_workers*whole number*true*"},
        {"max_workers: .inf", "3:14 error wrong-type: max_workers*whole number*"},
        {"idle_timeout_minutes: yes", "3:23 error wrong-type: idle_timeout_minutes*a number*"},
        {"file_mounts_sync_continuously: \"true\"",
         "3:32 error wrong-type: file_mounts_sync_continuously*true or false*remove the quotes*"},
        {"file_mounts_sync_continuously: 1",
         "3:32 error wrong-type: file_mounts_sync_continuously*true or false*whole number*"},
        {"setup_commands: echo hi", "3:17 error wrong-type: setup_commands*a list*text*(*list*)"},
        {"setup_commands:", "3:16 error wrong-type: setup_commands*a list*null*(write []*)"},
        {"docker:\nauth: {}", "3:8 error wrong-type: docker*a map*null*(write {}*)"},
        {"docker: []", "3:9 error wrong-type: docker*a map*a list*"},
        {"auth:\n  ssh_user: 5", "4:13 error wrong-type: auth.ssh_user*text*(put it in quotes*)"},
        {"auth: {ssh_user: yes}", "3:18 error wrong-type: auth.ssh_user*text*(put it in quotes*)"},
        {"head_node_type: 2026-11-15",
         "3:17 error wrong-type: head_node_type*text*a date*(put it in quotes*)"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void wrong_types_deep_inside_say_their_path(void **state)
{
    static const struct row rows[] = {
        {"setup_commands:\n- echo\n- 1",
         "5:3 error wrong-type: setup_commands[1] must be text*(put it in quotes*)"},
        {"setup_commands: [{echo: hi}]",
         "3:18 error wrong-type: setup_commands[0] must be text, not a map*"},
        {"available_node_types:\n  gpu: 5",
         "4:8 error wrong-type: available_node_types.gpu must be a map*"},
        {"available_node_types:\n  gpu:\n    node_config: {}\n    resources: {CPU: 0.5}",
         "6:22 error wrong-type: available_node_types.gpu.resources.CPU*whole*fractional*"},
        {"available_node_types:\n  gpu: {node_config: {}, resources: {}, labels: {zone: 1}}",
         "4:56 error wrong-type: available_node_types.gpu.labels.zone*text*"},
        {"metadata: {shoal: {prices: {m5.large: cheap}}}",
         "3:39 error wrong-type: metadata.shoal.prices.m5.large*a number*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void unknown_keys_are_told_what_was_meant(void **state)
{
    static const struct row rows[] = {
        {"max_worker: 4",
         "3:1 error unknown-key: unknown key \"max_worker\"*(did you mean \"max_workers\"?)"},
        {"MaxWorkers: 4",
         "3:1 error unknown-key: unknown key \"MaxWorkers\"*(did you mean \"max_workers\"?)"},
        {"favourite_colour: blue", "3:1 error unknown-key: unknown key \"favourite_colour\"*"},
        {"auth:\n  user: me",
         "4:3 error unknown-key: unknown key \"user\"*(*ssh_user, ssh_private_key, *)"},
        {"docker: {imgae: x}",
         "3:10 error unknown-key: unknown key \"imgae\"*(did you mean \"image\"?)"},
        {"available_node_types:\n  a: {node_config: {}, resources: {}, min_worker: 1}",
         "4:39 error unknown-key: unknown key \"min_worker\"*(did you mean \"min_workers\"?)"},
        /* In the wrong section. */
        {"ssh_user: ubuntu", "3:1 error unknown-key: unknown key \"ssh_user\"*(*belongs*auth)"},
        {"image: ray", "3:1 error unknown-key: unknown key \"image\"*(*belongs*docker)"},
        {"region: us-west-2", "3:1 error unknown-key: unknown key \"region\"*(*belongs*provider)"},
        {"auth: {max_workers: 2}",
         "3:8 error unknown-key: unknown key \"max_workers\"*(*belongs*)"},
        {"planner: ray", "3:1 error unknown-key: unknown key \"planner\"*(*metadata.shoal)"},
        {"InstanceType: m5.large",
         "3:1 error unknown-key: unknown key \"InstanceType\"*(*node_config*)"},
        /* Keys that are not text. */
        {"1: x", "3:1 error unknown-key: *must be text*whole number*(put it in quotes*)"},
        {"available_node_types: {1: {}}",
         "3:24 error unknown-key: *available_node_types*must be text*(put it in quotes*)"},
        /* Where other keys are allowed for other programs. */
        {"metadata: {owner: me, 5: x}", ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void values_out_of_range_are_told(void **state)
{
    static const struct row rows[] = {
        {"max_workers: 0", ""},
        {"max_workers: -1", "3:14 error negative: max_workers*"},
        {"upscaling_speed: -0.5", "3:18 error negative: upscaling_speed*"},
        {"available_node_types: {a: {node_config: {}, resources: {CPU: -2}}}",
         "3:62 error negative: available_node_types.a.resources.CPU*"},
        {"metadata: {shoal: {planner: price}}", ""},
        {"metadata: {shoal: {planner: rya}}",
         "3:29 error unknown-choice: metadata.shoal.planner*\"rya\"*(did you mean \"ray\"?)"},
        {"metadata: {shoal: {planner: banana}}",
         "3:29 error unknown-choice: metadata.shoal.planner*\"banana\"*(*ray, price)"},
        {"auth: {ssh_proxy_use_node_id: true}",
         "3:31 error missing-key: *ssh_proxy_use_node_id*ssh_proxy_command*"},
        {"auth: {ssh_proxy_use_node_id: true, ssh_proxy_command: x}", ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void missing_keys_are_told_with_an_example(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *root = fixture_read_c(f, "auth: {}\navailable_node_types:\n  a: {}\n");
    (void)state;
    schema_check(root, &f->diags, (struct place){root->place.source, 1, 1, 1});
    assert_like(fixture_messages(f),
                "1:1 error missing-key: *\"cluster_name\"*(*cluster_name: demo)\n"
                "1:1 error missing-key: *\"provider\"*(*provider: {type: aws*)\n"
                "3:3 error missing-key: *available_node_types.a*\"node_config\"*(*node_config: *)\n"
                "3:3 error missing-key: *available_node_types.a*\"resources\"*(*resources: *)");
}

static void keys_that_nobody_reads_are_warned_of(void **state)
{
    static const struct row rows[] = {
        {"provider: {type: aws, region: r, aws_profile: p}", ""},
        {"provider: {type: aws, location: x}", "1:23 warning ignored-key: *location*azure*"},
        {"provider: {type: local, head_ip: a, location: x}",
         "1:37 warning ignored-key: *location*azure*"},
        {"provider: {type: aws, regoin: x}",
         "1:23 warning ignored-key: *\"regoin\"*(did you mean \"region\"?)"},
        {"provider: {type: aws, ssh_user: x}",
         "1:23 warning ignored-key: *\"ssh_user\"*(*belongs*auth)"},
        {"provider: {type: azure, msi_identity_id: x}",
         "1:25 warning ignored-key: *msi_identity_id*"},
        {"provider: {type: external, whatever: x}", ""},
        {"no_restart: true", "1:1 warning ignored-key: *no_restart*"},
        {"metadata: {shoal: {idle_stop: 60}}", ""},
        {"metadata: {shoal: {idle_terminate: 14d}}", ""},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *root = fixture_read_c(f, rows[i].yaml);
        assert_non_null(root);
        schema_check_unread(root, &f->diags);
        assert_like(fixture_messages(f), rows[i].messages);
    }
}

static void words_for_types_and_providers(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 1000);
    schema_type_text(&out, SCHEMA_STRING | SCHEMA_NULL);
    buf_add_char(&out, ';');
    schema_type_names(&out, SCHEMA_INTEGER | SCHEMA_OBJECT);
    buf_add_char(&out, ';');
    schema_provider_names(&out, FOR_AWS | FOR_AZURE);
    assert_str(buf_str(&out), "text or null;integer|object;aws, azure");
    assert_int_equal(schema_provider_bit(STR("aws")), FOR_AWS);
    assert_int_equal(schema_provider_bit(STR("kuberay")), FOR_OTHER);
    assert_int_equal(schema_provider_bit(STR("AWS")), 0);
    assert_int_equal(schema_provider_bit(STR("")), 0);
}

/* ---- the table ---- */

/* Where a key belongs: in which file, and the lines above it. */
struct spot {
    const struct schema_object *file;
    struct str lines;
    size_t depth;
};

/* The example, put in the key's place, must be valid. */
static void check_example(struct fixture *f, struct spot spot, const struct schema_key *key)
{
    AUTO_BUF struct buf yaml;
    buf_init(&yaml, 10000);
    buf_add(&yaml, spot.lines);
    for (struct str rest = str_from(key->example); rest.len > 0;) {
        buf_add_spaces(&yaml, spot.depth * 2);
        buf_add(&yaml, str_cut(&rest, '\n'));
        buf_add_char(&yaml, '\n');
    }
    const struct value *root = fixture_read(f, buf_str(&yaml));
    if (!root) {
        fail_msg("the example of %s is not YAML: %s", key->name, key->example);
        return;
    }
    schema_check_as(spot.file, root, &f->diags);
    for (size_t i = 0; i < f->diags.count; i++) {
        if (strcmp(f->diags.items[i].code, "missing-key") != 0) {
            fail_msg("the example of %s is wrong: %s", key->name, f->diags.items[i].text.ptr);
        }
    }
}

static void check_key(struct fixture *f, struct spot spot, const struct schema_key *key)
{
    bool is_any = strcmp(key->name, "*") == 0;
    assert_true(key->types != 0 && key->types < 1U << SCHEMA_TYPE_COUNT);
    assert_non_null(key->help);
    assert_non_null(key->example);
    assert_true(str_ends(str_from(key->help), "."));
    if (!is_any && !str_starts(str_from(key->example), key->name)) {
        fail_msg("the example of %s is of another key: %s", key->name, key->example);
    }
    if (!is_any) {
        check_example(f, spot, key);
    }
}

static void check_table(struct fixture *f, struct spot spot, const struct schema_object *object)
{
    assert_non_null(object->title);
    assert_true(object->count > 0);
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        check_key(f, spot, key);
        if (key->object) {
            const char *name = strcmp(key->name, "*") == 0 ? "any" : key->name;
            bool is_list = key->types == SCHEMA_ARRAY;
            struct str below = arena_printf(&f->arena, "%.*s%*s%s:\n", STR_ARG(spot.lines),
                                            (int)spot.depth * 2, "", name);
            if (is_list) {
                below = arena_printf(&f->arena, "%.*s%*s-\n", STR_ARG(below),
                                     (int)(spot.depth + 1) * 2, "");
            }
            check_table(f, (struct spot){spot.file, below, spot.depth + (is_list ? 2 : 1)},
                        key->object);
        }
    }
}

static void every_key_has_help_and_an_example_that_is_right(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    check_table(f, (struct spot){&schema_root, STR(""), 0}, &schema_root);
    check_table(f, (struct spot){&schema_workload, STR(""), 0}, &schema_workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_types_are_told_with_a_remedy),
        cmocka_unit_test(wrong_types_deep_inside_say_their_path),
        cmocka_unit_test(unknown_keys_are_told_what_was_meant),
        cmocka_unit_test(values_out_of_range_are_told),
        cmocka_unit_test(missing_keys_are_told_with_an_example),
        cmocka_unit_test(keys_that_nobody_reads_are_warned_of),
        cmocka_unit_test(words_for_types_and_providers),
        cmocka_unit_test(every_key_has_help_and_an_example_that_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
