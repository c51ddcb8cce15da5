/* test_start_command.c: commands that start Ray are rewritten; the rest is unchanged. */
#include "app/setup/start_command.h"

#include "unit.h"

#define ASK "eval \"$(ask)\"; "
#define OR "${SHOAL_MONITOR-"

static void check_head(const char *command, bool is_default, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    assert_str(start_command_for_head(str_from(command), is_default, "ask", &arena), expected);
    arena_clear(&arena);
}

static void monitor_goes(void **state)
{
    (void)state;
    check_head("ray start --head --autoscaling-config=~/ray_bootstrap_config.yaml --port=1", false,
               ASK "ray start --head " OR "--autoscaling-config=~/ray_bootstrap_config.yaml} "
                   "--port=1");
    check_head("ray start --head --autoscaling-config ~/x.yaml", false,
               ASK "ray start --head " OR "--autoscaling-config ~/x.yaml}");
    check_head("ray start --autoscaling-config '~/a b.yaml' --head; echo done", false,
               ASK "ray start " OR "--autoscaling-config '~/a b.yaml'} --head; echo done");
    check_head("bash -c \"ray start --head --autoscaling-config=~/x.yaml\" && echo", false,
               ASK "bash -c \"ray start --head " OR "--autoscaling-config=~/x.yaml}\" && echo");
    check_head("ray start --head --no-monitor --autoscaling-config=x", false,
               "ray start --head --no-monitor");
    check_head("ulimit -n 65536; ray start --head", false,
               "ulimit -n 65536; ray start --head --no-monitor");
    check_head("ray start --head \\\n  --autoscaling-config=x \\\n  --port=1", false,
               ASK "ray start --head \\\n  " OR "--autoscaling-config=x} \\\n  --port=1");
    check_head("python -m ray.scripts.scripts start --head --autoscaling-config=x", false,
               ASK "python -m ray.scripts.scripts start --head " OR "--autoscaling-config=x}");
}

static void others_stay(void **state)
{
    (void)state;
    check_head("ray stop", false, "ray stop");
    check_head("echo --header", false, "echo --header");
    check_head("ray start --address=$RAY_HEAD_IP:6379", false,
               "ray start --address=$RAY_HEAD_IP:6379");
    check_head("ray start --head --no-monitor", true, "ray start --head --no-monitor");
    check_head("ray start --head --autoscaling-config", false, "ray start --head --no-monitor");
    check_head("ray start --head --autoscaling-config\nray status", false,
               "ray start --head --no-monitor\nray status");
    check_head("bash -c 'ray start --head --autoscaling-config' 'x'", false,
               "bash -c 'ray start --head --no-monitor' 'x'");
    check_head("ray start --head --autoscaling-config= --x", false,
               "ray start --head --no-monitor --x");
}

static void dashboard(void **state)
{
    (void)state;
    struct str host;
    const char *command = "ray start --head --no-monitor --dashboard-host=0.0.0.0 --x";
    check_head(command, true, "ray start --head --no-monitor --dashboard-host=127.0.0.1 --x");
    check_head(command, false, command);
    assert_true(start_command_opens_dashboard(str_from(command), &host));
    assert_str(host, "0.0.0.0");
    assert_true(start_command_opens_dashboard(STR("ray start --dashboard-host \"::\""), &host));
    assert_str(host, "::");
    assert_false(start_command_opens_dashboard(STR("ray start --dashboard-host=localhost"), &host));
    assert_false(start_command_opens_dashboard(STR("ray start --head"), &host));
}

static void port(void **state)
{
    (void)state;
    struct str stop[] = {STR("ray stop"), STR("ray start --head --port=7000")};
    assert_int_equal(start_command_port(stop, 2), 7000);
    assert_int_equal(start_command_port(&STR("ray start --head --port 7001"), 1), 7001);
    assert_int_equal(start_command_port(&STR("ray start --head --ray-client-server-port=1"), 1),
                     6379);
    assert_int_equal(start_command_port(&STR("ray start --head --port=$PORT"), 1), 0);
    assert_int_equal(start_command_port(NULL, 0), 6379);
}

static void stop(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    assert_str(start_command_with_quick_stop(STR(" ray stop\n"), "calm", &arena),
               "calm || ray stop");
    assert_str(start_command_with_quick_stop(STR("ray stop --force"), "calm", &arena),
               "ray stop --force");
    arena_clear(&arena);
}

static void store(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    assert_str(start_command_with_store(STR("ulimit -n 9; ray start --head"), "ask", &arena),
               "RAY_gcs_storage_path=$(ask) || exit 1; export RAY_gcs_storage_path; "
               "ulimit -n 9; ray start --head");
    assert_str(start_command_with_store(STR("ray stop"), "ask", &arena), "ray stop");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monitor_goes), cmocka_unit_test(others_stay), cmocka_unit_test(dashboard),
        cmocka_unit_test(port),         cmocka_unit_test(stop),        cmocka_unit_test(store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
