/* test_status_text.c: the whole output of `status`. */
#include "cli/status_text.h"

#include "base/utf8.h"
#include "unit.h"

#include <string.h>

static const int64_t now_ms = 1790000000000;

static struct ctl_query_status scene(void)
{
    static struct node_view nodes[3];
    static struct pending_demand demands[2];
    nodes[0] = (struct node_view){.name = STR("head"),
                                  .reason = STR(""),
                                  .type = STR("head"),
                                  .machine = STR("m5.large"),
                                  .id = STR("i-0f2"),
                                  .public_ip = STR("198.51.100.7"),
                                  .is_head = true,
                                  .phase = PHASE_READY,
                                  .requested_ms = now_ms - 3600000,
                                  .price = 96000};
    nodes[1] = (struct node_view){.name = STR("worker-1"),
                                  .type = STR("gpu"),
                                  .machine = STR("g5.xlarge"),
                                  .id = STR("i-0b7"),
                                  .private_ip = STR("10.0.0.7"),
                                  .is_spot = true,
                                  .phase = PHASE_READY,
                                  .requested_ms = now_ms - 720000,
                                  .price = 390400,
                                  .idle_since_ms = now_ms - 190000,
                                  .reason = STR("1 for pending requests")};
    nodes[2] = (struct node_view){.name = STR("worker-2"),
                                  .type = STR("gpu"),
                                  .machine = STR(""),
                                  .id = STR(""),
                                  .private_ip = STR(""),
                                  .phase = PHASE_SETTING_UP,
                                  .step = 2,
                                  .steps = 5,
                                  .detail = STR("pip install torch"),
                                  .price = -1};
    demands[0] = (struct pending_demand){.shape = STR("{GPU: 1}"),
                                         .count = 4,
                                         .unmet = 4,
                                         .why = STR("gpu is at its max_workers"),
                                         .since_ms = now_ms - 12000};
    demands[1] = (struct pending_demand){.source = DEMAND_PLACEMENT_GROUP,
                                         .shape = STR("{CPU: 1} * 3 (PACK)"),
                                         .labels = STR("zone in (a)"),
                                         .count = 1};
    return (struct ctl_query_status){.cluster = STR("demo"),
                                     .version = STR("0.1.0"),
                                     .status = {.ray_version = STR("2.60.0"),
                                                .ray_address = STR("10.0.0.4:6379"),
                                                .autoscaler = AUTOSCALER_ACTIVE,
                                                .joined = 2,
                                                .wanted = 1,
                                                .now_ms = now_ms,
                                                .seen_ms = now_ms - 300,
                                                .price = 486400,
                                                .price_limit = 20000000,
                                                .demand_count = 3},
                                     .nodes = nodes,
                                     .node_count = 3,
                                     .demands = demands,
                                     .demand_count = 2,
                                     .ray_text = STR("======== Autoscaler status")};
}

static const char *print(struct buf *out, struct arena *arena, const struct ctl_query_status *said,
                         bool has_ray_text, size_t width)
{
    struct status_frame frame = {
        .file = "cluster.yaml", .now_ms = 5, .width = width, .has_ray_text = has_ray_text};
    out->len = 0;
    status_text_add(out, arena, said, &frame);
    return out->ptr;
}

static void everything_is_told(void **state)
{
    struct arena arena;
    AUTO_BUF struct buf out;
    struct ctl_query_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    assert_string_equal(
        print(&out, &arena, &said, true, 0),
        "======== Autoscaler status\n"
        "\n"
        "Cluster demo   Ray 2.60.0 on 10.0.0.4:6379: 2 nodes joined   $0.49/h of at most "
        "$20.00/h   autoscaler: on\n"
        "\n"
        "NAME      TYPE  MACHINE         ID     STATE           ADDRESS       AGE  $/H    NOTE\n"
        "head      head  m5.large        i-0f2  ready           198.51.100.7  60m  0.096\n"
        "worker-1  gpu   g5.xlarge spot  i-0b7  ready, idle 3m  10.0.0.7      12m  0.390  1 for "
        "pending requests\n"
        "worker-2  gpu                          setup 2/5                     -    -      pip "
        "install torch\n"
        "\n"
        "WAITING                                COUNT  WHAT          SINCE  WHY\n"
        "{GPU: 1}                                   4  tasks/actors    12s  gpu is at its "
        "max_workers\n"
        "{CPU: 1} * 3 (PACK) with zone in (a)       1  groups            -\n"
        "and 1 more\n");
    arena_clear(&arena);
}

