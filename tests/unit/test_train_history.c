/* test_train_history.c: the events of a training job, and the count of its steps. */
#include "app/train/train_history.h"

#include "app/train/train_progress.h"
#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static int open_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/shoal-history-XXXXXX");
    bool is_made = mkdtemp(folder) != NULL;
    snprintf(path, sizeof(path), "%s/events.jsonl", folder);
    return is_made ? 0 : -1;
}

static int close_folder(void **state)
{
    (void)state;
    return scratch_remove(folder);
}

static void add_event(const char *kind, int64_t generation, double pause)
{
    struct err err;
    json_t *event = json_pack("{s:s, s:f, s:I, s:f, s:f, s:s}", "event", kind, "time", 1000.5,
                              "generation", (json_int_t)generation, "pause_s", pause, "save_s",
                              pause / 4, "cause", "more slots are ready");
    assert_true(train_history_add(folder, event, &err));
    json_decref(event);
}

static void append(const char *text)
{
    struct err err;
    assert_true(file_append(path, str_from(text), 0600, &err));
}

static void events_are_read_in_order(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct train_history history;
    (void)state;
    add_event("run", 0, 0);
    add_event("generation", 1, 3);
    add_event("generation", 2, 0.5);
    add_event("generation", 3, 1.5);
    add_event("a-newer-kind", 3, 0);
    add_event("end", 3, 0);
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 5);
    assert_int_equal(history.skipped, 0);
    assert_int_equal(history.events[0].kind, HISTORY_RUN);
    assert_int_equal(history.events[2].generation, 2);
    assert_str(history.events[2].text, "more slots are ready");
    assert_int_equal(history.events[4].kind, HISTORY_END);
    struct history_sums sums = train_history_sums(&history); /* without the first generation */
    assert_int_equal(sums.pauses, 2);
    assert_true(sums.parts.total > 1.99 && sums.parts.total < 2.01);
    assert_true(sums.parts.save > 0.49 && sums.parts.save < 0.51);
}

/* A trainer was killed while it wrote, or the disk was full. */
static void a_torn_line_is_ignored(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct train_history history;
    (void)state;
    add_event("run", 0, 0);
    append("{\"event\":\"generation\",\"ti");
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.skipped, 1);
    add_event("generation", 2, 1); /* is not a part of the torn line */
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.skipped, 1);
    assert_int_equal(history.events[1].generation, 2);
    append("{\"event\":\"end\",\"time\":1000.0}"); /* whole, but for its newline */
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 2);
    append("\nnot json\n[]\n{\"event\":\"end\",\"time\":\"x\"}\n");
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 3);
}

static void the_history_is_bounded(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct train_history history;
    char old[128];
    char *line = malloc(HISTORY_LINE_BYTES_MAX);
    struct err err;
    (void)state;
    snprintf(old, sizeof(old), "%s/events.1.jsonl", folder);
    memset(line, 'x', HISTORY_LINE_BYTES_MAX);
    line[HISTORY_LINE_BYTES_MAX - 1] = '\n';
    for (size_t i = 0; i <= HISTORY_FILE_BYTES_MAX / HISTORY_LINE_BYTES_MAX; i++) {
        assert_true(file_append(path, (struct str){line, HISTORY_LINE_BYTES_MAX}, 0600, &err));
    }
    add_event("generation", 7, 1);
    assert_int_equal(file_stat(old).kind, FILE_REGULAR);
    train_history_read(folder, &arena, &history);
    assert_int_equal(history.count, 1);
    assert_int_equal(history.events[0].generation, 7);
    free(line);
    json_t *event = json_object();
    char *text = malloc(HISTORY_LINE_BYTES_MAX + 1);
    memset(text, 'y', HISTORY_LINE_BYTES_MAX);
    text[HISTORY_LINE_BYTES_MAX] = '\0';
    json_object_set_new(event, "message", json_string(text));
    assert_false(train_history_add(folder, event, &err));
    json_decref(event);
    free(text);
}

static void a_missing_folder_is_reported(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct train_history history;
    struct err err;
    json_t *event = json_object();
    (void)state;
    train_history_read("/dev/null", &arena, &history);
    assert_int_equal(history.count, 0);
    assert_false(train_history_add("/dev/null", event, &err));
    assert_like(str_from(err.text), "cannot record an event in /dev/null/events.jsonl: *");
    json_decref(event);
}

/* ---- steps ---- */

static void steps_go_back_to_the_checkpoint(void **state)
{
    struct train_progress progress = {0};
    (void)state;
    assert_int_equal(train_progress_start(&progress, 0), 0);
    train_progress_count(&progress, 100, 10);
    train_progress_saved(&progress, 1001);
    train_progress_count(&progress, 130, 13);
    train_progress_saved(&progress, 1001); /* the second report of the same one */
    assert_int_equal(train_progress_step_of(&progress, 1001), 100);
    assert_int_equal(train_progress_step_of(&progress, 1002), -1);
    assert_int_equal(train_progress_start(&progress, 1001), 30); /* repeated */
    assert_int_equal(progress.step, 100);
    train_progress_count(&progress, 5, 20);
    assert_int_equal(progress.step, 105);
    assert_int_equal(progress.known, 130);
    assert_int_equal(train_progress_start(&progress, 9999), 0); /* unknown: as it was */
    assert_int_equal(progress.step, 105);
}

static void the_rate_excludes_pauses(void **state)
{
    struct train_progress progress = {0};
    (void)state;
    train_progress_start(&progress, 0);
    train_progress_count(&progress, 0, 1);
    train_progress_count(&progress, 0, 60);
    train_progress_count(&progress, 10, 61);
    assert_true(progress.rate == 0);
    train_progress_count(&progress, 15, 62); /* too early */
    assert_true(progress.rate == 0);
    train_progress_count(&progress, 50, 65);
    assert_true(progress.rate > 9.99 && progress.rate < 10.01);
    train_progress_count(&progress, 90, 67); /* 20 per second */
    assert_true(progress.rate > 14.99 && progress.rate < 15.01);
}

static void only_the_newest_checkpoints_are_known(void **state)
{
    struct train_progress progress = {0};
    (void)state;
    for (int64_t i = 1; i <= PROGRESS_CHECKPOINTS_MAX + 2; i++) {
        train_progress_count(&progress, i * 10, (double)i);
        train_progress_saved(&progress, i);
    }
    assert_int_equal(progress.checkpoint_count, PROGRESS_CHECKPOINTS_MAX);
    assert_int_equal(train_progress_step_of(&progress, 2), -1);
    assert_int_equal(train_progress_step_of(&progress, 3), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_are_read_in_order, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_torn_line_is_ignored, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(the_history_is_bounded, open_folder, close_folder),
        cmocka_unit_test(a_missing_folder_is_reported),
        cmocka_unit_test(steps_go_back_to_the_checkpoint),
        cmocka_unit_test(the_rate_excludes_pauses),
        cmocka_unit_test(only_the_newest_checkpoints_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
