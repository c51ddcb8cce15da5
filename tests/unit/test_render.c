/* test_render.c: the display at several sizes, byte for byte, and the lines of a pipe. */
#include "cli/progress/render.h"

#include "base/utf8.h"
#include "live_scene.h"
#include "unit.h"

#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

static struct picture whole(void)
{
    static const struct str notes[] = {{"the head's service took over", 28}};
    return (struct picture){
        .cluster = {"demo", 4},
        .where = {"aws us-west-2", 13},
        .things = {"security group sg-0a1, key shoal-demo", 37},
        .nodes = scene_nodes,
        .node_count = ARRAY_LEN(scene_nodes),
        .notes = notes,
        .note_count = 1,
        .status = scene_status,
        .now_ms = SCENE_NOW_MS,
    };
}

static void check_drawing(const struct picture *picture, size_t columns, size_t lines,
                          const char *expected)
{
    AUTO_BUF struct buf out;
    struct picture_frame frame = {columns, lines, false};
    buf_init(&out, 100000);
    picture_draw(&out, picture, &frame);
    assert_str(buf_str(&out), expected);
}

static void a_picture_of_the_usual_size(void **state)
{
    struct picture picture = whole();
    (void)state;
    check_drawing(
        &picture, 100, 24,
        "Cluster demo   aws us-west-2                                           $0.17/h\n"
        "\n"
        "  created   security group sg-0a1, key shoal-demo\n"
        "  head      i-0f2a" ELLIPSIS "  m5.large  198.51.100.7  ready       31s\n"
        "  worker-1  i-0b7    m5.large  spot          setup 3/5   24s  pip install -r "
        "requirements.txt\n"
        "  worker-2  i-0c1    m5.large  spot          failed      22s  setup command 3 of 5\n"
        "\n"
        "the head's service took over\n"
        "Ray 2.60.0 on 198.51.100.7: 1 of 3 nodes joined.\n");
}

static void a_narrow_screen_leaves_out_what_matters_least(void **state)
{
    struct picture picture = whole();
    (void)state;
    picture.note_count = 0;
    check_drawing(&picture, 40, 24,
                  "Cluster demo   aws us-west-2    $0.17/h\n"
                  "\n"
                  "  created   security group sg-0a1, key" ELLIPSIS "\n"
                  "  head      i-0f2a" ELLIPSIS "  ready       31s\n"
                  "  worker-1  i-0b7    setup 3/5   24s\n"
                  "  worker-2  i-0c1    failed      22s\n"
                  "\n"
                  "Ray 2.60.0 on 198.51.100.7: 1 of 3 nod" ELLIPSIS "\n");
}

static void no_line_is_wider_than_any_screen(void **state)
{
    struct picture picture = whole();
    (void)state;
    for (size_t columns = 1; columns < 200; columns++) {
        AUTO_BUF struct buf out;
        struct picture_frame frame = {columns, 24, false};
        buf_init(&out, 100000);
        picture_draw(&out, &picture, &frame);
        for (struct str rest = buf_str(&out); rest.len > 0;) {
            assert_true(utf8_width(str_cut(&rest, '\n')) <= columns);
        }
    }
}

static void colours_underline_only(void **state)
{
    AUTO_BUF struct buf out;
    struct picture picture = whole();
    struct picture_frame frame = {100, 24, true};
    (void)state;
    buf_init(&out, 100000);
    picture_draw(&out, &picture, &frame);
    assert_true(str_find(buf_str(&out), "\033[32m  head ") != SIZE_MAX);
    assert_true(str_find(buf_str(&out), "\033[1;31m  worker-2 ") != SIZE_MAX);
    assert_true(str_find(buf_str(&out), "setup command 3 of 5\033[0m\n") != SIZE_MAX);
}

enum { MANY = 1000 };