static void what_is_not_as_it_should_be_is_told(void **state)
{
    struct arena arena;
    AUTO_BUF struct buf out;
    struct ctl_query_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    said.status.launching = STR("the instances have not been listed yet");
    said.status.seen_ms = now_ms - 45000;
    said.status.price = said.status.price_limit = -1;
    const char *text = print(&out, &arena, &said, false, 0);
    assert_non_null(strstr(text, "joined   autoscaler: on\n"
                                 "Launches are paused: the instances have not been listed yet.\n"
                                 "Ray was last seen 45s ago.\n\nNAME"));
    said.status.autoscaler = AUTOSCALER_STANDBY;
    said.status.autoscaler_message = STR("somebody else acts");
    text = print(&out, &arena, &said, false, 0);
    assert_null(strstr(text, "Launches are paused"));
    assert_non_null(strstr(text, "   autoscaler: paused\n"
                                 "The autoscaler is paused: somebody else acts.\n"));
    said.status.autoscaler = AUTOSCALER_ACTIVE;
    said.status.autoscaler_message = STR("the journal cannot be written: no space left");
    said.status.launching = STR("");
    said.status.ending = STR("no recent state from the cloud or from Ray");
    said.status.idle_stop = STR("kept running by 1 busy node");
    said.status.joined = 1;
    text = print(&out, &arena, &said, false, 0);
    assert_non_null(strstr(text, " 1 node joined   autoscaler: on\n"
                                 "Note: the journal cannot be written: no space left.\n"
                                 "Scale-down is paused: no recent state from the cloud or from "
                                 "Ray.\n"
                                 "idle_stop: the cluster is kept running by 1 busy node.\n"));
    arena_clear(&arena);
}

static void long_reasons_are_cut_on_a_screen(void **state)
{
    struct arena arena;
    AUTO_BUF struct buf out;
    struct ctl_query_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    said.demands[0].why = STR(
        "1x GPU: every node type that fits is at its max_workers (gpu: 4), and so on");
    const char *text = print(&out, &arena, &said, false, 100);
    size_t widest = 0;
    for (struct str rest = str_from(text); rest.len > 0;) {
        struct str line = str_cut(&rest, '\n');
        size_t wide = str_starts(line, "Cluster") ? 0 : utf8_width(line);
        widest = wide > widest ? wide : widest;
    }
    assert_int_equal(widest, 100);
    assert_non_null(strstr(text, "12s  1x GPU: every node type"));
    assert_null(strstr(text, "and so on"));
    arena_clear(&arena);
}

static size_t widest_of(const char *text)
{
    size_t widest = 0;
    for (struct str rest = str_from(text); rest.len > 0;) {
        struct str line = str_cut(&rest, '\n');
        size_t wide = str_starts(line, "Cluster") ? 0 : utf8_width(line);
        widest = wide > widest ? wide : widest;
    }
    return widest;
}

/* The address is dropped first, then text that the name nearly repeats. */
static void narrow_screens_do_without_some_columns(void **state)
{
    static const size_t widths[] = {200, 120, 100, 90, 80, 60, 40};
    struct arena arena;
    AUTO_BUF struct buf out;
    struct ctl_query_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    said.demand_count = said.status.demand_count = 0;
    for (size_t i = 0; i < 3; i++) {
        said.nodes[i].id = STR("i-cf4b714fb206c2150");
    }
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        const char *text = print(&out, &arena, &said, false, widths[i]);
        assert_true(widest_of(text) <= widths[i]);
        assert_non_null(strstr(text, "worker-1"));
        assert_non_null(strstr(text, "ready, idle 3m"));
    }
    const char *text = print(&out, &arena, &said, false, 120);
    assert_non_null(strstr(text, "i-cf4b714fb206c2150"));
    text = print(&out, &arena, &said, false, 80);
    assert_non_null(strstr(text, "i-cf4b\xe2\x80\xa6"));
    assert_non_null(strstr(text, "  1 for pen"));
    assert_null(strstr(text, "ADDRESS"));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_told),
        cmocka_unit_test(what_is_not_as_it_should_be_is_told),
        cmocka_unit_test(long_reasons_are_cut_on_a_screen),
        cmocka_unit_test(narrow_screens_do_without_some_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
