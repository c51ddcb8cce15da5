/* test_bootstrap.c: the head reads what the cluster file says, whatever characters it has. */
#include "app/launch/bootstrap.h"

#include "fixture.h"

#define START                                                                           \
    "cluster_name: x\nprovider: {type: aws, region: us-west-2}\nhead_node_type: head\n" \
    "available_node_types:\n  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 0}}\n"

static struct str written(struct fixture *f, const char *yaml, enum bootstrap_reader reader)
{
    const struct value *tree = fixture_prepare(f, yaml);
    struct str json;
    struct err err;
    assert_non_null(tree);
    assert_true(
        bootstrap_config(config_type(&f->arena, tree), reader, false, &f->arena, &json, &err));
    return json;
}

/* The service and Ray both read the file as YAML, where "\ud83d\ude80" is an error. */
static void characters_beyond_the_first_plane_are_read_back(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    static const enum bootstrap_reader readers[] = {BOOTSTRAP_FOR_RAY, BOOTSTRAP_FOR_SERVICE};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        struct str json = written(f,
                                  START "setup_commands: [\"echo \xF0\x9F\x9A\x80 caf\xC3\xA9 "
                                        "\\x7F \\u2028 \\n\"]\n",
                                  readers[i]);
        const struct value *back = fixture_read(f, json);
        assert_non_null(back);
        assert_str(value_text(value_get_c(back, "setup_commands")->list.items[0]),
                   "echo \xF0\x9F\x9A\x80 caf\xC3\xA9 \x7F \xE2\x80\xA8 \n");
    }
}

/* All others are written as json.dumps writes them, so that the file is Ray's byte for byte. */
static void other_characters_are_escaped_as_ray_does(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    struct str json = written(f, START "setup_commands: [\"caf\xC3\xA9\"]\n", BOOTSTRAP_FOR_RAY);
    assert_true(str_find(json, "\"setup_commands\": [\"caf\\u00e9\"]") != SIZE_MAX);
}

/* The head reaches its workers without a proxy; and ssh_proxy_use_node_id alone is an error. */
static void the_way_of_the_laptop_is_left_out(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    struct str json = written(f,
                              START "auth: {ssh_user: u, ssh_proxy_command: nc %h, "
                                    "ssh_proxy_use_node_id: true}\n",
                              BOOTSTRAP_FOR_SERVICE);
    assert_true(str_find(json, "ssh_proxy") == SIZE_MAX && str_find(json, "ssh_user") != SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_beyond_the_first_plane_are_read_back),
        cmocka_unit_test(other_characters_are_escaped_as_ray_does),
        cmocka_unit_test(the_way_of_the_laptop_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
