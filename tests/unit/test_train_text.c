/* test_train_text.c: what users see of a training job: list, status, live line, report. */
#include "cli/train/train_text.h"

#include "cli/args.h"
#include "cli/train/train_command.h"
#include "cli/train/train_report.h"
#include "unit.h"

#include <string.h>

enum { ROOM = 1 << 20 };

static const struct train_view_slot slots[] = {
    {1, TRAIN_SLOT_RUNNING, 0, 2001, {"0123456789abcdef", 16}, {"10.0.0.4", 8}},
    {3, TRAIN_SLOT_PREPARING, -1, 0, {"", 0}, {"", 0}},
};

static struct train_view view_of(enum train_phase phase, bool is_running)
{
    return (struct train_view){
        .name = STR("demo"),
        .is_running = is_running,
        .phase = phase,
        .why = STR("the user asked for it"),
        .since = 1000,
        .generation = 2,
        .replicas = 3,
        .min = 1,
        .max = 4,
        .step = 1200,
        .rate = 11.84,
        .checkpoint = 2001,
        .checkpoint_step = 1100,
        .slots = slots,
        .slot_count = ARRAY_LEN(slots),
    };
}

static const struct history_event events[] = {
    {.kind = HISTORY_RUN, .time = 1000},
    {.kind = HISTORY_GENERATION, .time = 1010, .generation = 1, .replicas = 2},
    {.kind = HISTORY_RATE, .time = 1020, .rate = 8, .replicas = 2, .step = 80},
    {.kind = HISTORY_GENERATION,
     .time = 1030,
     .generation = 2,
     .replicas = 3,
     .replicas_before = 2,
     .repeated = 7,
     .text = {"a <b> & \"c\"", 11},
     .pause = {.total = 2, .save = 0.5, .transfer = 0.25, .start = 0.5, .load = 0.5}},
    {.kind = HISTORY_MESSAGE, .time = 1031, .text = {"slot 2\nended: <x>", 17}},
};
static const struct train_history history = {events, ARRAY_LEN(events), 0};

static void the_list_shows_every_job(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    struct train_view views[] = {view_of(TRAIN_RUNNING, true), view_of(TRAIN_RUNNING, false),
                                 view_of(TRAIN_SUCCEEDED, false)};
    buf_init(&out, ROOM);
    train_text_list(&out, views, ARRAY_LEN(views), 1090);
    assert_str(buf_str(&out), "job                   phase        replicas      step  since\n"
                              "demo                  training            3      1200  90s\n"
                              "demo                  interrupted         0      1200  90s\n"
                              "demo                  complete            0      1200  90s\n");
}

static void the_live_line_is_one_line(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    struct train_view view = view_of(TRAIN_RUNNING, true);
    buf_init(&out, ROOM);
    train_text_live(&out, &view, 200);
    assert_str(buf_str(&out), "training  step 1200  11.8 steps/s  3 of 4 replicas  generation 2  "
                              "checkpoint of step 1100");
    view.stalled = 5;
    view.dollars_per_hour = 1.5;
    view.rate = 0.25;
    out.len = 0;
    train_text_live(&out, &view, 200);
    assert_str(buf_str(&out), "training  step 1200  0.25 steps/s  3 of 4 replicas  generation 2  "
                              "checkpoint of step 1100  5 s without a step  $1.50/h");
    out.len = 0;
    view = view_of(TRAIN_WAITING, true);
    view.checkpoint = 0;
    train_text_live(&out, &view, 40);
    assert_str(buf_str(&out), "waiting  step 1200  -  0 of 4 replicas …");
}

static bool status_has(const struct train_view *view, const char *text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, ROOM);
    train_text_status(&out, view, &history, "/home/x/.shoal/train/demo", 1090);
    return str_find(buf_str(&out), text) != SIZE_MAX;
}