/* More nodes than lines: nodes with problems by name, the others counted. */
static void many_nodes_are_counted(void **state)
{
    static struct node_view many[MANY];
    struct picture picture = whole();
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        many[i] = scene_nodes[1];
        many[i].phase = i < 600 ? PHASE_READY : PHASE_CONNECTING;
        many[i].detail = (struct str){"", 0};
        many[i].requested_ms = SCENE_NOW_MS - 1000 * (int64_t)(i % 7);
    }
    many[0] = scene_nodes[0];
    many[3] = scene_nodes[2];
    picture.nodes = many;
    picture.node_count = MANY;
    picture.note_count = 0;
    check_drawing(
        &picture, 80, 24,
        "Cluster demo   aws us-west-2                                          $39.06/h\n"
        "\n"
        "  created   security group sg-0a1, key shoal-demo\n"
        "  head      i-0f2a" ELLIPSIS "  m5.large  198.51.100.7  ready             31s\n"
        "  worker-2  i-0c1    m5.large  spot          failed            22s  setup comm" ELLIPSIS
        "\n"
        "     400 nodes  waiting for ssh, the slowest for 6s: worker-1\n"
        "     598 nodes  ready\n"
        "\n"
        "Ray 2.60.0 on 198.51.100.7: 1 of 3 nodes joined.\n");
}

static void a_picture_never_fills_the_screen(void **state)
{
    static struct node_view many[MANY];
    struct picture picture = whole();
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        many[i] = scene_nodes[i % 3];
        many[i].phase = (enum node_phase)(i % PHASE_COUNT);
    }
    picture.nodes = many;
    for (size_t lines = 24; lines < 60; lines++) {
        for (size_t count = 0; count < 80; count++) {
            AUTO_BUF struct buf out;
            struct picture_frame frame = {80, lines, false};
            size_t drawn = 0;
            picture.node_count = count;
            buf_init(&out, 100000);
            picture_draw(&out, &picture, &frame);
            for (size_t i = 0; i < out.len; i++) {
                drawn += out.ptr[i] == '\n';
            }
            assert_true(drawn < lines);
        }
    }
}

static void check_line(struct node_view view, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 10000);
    picture_say_node(&out, &view);
    assert_str(buf_str(&out), expected);
}

static void lines_for_a_pipe(void **state)
{
    struct node_view view = scene_nodes[1];
    (void)state;
    check_line(view, "worker-1 setup 3 of 5: pip install -r requirements.txt");
    check_line(scene_nodes[0], "head ready after 31s");
    check_line(scene_nodes[2], "worker-2 failed in setup command 3 of 5: pip install torch==9.9");
    view.phase = PHASE_BOOTING;
    check_line(view, "worker-1 booting: m5.large i-0b7");
    view.phase = PHASE_CONNECTING;
    view.private_ip = STR("10.0.0.5");
    view.detail = STR("");
    check_line(view, "worker-1 waiting for ssh: 10.0.0.5");
    view.detail = STR("Connection refused");
    check_line(view, "worker-1 waiting for ssh: 10.0.0.5: Connection refused");
    view.phase = PHASE_TERMINATED;
    view.reason = STR("ended by the user\nand more");
    check_line(view, "worker-1 terminated: ended by the user");
}

static void news_are_other_phases_and_steps(void **state)
{
    struct node_view before = scene_nodes[1];
    struct node_view now = scene_nodes[1];
    (void)state;
    assert_true(picture_is_news(NULL, &now));
    assert_false(picture_is_news(&before, &now));
    now.detail = STR("another file");
    assert_false(picture_is_news(&before, &now));
    now.step++;
    assert_true(picture_is_news(&before, &now));
    before = now;
    before.phase = now.phase = PHASE_CONNECTING; /* ssh's output is shown */
    assert_false(picture_is_news(&before, &now));
    now.detail = STR("percent_dollar_expand: failed");
    assert_true(picture_is_news(&before, &now));
    now.detail = STR("");
    assert_false(picture_is_news(&before, &now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_of_the_usual_size),
        cmocka_unit_test(a_narrow_screen_leaves_out_what_matters_least),
        cmocka_unit_test(no_line_is_wider_than_any_screen),
        cmocka_unit_test(colours_underline_only),
        cmocka_unit_test(many_nodes_are_counted),
        cmocka_unit_test(a_picture_never_fills_the_screen),
        cmocka_unit_test(lines_for_a_pipe),
        cmocka_unit_test(news_are_other_phases_and_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
