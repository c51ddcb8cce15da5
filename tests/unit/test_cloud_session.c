/* test_cloud_session.c: how a session ends: completed, timed out, stopped by the user. */
#include "app/cloud_session.h"

#include "unit.h"

#include <signal.h>

static const struct cloud_session_setup quiet = {.least = LOG_LEVEL_ERROR};

static void stop(void *context)
{
    cloud_session_stop(context);
}

static void press_ctrl_c(void *context)
{
    (void)context;
    raise(SIGINT);
}

static void it_runs_until_it_is_stopped(void **state)
{
    struct cloud_session session;
    struct err err;
    (void)state;
    assert_true(cloud_session_open(&session, &quiet, &err));
    struct loop_task task = {.run = stop, .context = &session};
    for (size_t i = 0; i < 2; i++) {
        loop_defer(session.loop, &task);
        assert_true(cloud_session_run(&session, &err));
    }
    cloud_session_close(&session);
}

static void a_deadline_ends_it(void **state)
{
    struct cloud_session session;
    struct cloud_session_setup setup = {.deadline_ms = 5, .least = LOG_LEVEL_ERROR};
    struct err err;
    (void)state;
    assert_true(cloud_session_open(&session, &setup, &err));
    assert_false(cloud_session_run(&session, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_false(cloud_session_run(&session, &err));
    assert_int_equal(cloud_session_exit_status(&session, &err), 1);
    cloud_session_close(&session);
}

static void ctrl_c_ends_it(void **state)
{
    struct cloud_session session;
    struct err err;
    (void)state;
    assert_true(cloud_session_open(&session, &quiet, &err));
    struct loop_timer *far = loop_timer_new(session.loop, stop, &session);
    struct loop_task task = {.run = press_ctrl_c};
    loop_timer_start(far, 60 * 1000);
    loop_defer(session.loop, &task);
    assert_false(cloud_session_run(&session, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_int_equal(cloud_session_exit_status(&session, &err), 130);
    loop_timer_free(far);
    cloud_session_close(&session);
}

static void nothing_to_wait_for_is_a_bug(void **state)
{
    struct cloud_session session;
    struct err err;
    (void)state;
    assert_true(cloud_session_open(&session, &quiet, &err));
    assert_false(cloud_session_run(&session, &err));
    assert_int_equal(err.kind, ERR_INTERNAL);
    cloud_session_close(&session);
}

static void a_client_gets_all_it_needs(void **state)
{
    struct cloud_session session;
    struct err err;
    (void)state;
    assert_true(cloud_session_open(&session, &quiet, &err));
    assert_null(session.http); /* only those who send requests wait for it */
    assert_true(cloud_session_open_http(&session, &err));
    const struct http *first = session.http;
    assert_true(cloud_session_open_http(&session, &err) && session.http == first);
    struct aws_client_setup setup = cloud_session_aws(&session);
    assert_true(setup.loop && setup.http && setup.children && setup.log && setup.redact);
    assert_non_null(setup.environ);
    cloud_session_close(&session);
}

static void check_overrides(const char *const *env, const char *expected)
{
    AUTO_BUF struct buf out;
    struct redact *redact = redact_new();
    buf_init(&out, 4096);
    cloud_session_overrides(env, redact, &out);
    assert_str(buf_str(&out), expected);
    redact_free(redact);
}

static void overrides_are_announced(void **state)
{
    (void)state;
    check_overrides((const char *const[]){"PATH=/bin", NULL}, "");
    check_overrides((const char *const[]){"AWS_ENDPOINT_URL=", NULL}, "");
    check_overrides(
        (const char *const[]){"AWS_ENDPOINT_URL=http://h:1", "AWS_ENDPOINT_URL_EC2=x", NULL},
        "AWS_ENDPOINT_URL is set: calls go to http://h:1\n"
        "AWS_ENDPOINT_URL_EC2 is set: calls go to x\n");
    check_overrides((const char *const[]){"AWS_ENDPOINT_URL=http://h:1",
                                          "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true", NULL},
                    "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_until_it_is_stopped),
        cmocka_unit_test(a_deadline_ends_it),
        cmocka_unit_test(ctrl_c_ends_it),
        cmocka_unit_test(nothing_to_wait_for_is_a_bug),
        cmocka_unit_test(a_client_gets_all_it_needs),
        cmocka_unit_test(overrides_are_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
