/* test_up_follow.c: when `up` is done, according to the head's service. */
#include "app/launch/up_internal.h"

#include "unit.h"

#include <string.h>

struct scene {
    struct clock clock; /* moved by the test */
    int64_t now_ms;
    struct up up;
    struct launcher_setup setup;
    struct launcher_result result;
    struct cloud_session session;
    struct arena arena;
    char note[200];
};

static int64_t now_of(void *context)
{
    return ((struct scene *)context)->now_ms;
}

static void apply_status(void *context, const struct ctl_status *status)
{
    (void)context;
    (void)status;
}

static void apply_note(void *context, struct str text)
{
    struct scene *scene = context;
    snprintf(scene->note, sizeof(scene->note), "%.*s", STR_ARG(text));
}

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err;
    arena_init(&scene->arena);
    scene->now_ms = 1000;
    scene->clock = (struct clock){now_of, now_of, scene};
    assert_true(loop_open(&scene->clock, &scene->session.loop, &err));
    scene->setup.hooks = (struct launcher_hooks){
        .context = scene, .status = apply_status, .note = apply_note};
    scene->up.launch = (struct cluster_session){.setup = &scene->setup,
                                                .result = &scene->result,
                                                .arena = &scene->arena,
                                                .session = &scene->session};
    scene->up.wait_note = loop_timer_new(scene->session.loop, up_say_wait, &scene->up);
    scene->up.ray_wait = loop_timer_new(scene->session.loop, up_start_ray_again, &scene->up);
    scene->up.serial = 1000;
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    loop_timer_free(scene->up.wait_note);
    loop_timer_free(scene->up.ray_wait);
    loop_run(scene->session.loop); /* nothing is left to wait for; a stop is consumed */
    loop_close(scene->session.loop);
    arena_clear(&scene->arena);
    free(scene);
    return 0;
}

static void tell(struct scene *scene, int64_t serial, bool is_settled)
{
    struct ctl_line line = {.kind = CTL_STATUS,
                            .status = {.serial = serial, .is_settled = is_settled, .joined = 2}};
    up_take_line(&scene->up, &line);
}

/* The service restarts with the new handover; until then it reports the old one. */
static void an_older_configuration_that_is_settled_is_not_ours(void **state)
{
    struct scene *scene = *state;
    tell(scene, 999, true);
    assert_false(scene->up.is_settled);
    tell(scene, 1000, false);
    assert_false(scene->up.is_settled);
    tell(scene, 1000, true);
    assert_true(scene->up.is_settled);
    assert_int_equal(scene->up.launch.err.kind, ERR_NONE);
    assert_int_equal(scene->result.node_count, 2);
}

static void one_that_replaced_ours_is_an_error(void **state)
{
    struct scene *scene = *state;
    tell(scene, 1001, true);
    assert_false(scene->up.is_settled);
    assert_int_equal(scene->up.launch.err.kind, ERR_EXISTS);
    assert_non_null(strstr(scene->up.launch.err.text, "another `shoal up`"));
}

/* Nothing was sent: the present goal is the requested one. */
static void without_a_handover_any_will_do(void **state)
{
    struct scene *scene = *state;
    scene->up.serial = 0;
    tell(scene, 999, true);
    assert_true(scene->up.is_settled);
}

static void a_refused_update_fails(void **state)
{
    struct scene *scene = *state;
    up_take_line(&scene->up, &(struct ctl_line){
                                 .kind = CTL_ERROR, .text = STR("no room"), .about = STR("log")});
    assert_non_null(strstr(scene->note, "no room"));
    assert_int_equal(scene->up.launch.err.kind, ERR_NONE);
    up_take_line(&scene->up, &(struct ctl_line){.kind = CTL_ERROR,
                                                .text = STR("nothing was applied"),
                                                .about = STR("update")});
    assert_int_not_equal(scene->up.launch.err.kind, ERR_NONE);
    assert_non_null(strstr(scene->up.launch.err.text, "nothing was applied"));
}

static void what_is_waited_for_is_said(void **state)
{
    struct scene *scene = *state;
    struct ctl_line line = {.kind = CTL_STATUS, .status = {.waits_for = STR("worker-1 (joining)")}};
    up_say_wait(&scene->up);
    assert_string_equal(scene->note, "");
    up_take_line(&scene->up, &line);
    up_say_wait(&scene->up);
    assert_string_equal(scene->note, "still waiting for worker-1 (joining)");
}

static void say_ray(struct scene *scene, bool is_gone, int64_t seen_ms)
{
    struct ctl_line line = {
        .kind = CTL_STATUS,
        .status = {.serial = 1000, .is_settled = true, .is_ray_gone = is_gone, .seen_ms = seen_ms}};
    up_take_line(&scene->up, &line);
}

static void a_head_without_ray_is_not_done(void **state)
{
    struct scene *scene = *state;
    scene->up.is_update = true;
    say_ray(scene, true, 500); /* its steps are about to start Ray */
    assert_true(scene->up.is_settled && !scene->up.is_ray_gone);
    scene->up.is_head_done = true;
    scene->up.is_tagging = true; /* otherwise the end of `up` stops the loop */
    say_ray(scene, true, 500);
    assert_true(!scene->up.is_settled && scene->up.is_ray_gone);
    say_ray(scene, false, 500);
    assert_true(scene->up.is_settled && !scene->up.is_ray_gone);
}

