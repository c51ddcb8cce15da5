/* test_failure.c: messages about failed nodes. */
#include "cli/progress/failure.h"

#include "fixture.h"
#include "live_scene.h"
#include "unit.h"

static const char file[] = "cluster_name: demo\n"
                           "provider: {type: aws, region: us-west-2}\n"
                           "setup_commands:\n"
                           "  - echo fine\n"
                           "  - pip install torch==9.9\n";

static void a_failure_says_all_that_is_needed(void **state)
{
    AUTO_BUF struct buf out;
    struct arena arena;
    struct source source = {.name = STR("cluster.yaml"), .text = str_from(file)};
    struct diag_list diags;
    (void)state;
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    struct failure_scene scene = {
        .file = "cluster.yaml",
        .tree = config_parse(&arena, &source, &diags),
        .nodes = scene_nodes,
        .node_count = ARRAY_LEN(scene_nodes),
        .now_ms = SCENE_NOW_MS,
        .style = {"", "", "", ""},
    };
    buf_init(&out, 100000);
    failure_print_all(&out, &scene);
    assert_str(buf_str(&out),
               "error: worker-2 (i-0c1, m5.large) failed in setup command 3 of 5 (exit status 1)\n"
               "\n"
               "  command   pip install torch==9.9\n"
               "  set in    cluster.yaml:5\n"
               "  output    Collecting torch\n"
               "            ERROR: No matching distribution\n"
               "  log       shoal logs cluster.yaml worker-2     (whole output)\n"
               "  node      ended\n"
               "  cost      less than $0.01 so far\n"
               "\n"
               "The head is up and running. Fix line 5 of cluster.yaml and run "
               "`shoal up cluster.yaml` again; to remove everything and stop paying: "
               "`shoal down cluster.yaml`.\n");
    arena_clear(&arena);
}

static void no_failure_no_words(void **state)
{
    AUTO_BUF struct buf out;
    struct failure_scene scene = {
        .file = "x", .nodes = scene_nodes, .node_count = 2, .style = {"", "", "", ""}};
    (void)state;
    buf_init(&out, 1000);
    failure_print_all(&out, &scene);
    assert_int_equal(out.len, 0);
}

enum { COUNT = 30 };

static size_t blocks_of(struct node_view *many, struct buf *out)
{
    struct failure_scene scene = {
        .file = "x.yaml", .nodes = many, .node_count = COUNT, .style = {"", "", "", ""}};
    size_t blocks = 0;
    buf_init(out, 100000);
    failure_print_all(out, &scene);
    for (struct str rest = buf_str(out); rest.len > 0;) {
        blocks += str_starts(str_cut(&rest, '\n'), "error: ");
    }
    return blocks;
}

static void one_cause_is_told_once(void **state)
{
    AUTO_BUF struct buf out;
    struct node_view many[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        many[i] = scene_nodes[2];
    }
    assert_int_equal(blocks_of(many, &out), 1);
    assert_true(str_find(buf_str(&out), "\nAlso failed: worker-2, worker-2, ") != SIZE_MAX);
    assert_true(str_find(buf_str(&out), " and 9 more.\n") != SIZE_MAX);
    assert_true(str_find(buf_str(&out), "To try again: `shoal up x.yaml`") != SIZE_MAX);
}

static void many_causes_are_cut_short(void **state)
{
    AUTO_BUF struct buf out;
    struct node_view many[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        many[i] = scene_nodes[2];
        many[i].failure.status = (int)i;
    }
    assert_int_equal(blocks_of(many, &out), 3);
    assert_true(str_find(buf_str(&out), " and 7 more.\n") != SIZE_MAX);
}

static void a_reason_that_adds_nothing_is_left_out(void **state)
{
    AUTO_BUF struct buf out;
    struct node_view node = scene_nodes[2];
    struct failure_scene scene = {
        .file = "x.yaml", .nodes = &node, .node_count = 1, .style = {"", "", "", ""}};
    (void)state;
    buf_init(&out, 100000);
    node.reason = STR("its setup failed");
    failure_print_all(&out, &scene);
    node.reason = node.failure.why = STR("it did not join Ray");
    failure_print_all(&out, &scene);
    assert_true(str_find(buf_str(&out), "  why       it did not join Ray\n") != SIZE_MAX);
    assert_true(str_find(buf_str(&out), "  node      ") == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_that_adds_nothing_is_left_out),
        cmocka_unit_test(a_failure_says_all_that_is_needed),
        cmocka_unit_test(no_failure_no_words),
        cmocka_unit_test(one_cause_is_told_once),
        cmocka_unit_test(many_causes_are_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
