/* test_gcp_account.c: what a listing of a project says if Google refuses a part of it. */
#include "provider/gcp/account/gcp_account.h"

#include "gcp_stage.h"
#include "unit.h"

#include <string.h>

#define UID "0123456789abcdef0123456789abcdef"
#define RULES                                                                                  \
    "{\"items\":[{\"name\":\"shoal-demo-2a97516c-01234567-in\",\"description\":\"Ray cluster " \
    "demo, launched by Shoal; shoal-cluster-uid=" UID "\"}]}"

struct stage {
    struct gcp_stage gcp;
    const char *refused; /* path of a listing; NULL: none */
    int answered;
    size_t clusters, gaps;
    enum account_state first;
};

static struct script_answer serve(void *context, const struct script_request *request)
{
    const struct stage *stage = context;
    bool is_refused = stage->refused && strstr(request->target, stage->refused);
    bool is_rules = strstr(request->target, "/firewalls?");
    return (struct script_answer){.status = is_refused ? 403 : 200,
                                  .body = is_rules && !is_refused ? RULES : "{}"};
}

static void on_account(void *context, const struct account *account, const struct err *err)
{
    struct stage *stage = context;
    (void)err;
    stage->answered++;
    if (account) {
        stage->clusters = account->cluster_count;
        stage->gaps = account->gap_count;
        stage->first = account->cluster_count > 0 ? account->clusters[0].state
                                                  : ACCOUNT_STATE_COUNT;
    }
    loop_stop(stage->gcp.loop);
}

static void check_account(const char *refused, size_t clusters, size_t gaps)
{
    struct stage stage;
    memset(&stage, 0, sizeof(stage));
    stage.refused = refused;
    gcp_stage_open(&stage.gcp, serve, &stage);
    struct gcp_account_setup setup = {.base = {.loop = stage.gcp.loop,
                                               .http = stage.gcp.http,
                                               .children = stage.gcp.children,
                                               .log = &stage.gcp.log,
                                               .environ = stage.gcp.environ,
                                               .product_path = "/nonexistent"},
                                      .project = STR("p"),
                                      .seed = 1,
                                      .arena = &stage.gcp.arena};
    struct gcp_account *account = gcp_account_start(&setup, on_account, &stage);
    while (stage.answered == 0) {
        loop_run(stage.gcp.loop);
    }
    gcp_account_free(account);
    assert_int_equal(stage.clusters, clusters);
    assert_int_equal(stage.gaps, gaps);
    assert_int_equal(stage.first, clusters > 0 ? ACCOUNT_LEFTOVER : ACCOUNT_STATE_COUNT);
    gcp_stage_close(&stage.gcp);
}

/* A process that is creating a cluster makes its rules first: only its lease says so. */
static void nothing_is_a_leftover_while_leases_are_not_listed(void **state)
{
    (void)state;
    check_account(NULL, 1, 0);
    check_account("/disks?", 1, 1);
    check_account("/instanceTemplates?", 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_a_leftover_while_leases_are_not_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