/* The connection is lost while `up` waits: what the service said last may be wrong now. */
static void a_ray_that_is_not_seen_is_not_restarted(void **state)
{
    enum { LONG_MS = 60 * 1000 };
    struct scene *scene = *state;
    struct err why;
    scene->setup.no_restart = true; /* the end of the wait is an error */
    scene->up.is_update = scene->up.is_head_done = scene->up.is_tagging = true;
    for (int round = 0; round < 2; round++) {
        bool is_lost = round == 0;
        say_ray(scene, true, 500);
        if (is_lost) {
            err_set(&why, ERR_UNAVAILABLE, "the connection was closed");
            assert_false(up_has_lost_head(&scene->up, &why));
            assert_false(scene->up.is_ray_gone);
            loop_timer_stop(scene->up.wait_note);
        }
        scene->now_ms += LONG_MS;
        loop_run(scene->session.loop); /* returns if there is nothing to wait for */
        assert_int_equal(scene->up.launch.err.kind, is_lost ? ERR_NONE : ERR_UNAVAILABLE);
    }
}

static void a_dead_ray_is_not_started_against_the_user_or_twice(void **state)
{
    struct scene *scene = *state;
    scene->setup.no_restart = true;
    up_start_ray_again(&scene->up);
    assert_int_equal(scene->up.launch.err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(scene->up.launch.err.text, "without --no-restart"));
    assert_false(scene->up.launch.restarts_ray);
    scene->up.launch.err = (struct err){0};
    scene->setup.no_restart = false;
    scene->up.launch.restarts_ray = true;
    up_start_ray_again(&scene->up);
    assert_non_null(strstr(scene->up.launch.err.text, "was started again and does not run"));
}

static void wait_for(struct scene *scene, const char *what, bool is_lease)
{
    struct ctl_line line = {
        .kind = CTL_STATUS,
        .status = {.waits_for = str_from(what), .waits_for_lease = is_lease},
    };
    up_take_line(&scene->up, &line);
    up_say_wait(&scene->up);
}

/* Its reason has another request number each time. */
static void a_service_without_a_lease_is_waited_for_two_minutes(void **state)
{
    struct scene *scene = *state;
    wait_for(scene, "the lease: denied (request 1)", true);
    assert_string_equal(scene->note, "still waiting for the lease: denied (request 1)");
    scene->now_ms += 120 * 1000 - 1;
    wait_for(scene, "the lease: denied (request 2)", true);
    assert_int_equal(scene->up.launch.err.kind, ERR_NONE);
    scene->now_ms += 1;
    wait_for(scene, "the lease: denied (request 3)", true);
    assert_int_equal(scene->up.launch.err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(scene->up.launch.err.text, "denied (request 3)"));
    assert_non_null(strstr(scene->up.launch.err.text, "run `shoal up` again to continue"));
}

static void a_service_that_gets_its_lease_is_waited_for_longer(void **state)
{
    struct scene *scene = *state;
    wait_for(scene, "the lease", true);
    scene->now_ms += 100 * 1000;
    wait_for(scene, "worker-1 (booting)", false);
    scene->now_ms += 100 * 1000;
    wait_for(scene, "the lease", true);
    scene->now_ms += 100 * 1000;
    wait_for(scene, "the lease", true);
    assert_int_equal(scene->up.launch.err.kind, ERR_NONE);
}

/* The service's sentence is for users: only the field says that it has no lease. */
static void a_sentence_about_the_lease_does_not_end_the_wait(void **state)
{
    struct scene *scene = *state;
    wait_for(scene, "the cluster lease", false);
    scene->now_ms += 300 * 1000;
    wait_for(scene, "the cluster lease", false);
    assert_int_equal(scene->up.launch.err.kind, ERR_NONE);
    assert_int_equal(scene->up.no_lease_since_ms, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

/* `down` ran elsewhere: `up` must not wait forever. */
static void a_head_that_is_gone_ends_the_wait(void **state)
{
    enum { ALMOST_MS = 5 * 60 * 1000 - 1 };
    struct scene *scene = *state;
    struct err why;
    err_set(&why, ERR_UNAVAILABLE, "no route to host");
    assert_false(up_has_lost_head(&scene->up, &why));
    scene->now_ms += ALMOST_MS;
    assert_false(up_has_lost_head(&scene->up, &why));
    tell(scene, 1000, false); /* an answer: the time counts from the next silence */
    scene->now_ms += 1;
    assert_false(up_has_lost_head(&scene->up, &why));
    scene->now_ms += ALMOST_MS + 1;
    assert_true(up_has_lost_head(&scene->up, &why));
    assert_int_equal(scene->up.launch.err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(scene->up.launch.err.text, "5 minutes"));
    assert_non_null(strstr(scene->up.launch.err.text, "no route to host"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_older_configuration_that_is_settled_is_not_ours),
        TEST(one_that_replaced_ours_is_an_error),
        TEST(without_a_handover_any_will_do),
        TEST(a_refused_update_fails),
        TEST(what_is_waited_for_is_said),
        TEST(a_head_without_ray_is_not_done),
        TEST(a_ray_that_is_not_seen_is_not_restarted),
        TEST(a_dead_ray_is_not_started_against_the_user_or_twice),
        TEST(a_service_without_a_lease_is_waited_for_two_minutes),
        TEST(a_service_that_gets_its_lease_is_waited_for_longer),
        TEST(a_sentence_about_the_lease_does_not_end_the_wait),
        TEST(a_head_that_is_gone_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