static void the_status_names_replicas_and_pauses(void **state)
{
    (void)state;
    struct train_view view = view_of(TRAIN_RUNNING, true);
    assert_true(status_has(&view, "demo: training for 90s\n"));
    assert_true(status_has(&view, "  replicas    3 (from 1 to 4)\n"));
    assert_true(status_has(&view, "  step        1200, 11.8 steps/s\n"));
    view.samples = 757.6;
    view.dollars_per_hour = 0.48;
    assert_true(status_has(&view, "  step        1200, 11.8 steps/s  758 samples/s\n"
                                  "  price       $0.48/h\n"));
    assert_true(status_has(&view, "2001 of step 1100, on 1 slot; shoal train fetch demo copies"));
    assert_true(status_has(&view, "1, 2.00 s in all: save 0.50, transfer 0.25, start 0.50, "
                                  "rendezvous 0.00, load and first step 0.50; 7 steps repeated"));
    assert_true(status_has(&view, "  slot 1    training   rank 0    10.0.0.4 (node 01234567)  "
                                  "checkpoint 2001\n"));
    assert_true(status_has(&view, "2 -> 3 replicas: a <b> & \"c\"; 2.00 s without a step\n"));
    assert_false(status_has(&view, "resume"));
    view.file = STR("my.yaml");
    assert_true(status_has(&view, "shoal train fetch my.yaml demo copies"));
}

static void the_status_says_how_to_continue(void **state)
{
    (void)state;
    struct train_view view = view_of(TRAIN_STOPPED, false);
    view.stored = 2001;
    assert_true(status_has(&view, "demo: stopped for 90s (the user asked for it)\n"));
    assert_true(status_has(&view, "in /home/x/.shoal/train/demo/kept/2001\n"));
    assert_true(status_has(&view, "\nTo continue: shoal train resume demo\n"));
    view.file = STR("my.yaml"); /* the command was run on another machine */
    assert_true(status_has(&view, "\nTo continue: shoal train resume my.yaml demo\n"));
    view = view_of(TRAIN_RUNNING, false);
    assert_true(status_has(&view, "demo: interrupted for"));
    assert_true(status_has(&view, "The trainer of this job is gone."));
    view = view_of(TRAIN_SUCCEEDED, false);
    assert_false(status_has(&view, "resume"));
}

static void the_report_needs_no_other_file(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf out;
    static const char *const wanted[] = {
        "<title>training job demo</title>",
        "a &lt;b&gt; &amp; &quot;c&quot;",
        "slot 2<br>ended: &lt;x&gt;",
        "2 &#8594; 3",
        "<title>save 0.50 s</title>",
        "<title>transfer 0.25 s</title>",
        "<title>start 0.25 s</title>",
        "<title>other 0.50 s</title>",
        "8.00 steps/s with 2 replicas",
        "prefers-color-scheme:dark",
        "<dd>1, 2.0 s</dd>",
        "<dd>96.0&#160;%</dd>",
    };
    static const char *const unwanted[] = {"http:", "https:", "<script", "<link", "nan", "inf\""};
    struct train_view view = view_of(TRAIN_RUNNING, true);
    (void)state;
    buf_init(&out, ROOM);
    train_report_add(&out, &arena, &view, &history, 1050);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        if (str_find(buf_str(&out), wanted[i]) == SIZE_MAX) {
            fail_msg("the page lacks %s", wanted[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(unwanted); i++) {
        assert_true(str_find(buf_str(&out), unwanted[i]) == SIZE_MAX);
    }
    out.len = 0;
    train_report_add(&out, &arena, &view, &(struct train_history){0}, 1050); /* nothing yet */
    assert_true(str_find(buf_str(&out), "nan") == SIZE_MAX);
    assert_true(str_ends(buf_str(&out), "</html>\n"));
}

/* The same command runs on the head, with the options that were given here. */
static void every_option_of_a_part_goes_to_the_head(void **state)
{
    static const struct verb *const parts[] = {&train_ls,   &train_status, &train_logs_part,
                                               &train_stop, &train_resume, &train_fetch};
    static const char *const none[] = {NULL};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct train_part_fields given = {.rank = "1", .follow = true};
    struct args_words words;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) { /* they are passed as these fields */
        assert_int_equal(parts[i]->fields_size, sizeof(struct train_part_fields));
    }
    args_list(&train_logs_part, &given, none, &arena, &words);
    assert_int_equal(words.count, 2);
    assert_string_equal(words.items[0], "--rank=1");
    assert_string_equal(words.items[1], "--follow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_of_a_part_goes_to_the_head),
        cmocka_unit_test(the_list_shows_every_job),
        cmocka_unit_test(the_live_line_is_one_line),
        cmocka_unit_test(the_status_names_replicas_and_pauses),
        cmocka_unit_test(the_status_says_how_to_continue),
        cmocka_unit_test(the_report_needs_no_other_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
