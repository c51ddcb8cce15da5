/* test_node_params.c: a provider's parameters from a cluster file, and the places of its
 * findings. */
#include "app/node_params.h"

#include "fixture.h"

#define HEAD "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"

/* "{A: text, B: 3, C: true, D: [..]}" */
static void show(struct buf *out, const struct param *param)
{
    switch (param->kind) {
    case PARAM_TEXT:
        buf_addf(out, "'%.*s'", STR_ARG(param->text));
        return;
    case PARAM_NUMBER:
        buf_addf(out, "%lld", (long long)param->number);
        return;
    case PARAM_BOOL:
        buf_add_c(out, param->boolean ? "true" : "false");
        return;
    case PARAM_LIST:
    case PARAM_MAP:
        break;
    }
    buf_add_c(out, param->kind == PARAM_MAP ? "{" : "[");
    for (const struct param *child = param->first; child; child = child->next) {
        if (param->kind == PARAM_MAP) {
            buf_addf(out, "%.*s: ", STR_ARG(child->name));
        }
        show(out, child);
        buf_add_c(out, child->next ? ", " : "");
    }
    buf_add_c(out, param->kind == PARAM_MAP ? "}" : "]");
}

static void check_made(const char *yaml, const char *expected)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    struct param *param = NULL;
    struct err err = {0};
    buf_init(&out, 4096);
    const struct value *tree = fixture_read_c(f, yaml);
    assert_non_null(tree);
    if (node_params_from(tree, &f->arena, &param, &err)) {
        show(&out, param);
        assert_str(buf_str(&out), expected);
    } else {
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_like(str_from(err.text), expected);
    }
}

static void values_become_parameters(void **state)
{
    (void)state;
    check_made("A: x\nB: 3\nC: true\nD: [1, y, {E: -2}]\nF: {G: {}}\n",
               "{A: 'x', B: 3, C: true, D: [1, 'y', {E: -2}], F: {G: {}}}");
    check_made("A: ~\nB: [~, 1]\nC: {D: null}\n", "{B: [1], C: {}}");
    check_made("A: 2026-01-02\n", "{A: '2026-01-02'}");
    check_made("{}", "{}");
    check_made("~", "{}");
}

static void what_no_cloud_takes_is_refused(void **state)
{
    (void)state;
    check_made("A: 1\nB: 0.5\n", "*:2: a parameter must be an integer*");
    check_made("A: 99999999999999999999\n", "*:1: a number is too large*");
    check_made("A: {1: x}\n", "*:1: the name of a parameter is not a string");
    check_made("A: !!binary aGk=\n", "*:1: a parameter must be a string*");
    check_made("A: !!set {x}\n", "*:1: a parameter must be a string*");
    check_made("- 1\n", "*:1: parameters must be a map");
}

static void depth_has_a_bound(void **state)
{
    AUTO_BUF struct buf yaml;
    (void)state;
    buf_init(&yaml, 4096);
    buf_add_c(&yaml, "A: ");
    for (size_t i = 0; i < 40; i++) {
        buf_add_char(&yaml, '[');
    }
    for (size_t i = 0; i < 40; i++) {
        buf_add_char(&yaml, ']');
    }
    check_made(yaml.ptr, "*:1: parameters are nested too deeply");
}

static void nothing_is_an_empty_map(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct param *param = NULL;
    struct err err;
    (void)state;
    assert_true(node_params_from(NULL, &f->arena, &param, &err));
    assert_true(param->kind == PARAM_MAP && !param->first);
}

static void a_file_becomes_a_cluster(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    struct provider_cluster cluster;
    struct err err;
    (void)state;
    const struct value *tree = fixture_prepare(
        f, HEAD "auth: {ssh_user: me}\nhead_node_type: h\navailable_node_types:\n"
                "  h: {node_config: {InstanceType: m5.large}, resources: {}}\n"
                "  w: {node_config: {InstanceType: c5.large, ImageId: ami-1}, resources: {}}\n"
                "metadata: {shoal: {ssh_from: [198.51.100.0/24]}}\n");
    assert_non_null(tree);
    assert_true(
        node_params_cluster(config_type(&f->arena, tree), STR(""), &f->arena, &cluster, &err));
    assert_str(cluster.name, "x");
    assert_int_equal(cluster.type_count, 2);
    assert_true(cluster.types[0].is_head && !cluster.types[1].is_head);
    assert_str(cluster.types[1].name, "w");
    assert_str(param_find(cluster.types[1].node_config, "ImageId")->text, "ami-1");
    assert_str(param_find(cluster.auth, "ssh_user")->text, "me");
    buf_init(&out, 4096);
    show(&out, param_find(cluster.provider, "ssh_from"));
    assert_str(buf_str(&out), "['198.51.100.0/24']");
    assert_str(param_find(cluster.provider, "region")->text, "us-west-2");
}

static void check_place(const struct value *tree, const char *path, uint32_t line, uint32_t column)
{
    struct place place = node_params_place(tree, str_from(path));
    if (place.line != line || place.column != column) {
        print_error("%s is at %u:%u, not %u:%u\n", path, place.line, place.column, line, column);
        fail();
    }
}

static void a_path_has_a_place(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    const struct value *tree = fixture_read_c(f, "provider:\n"
                                                 "  region: us-west-2\n"
                                                 "available_node_types:\n"
                                                 "  ray.head.default:\n"
                                                 "    node_config:\n"
                                                 "      ImageId: ami-1\n"
                                                 "      SubnetIds:\n"
                                                 "      - subnet-1\n"
                                                 "      - subnet-2\n"
                                                 "  ray: {node_config: {ImageId: ami-2}}\n");
    check_place(tree, "provider.region", 2, 11);
    check_place(tree, "provider.use_internal_ips", 1, 1);
    check_place(tree, "available_node_types.ray.head.default.node_config.ImageId", 6, 16);
    check_place(tree, "available_node_types.ray.node_config.ImageId", 10, 32);
    check_place(tree, "available_node_types.ray.head.default.node_config.SubnetIds[1]", 9, 9);
    check_place(tree, "available_node_types.ray.head.default.node_config.SubnetIds[7]", 7, 7);
    check_place(tree, "available_node_types.ray.head.default.node_config.KeyName", 5, 5);
    check_place(tree, "auth.ssh_private_key", 0, 0);
    check_place(tree, "", 0, 0);
    check_place(NULL, "a", 0, 0);
    check_place(tree, "[", 0, 0);
    check_place(tree, "provider[0].x", 1, 1);
}

static void our_defaults_have_no_place(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    const struct value *tree = fixture_prepare(f, HEAD);
    assert_non_null(tree);
    check_place(tree, "available_node_types.ray.head.default.node_config.InstanceType", 0, 0);
    check_place(tree, "provider.region", 2, 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_parameters),
        cmocka_unit_test(what_no_cloud_takes_is_refused),
        cmocka_unit_test(depth_has_a_bound),
        cmocka_unit_test(nothing_is_an_empty_map),
        cmocka_unit_test(a_file_becomes_a_cluster),
        cmocka_unit_test(a_path_has_a_place),
        cmocka_unit_test(our_defaults_have_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
