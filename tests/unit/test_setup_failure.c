/* test_setup_failure.c: how the output of a failed step is interpreted. */
#include "app/setup/setup_failure.h"
#include "app/setup/setup_plan.h"

#include "unit.h"

static void check(const char *tail, const char *why, const char *next)
{
    struct str got_why = {0};
    struct str got_next = {0};
    bool is_known = setup_explain(str_from(tail), &got_why, &got_next);
    assert_int_equal(is_known, why != NULL);
    if (why) {
        assert_like(got_why, why);
        assert_like(str_cut(&got_next, '\n'), next);
    }
}

static void known_words(void **state)
{
    (void)state;
    check("cp: error writing '/x': No space left on device\n", "the disk*full", "*larger disk*");
    check("bash: pip: command not found", "*pip is not installed*", "*python3-pip*");
    check("write /x: no space left on device\n", "*too small for the image", "*larger disk*");
    check("Error: pull access denied for x, repository does not exist\n", "*wants a login",
          "*aws ecr get-login-password | docker login *");
    check("Error response from daemon: unauthorized: x\nerror: docker cannot pull the image i\n",
          "the registry wants a login", "*docker login *");
    check("error: docker is not installed on this machine, and the cluster file runs Ray in a "
          "container\n",
          "*is not installed*", "*initialization_commands*");
    check("bash: line 1: docker: command not found\n", "*Docker is not installed*",
          "*get.docker.com*");
    check("bash: line 1: frobnicate: command not found\n", "a program is missing*", "*");
    check("E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n"
          "E: Unable to acquire the lock (/var/lib/dpkg/lock-frontend), are you root?\n",
          "the command needs root*", "use sudo*");
    check("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (apt)\n",
          "another program is installing*", "*DPkg::Lock::Timeout*");
    check("RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.60.0\n",
          "*different Ray or Python version than the head", "*");
    check("Exception: Timed out waiting for file /tmp/ray/session/metrics_agent_port_0",
          "Ray's agent*", "*dashboard_agent.log*");
    check("ERROR: No matching distribution found for ray==9.9", "no Ray release matches*", "*");
    check("ERROR: No matching distribution found for left-pad", "pip cannot find*", "*");
    check("sudo: a password is required\n", "sudo asks for a password*", "*");
    check("Collecting torch\nKilled\n+ pip install torch", "pip was killed*memory*", "*");
    check(
        "error: the head's Ray did not answer at 10.0.0.4:6379 within 900 s: Connection timed out",
        "Ray on the head*", "*security group*");
    check("error: this node and the head have different versions of Ray\n", "a node can join only*",
          "*");
    check("error: only 12 MB are free on the disk of this machine", "*nearly full",
          "*larger disk*");
    check("NVIDIA-SMI has failed\nerror: nvidia-smi -L shows 1 of the 2 GPUs of this machine\n",
          "the NVIDIA driver is missing*", "*Deep Learning*apt-get*");
    check("error: nvidia-smi -L shows 0 of the 2 GPUs of this container\n", "*without the GPUs",
          "*NVIDIA Container Toolkit*nvidia-ctk*--runtime=nvidia*");
    check("toomanyrequests: You have reached your pull rate limit.\n", "*behind one address*",
          "*pull-through cache*");
    check("all is well\n", NULL, NULL);
    check("", NULL, NULL);
}

/* A new node would fail for hours. A short limit says when to come back. */
static void what_a_new_node_would_meet(void **state)
{
    (void)state;
    assert_true(setup_is_blocked(STR("x\ntoomanyrequests: You have reached your pull rate limit")));
    assert_false(setup_is_blocked(STR("toomanyrequests: retry-after: 246.478us, allowed: 4/m")));
    assert_false(setup_is_blocked(STR("pull access denied")));
}

/* The same output, in the words of the cloud. */
static void known_words_on_google(void **state)
{
    static const struct {
        const char *tail, *aws, *gcp;
    } rows[] = {
        {"No space left on device", "BlockDeviceMappings", "diskSizeGb"},
        {"only 12 MB are free on the disk", "BlockDeviceMappings", "diskSizeGb"},
        {"pull access denied", "aws ecr", "gcloud auth print-access-token"},
        {"the head's Ray did not answer", "the security group", "the firewall"},
        {"Unable to connect to GCS", "the security group", "the firewall"},
        {"Could not resolve host", "VPC has DNS", "Cloud NAT"},
        {"Connection timed out", "security group", "egress rules of the firewall"},
        {"Found no NVIDIA driver", "Learning AMI", "Learning VM"},
        {"0 of the 2 GPUs of this machine", "Learning AMI", "install-nvidia-driver"},
        {"pip: command not found", "use `python3 -m pip`", "use `python3 -m pip`"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str why;
        struct str next;
        assert_true(setup_explain(str_from(rows[i].tail), &why, &next));
        assert_true(str_find(setup_next_on(STR("aws"), next), rows[i].aws) != SIZE_MAX);
        assert_true(str_find(setup_next_on(STR("gcp"), next), rows[i].gcp) != SIZE_MAX);
    }
}

static void known_statuses(void **state)
{
    (void)state;
    struct str why;
    struct str next;
    assert_true(setup_explain_status(137, &why, &next));
    assert_like(why, "*memory*");
    assert_false(setup_explain_status(1, &why, &next));
}

/* In the step's text for users; the node itself has the whole command. */
static void secrets_of_commands_are_not_shown(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    const struct setup_step step = {.kind = "setup",
                                    .command = STR("TOKEN=s3cret pip -i https://me:pw12@h/ x")};
    const struct step_event event = {.tail = STR("cannot reach https://me:pw12@h/")};
    assert_str(setup_detail(&step, &arena), "TOKEN=******** pip -i https://me:********@h/ x");
    struct node_failure failure = setup_failure(&step, &event, STR("aws"), &arena);
    assert_str(failure.command, "TOKEN=******** pip -i https://me:********@h/ x");
    assert_str(failure.said, "cannot reach https://me:********@h/");
    arena_clear(&arena);
}

/* `up` shows "setup 3/7" for the same command, because it also counts steps of its own. */
static void a_command_is_counted_among_the_commands(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    const struct setup_step step = {.kind = "setup", .number = 2, .count = 2};
    const struct step_event event = {.status = 1};
    assert_str(setup_failure(&step, &event, STR("aws"), &arena).step, "setup command 2 of 2");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_counted_among_the_commands),
        cmocka_unit_test(secrets_of_commands_are_not_shown),
        cmocka_unit_test(known_words),
        cmocka_unit_test(what_a_new_node_would_meet),
        cmocka_unit_test(known_words_on_google),
        cmocka_unit_test(known_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
