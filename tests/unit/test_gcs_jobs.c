/* test_gcs_jobs.c: drivers, and those that request capacity, in replies of the GCS. */
#include "ray/gcs.h"
#include "ray/wire.h"

#include "unit.h"

static void add_job(struct buf *reply, const char *space, bool is_dead)
{
    AUTO_BUF struct buf config;
    AUTO_BUF struct buf job;
    buf_init(&config, 1024);
    buf_init(&job, 1024);
    wire_add_text(&config, 5, str_from(space));
    wire_add_bytes(&job, 1, STR("\x01\x00\x00\x00"));
    wire_add_number(&job, 2, is_dead);
    wire_add_bytes(&job, 6, buf_str(&config));
    wire_add_number(&job, 7, 1794297600000);
    wire_add_bytes(reply, 2, buf_str(&job));
}

static void drivers_that_live_count_and_rays_own_do_not(void **state)
{
    AUTO_BUF struct buf reply;
    struct err err;
    size_t count = 99;
    (void)state;
    buf_init(&reply, 4096);
    assert_true(gcs_drivers_read(STR(""), &count, &err));
    assert_int_equal(count, 0);
    wire_add_bytes(&reply, 1, STR("")); /* a status that is fine */
    add_job(&reply, "_ray_internal_dashboard", false);
    add_job(&reply, "mine", true);
    assert_true(gcs_drivers_read(buf_str(&reply), &count, &err));
    assert_int_equal(count, 0);
    add_job(&reply, "mine", false);
    add_job(&reply, "", false);
    assert_true(gcs_drivers_read(buf_str(&reply), &count, &err));
    assert_int_equal(count, 2);
}

/* If it is not known, there may be a driver. */
static void what_is_broken_or_refused_is_not_known(void **state)
{
    AUTO_BUF struct buf reply;
    AUTO_BUF struct buf status;
    struct err err;
    size_t count;
    (void)state;
    buf_init(&reply, 4096);
    buf_init(&status, 100);
    add_job(&reply, "mine", true);
    for (size_t len = 1; len < reply.len; len++) {
        assert_false(gcs_drivers_read(str_sub(buf_str(&reply), 0, len), &count, &err));
    }
    wire_add_number(&status, 1, 14);
    wire_add_bytes(&reply, 1, buf_str(&status));
    assert_false(gcs_drivers_read(buf_str(&reply), &count, &err));
    assert_int_equal(err.kind, ERR_PROTOCOL);
}

/* ---- who requests capacity ---- */

enum { ALIVE = 2, DEAD = 4 };

static void add_actor(struct buf *reply, const char *class, const char *name, int state)
{
    AUTO_BUF struct buf actor;
    buf_init(&actor, 1024);
    wire_add_bytes(&actor, 4, (struct str){"\x02\x00\x00\x00", 4});
    wire_add_number(&actor, 6, state);
    wire_add_text(&actor, 12, str_from(name));
    wire_add_text(&actor, 19, str_from(name));
    wire_add_text(&actor, 23, str_from(class));
    wire_add_bytes(reply, 2, buf_str(&actor));
}

static void runs_of_ray_train_are_found_by_their_controller(void **state)
{
    AUTO_BUF struct buf reply;
    struct gcs_requesters found;
    struct err err;
    (void)state;
    buf_init(&reply, 4096);
    assert_true(gcs_requesters_read(STR(""), &found, &err));
    assert_false(found.has_coordinator);
    add_actor(&reply, "TrainController", "", DEAD);
    add_actor(&reply, "Mine", "mine", ALIVE);
    assert_true(gcs_requesters_read(buf_str(&reply), &found, &err));
    assert_false(found.has_coordinator);
    assert_int_equal(found.run_count, 0);
    assert_string_equal(found.job, "");
    add_actor(&reply, "_AutoscalingCoordinatorActor", "AutoscalingCoordinator", ALIVE);
    add_actor(&reply, "TrainController", "", ALIVE);
    assert_true(gcs_requesters_read(buf_str(&reply), &found, &err));
    assert_true(found.has_coordinator);
    assert_int_equal(found.run_count, 1);
    assert_string_equal(found.job, "02000000");
    assert_false(gcs_requesters_read(str_sub(buf_str(&reply), 0, reply.len - 1), &found, &err));
    assert_int_equal(err.kind, ERR_PROTOCOL);
}

static void the_command_line_of_a_driver(void **state)
{
    AUTO_BUF struct buf reply;
    AUTO_BUF struct buf job;
    struct str entrypoint;
    struct err err;
    (void)state;
    buf_init(&reply, 4096);
    buf_init(&job, 4096);
    assert_true(gcs_entrypoint_read(STR(""), &entrypoint, &err));
    assert_int_equal(entrypoint.len, 0);
    wire_add_text(&job, 9, STR("python train.py"));
    wire_add_bytes(&reply, 1, STR(""));
    wire_add_bytes(&reply, 2, buf_str(&job));
    assert_true(gcs_entrypoint_read(buf_str(&reply), &entrypoint, &err));
    assert_true(str_is(entrypoint, "python train.py"));
    assert_false(
        gcs_entrypoint_read(str_sub(buf_str(&reply), 0, reply.len - 1), &entrypoint, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_ray_train_are_found_by_their_controller),
        cmocka_unit_test(the_command_line_of_a_driver),
        cmocka_unit_test(drivers_that_live_count_and_rays_own_do_not),
        cmocka_unit_test(what_is_broken_or_refused_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
