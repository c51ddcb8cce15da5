/* test_up_failure.c: the reason of a failed `up` is kept until one succeeds. */
#include "app/launch/up_failure.h"

#include "fixture.h"
#include "io/file.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct scene {
    char folder[64];
    struct arena arena;
    struct cluster_state state;
    struct err err;
};

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/shoal-failure-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    arena_init(&scene->arena);
    scene->state.folder = scene->folder;
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(scratch_remove(scene->folder), 0);
    arena_clear(&scene->arena);
    free(scene);
    return 0;
}

static struct up_failure last(struct scene *scene)
{
    struct up_failure failure;
    assert_true(up_failure_read(&scene->state, &scene->arena, &failure, &scene->err));
    return failure;
}

static void fail_up(struct scene *scene, struct str why)
{
    assert_true(
        up_failure_write(&scene->state, &(struct up_failure){1790000000123, why}, &scene->err));
}

static const char *path(struct scene *scene)
{
    return arena_printf(&scene->arena, "%s/last-failure", scene->folder).ptr;
}

static void a_reason_is_read_again(void **state)
{
    struct scene *scene = *state;
    struct stat status;
    assert_int_equal(last(scene).why.len, 0);
    fail_up(scene, STR("no capacity\nin us-west-2a"));
    struct up_failure failure = last(scene);
    assert_int_equal(failure.wall_ms, 1790000000123);
    assert_true(str_is(failure.why, "no capacity\nin us-west-2a"));
    assert_int_equal(stat(path(scene), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_later_reason_replaces_it(void **state)
{
    struct scene *scene = *state;
    fail_up(scene, STR("first"));
    fail_up(scene, STR("second"));
    assert_true(str_is(last(scene).why, "second"));
}

static void success_removes_it(void **state)
{
    struct scene *scene = *state;
    assert_true(up_failure_remove(&scene->state, &scene->err));
    fail_up(scene, STR("first"));
    assert_true(up_failure_remove(&scene->state, &scene->err));
    assert_int_equal(last(scene).why.len, 0);
}

static void a_long_reason_is_cut(void **state)
{
    struct scene *scene = *state;
    char text[3 * UP_FAILURE_BYTES_MAX];
    memset(text, 'x', sizeof(text));
    fail_up(scene, (struct str){text, sizeof(text)});
    assert_int_equal(last(scene).why.len, UP_FAILURE_BYTES_MAX);
}

static void what_cannot_be_read_or_removed_is_an_error(void **state)
{
    struct scene *scene = *state;
    struct up_failure failure;
    assert_true(file_write(path(scene), STR("damaged"), 0600, &scene->err));
    assert_false(up_failure_read(&scene->state, &scene->arena, &failure, &scene->err));
    assert_non_null(strstr(scene->err.text, "last-failure does not start with a time"));
    assert_true(up_failure_remove(&scene->state, &scene->err));
    assert_int_equal(mkdir(path(scene), 0700), 0);
    assert_false(up_failure_remove(&scene->state, &scene->err));
    assert_non_null(strstr(scene->err.text, "cannot remove "));
    assert_false(up_failure_write(&scene->state, &(struct up_failure){1, STR("no")}, &scene->err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reason_is_read_again),
        TEST(a_later_reason_replaces_it),
        TEST(success_removes_it),
        TEST(a_long_reason_is_cut),
        TEST(what_cannot_be_read_or_removed_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
