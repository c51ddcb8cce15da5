/* test_status_text.c: what status prints, as a whole. */
#include "cli/status_text.h"

#include "base/utf8.h"
#include "unit.h"

#include <string.h>

static const int64_t now_ms = 1790000000000;

static struct talk_status scene(void)
{
    static struct node_view nodes[3];
    static struct insight_demand demands[2];
    nodes[0] = (struct node_view){.name = STR("head"),
                                  .reason = STR(""),
                                  .type = STR("head"),
                                  .machine = STR("m5.large"),
                                  .id = STR("i-0f2"),
                                  .public_ip = STR("198.51.100.7"),
                                  .is_head = true,
                                  .phase = PHASE_READY,
                                  .born_ms = now_ms - 3600000,
                                  .price = 96000};
    nodes[1] = (struct node_view){.name = STR("worker-1"),
                                  .type = STR("gpu"),
                                  .machine = STR("g5.xlarge"),
                                  .id = STR("i-0b7"),
                                  .private_ip = STR("10.0.0.7"),
                                  .is_spot = true,
                                  .phase = PHASE_READY,
                                  .born_ms = now_ms - 720000,
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
    demands[0] = (struct insight_demand){.shape = STR("{GPU: 1}"),
                                         .count = 4,
                                         .unmet = 4,
                                         .why = STR("gpu is at its max_workers"),
                                         .since_ms = now_ms - 12000};
    demands[1] = (struct insight_demand){.source = INSIGHT_GROUP,
                                         .shape = STR("{CPU: 1} * 3 (PACK)"),
                                         .labels = STR("zone in (a)"),
                                         .count = 1};
    return (struct talk_status){.cluster = STR("demo"),
                                .version = STR("0.1.0"),
                                .status = {.ray_version = STR("2.60.0"),
                                           .ray_address = STR("10.0.0.4:6379"),
                                           .stance = STR("acting"),
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

static const char *print(struct buf *out, struct arena *arena, const struct talk_status *said,
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
    struct talk_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    assert_string_equal(
        print(&out, &arena, &said, true, 0),
        "======== Autoscaler status\n"
        "\n"
        "Cluster demo   Ray 2.60.0 on 10.0.0.4:6379: 2 nodes joined   $0.49/h of at most "
        "$20.00/h   (acting)\n"
        "\n"
        "NAME      TYPE  MACHINE         ID     STATE           ADDRESS       AGE  $/H    NOTE\n"
        "head      head  m5.large        i-0f2  ready           198.51.100.7  60m  0.096\n"
        "worker-1  gpu   g5.xlarge spot  i-0b7  ready, idle 3m  10.0.0.7      12m  0.390  1 for "
        "pending requests\n"
        "worker-2  gpu                          set-up 2/5                    -    -      pip "
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
    struct talk_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    said.status.launching = STR("the cloud was not seen yet");
    said.status.seen_ms = now_ms - 45000;
    said.status.price = said.status.price_limit = -1;
    const char *text = print(&out, &arena, &said, false, 0);
    assert_non_null(strstr(text, "joined   (acting)\n"
                                 "Nothing is launched: the cloud was not seen yet.\n"
                                 "Ray was last seen 45s ago.\n\nNAME"));
    said.status.stance = STR("standing by: somebody else acts");
    text = print(&out, &arena, &said, false, 0);
    assert_null(strstr(text, "Nothing is launched"));
    arena_clear(&arena);
}

static void long_reasons_are_cut_on_a_screen(void **state)
{
    struct arena arena;
    AUTO_BUF struct buf out;
    struct talk_status said = scene();
    (void)state;
    arena_init(&arena);
    buf_init(&out, 1 << 20);
    said.demands[0].why = STR(
        "1x GPU: every type that fits is at its max_workers (gpu: 4), and so on");
    const char *text = print(&out, &arena, &said, false, 100);
    size_t widest = 0;
    for (struct str rest = str_from(text); rest.len > 0;) {
        struct str line = str_cut(&rest, '\n');
        size_t wide = str_starts(line, "Cluster") ? 0 : utf8_width(line);
        widest = wide > widest ? wide : widest;
    }
    assert_int_equal(widest, 100);
    assert_non_null(strstr(text, "12s  1x GPU: every type"));
    assert_null(strstr(text, "and so on"));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_told),
        cmocka_unit_test(what_is_not_as_it_should_be_is_told),
        cmocka_unit_test(long_reasons_are_cut_on_a_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
