/* test_setup_explain.c: what last words are taken to mean. */
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
    check("bash: pip: command not found", "*no pip*", "*python3-pip*");
    check("bash: line 1: docker: command not found\n", "*no Docker*", "*get.docker.com*");
    check("bash: line 1: frobnicate: command not found\n", "a program is not there*", "*");
    check("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (apt)\n",
          "another program is installing*", "*DPkg::Lock::Timeout*");
    check("RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.60.0\n",
          "*another Ray or Python than the head", "*");
    check("Exception: Timed out waiting for file /tmp/ray/session/metrics_agent_port_0",
          "Ray's agent*", "*dashboard_agent.log*");
    check("ERROR: No matching distribution found for ray==9.9", "*no such Ray*", "*");
    check("ERROR: No matching distribution found for left-pad", "pip does not find*", "*");
    check("sudo: a password is required\n", "sudo wants a password*", "*");
    check("Collecting torch\nKilled\n+ pip install torch", "pip was ended*memory*", "*");
    check(
        "error: the head's Ray did not answer at 10.0.0.4:6379 within 900 s: Connection timed out",
        "Ray on the head*", "*security group*");
    check("error: this node and the head have different versions of Ray\n", "Ray joins only*", "*");
    check("error: only 12 MB are free on the disk of this machine", "*nearly full",
          "*larger disk*");
    check("all is well\n", NULL, NULL);
    check("", NULL, NULL);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_words),
        cmocka_unit_test(known_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
