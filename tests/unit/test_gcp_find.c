/* test_gcp_find.c: what is left of a cluster without its record. */
#include "gcp_stage.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define RULE(name, uid)                                                                        \
    "{\"name\":\"shoal-demo-2a97516c-" name "\",\"description\":\"Ray cluster demo, launched " \
    "by Shoal" uid "\"}"
#define INSTANCE(name, uid)                                                            \
    "{\"name\":\"" name "\",\"status\":\"RUNNING\",\"zone\":\"https://x/zones/us-a\"," \
    "\"creationTimestamp\":\"2026-11-18T00:00:00.000-08:00\",\"labels\":{"             \
    "\"ray-cluster-name\":\"demo\",\"shoal-cluster-uid\":\"" uid "\"}}"

struct stage {
    struct gcp_stage gcp;
    const char *rules, *instances;
    int rules_status, answered;
    enum outcome outcome;
    char uids[128];
    char filter[256];
};

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    if (strstr(request->target, "/firewalls?")) {
        snprintf(stage->filter, sizeof(stage->filter), "%s", strstr(request->target, "filter="));
        return (struct script_answer){.status = stage->rules_status, .body = stage->rules};
    }
    return (struct script_answer){
        .body = strstr(request->target, "aggregated/instances") ? stage->instances : "{}"};
}

static void on_found(void *context, const struct provider_answer *answer,
                     const struct cluster_found *found)
{
    struct stage *stage = context;
    stage->answered++;
    stage->outcome = answer->outcome;
    for (size_t i = 0; found && i < found->uid_count; i++) {
        size_t used = strlen(stage->uids);
        snprintf(stage->uids + used, sizeof(stage->uids) - used, "%.*s ", STR_ARG(found->uids[i]));
    }
    assert_true(!found || !found->has_lease);
    loop_stop(stage->gcp.loop);
}

static void check_found(int status, const char *rules, const char *instances, const char *uids)
{
    struct stage stage;
    memset(&stage, 0, sizeof(stage));
    gcp_stage_open(&stage.gcp, serve, &stage);
    stage.rules_status = status;
    stage.rules = rules;
    stage.instances = instances;
    stage.gcp.provider->ops->find(stage.gcp.provider, on_found, &stage);
    while (stage.answered == 0) {
        loop_run(stage.gcp.loop);
    }
    assert_int_equal(stage.outcome, status == 0 ? OUTCOME_DONE : OUTCOME_DENIED);
    assert_string_equal(stage.uids, uids);
    assert_non_null(strstr(stage.filter, "shoal-demo-2a97516c-.%2A"));
    gcp_stage_close(&stage.gcp);
}

static void rules_tell_the_uid(void **state)
{
    (void)state;
    check_found(0, "{}", "{}", "");
    check_found(0,
                "{\"items\":[" RULE("u1-in", "; shoal-cluster-uid=u1") "," RULE(
                    "u1-ssh", "; shoal-cluster-uid=u1") "," RULE("x-in", "") "]}",
                "{}", "u1 ");
    check_found(0, "{\"items\":[" RULE("u1-in", "; shoal-cluster-uid=u1") "]}",
                "{\"items\":{\"zones/us-a\":{\"instances\":[" INSTANCE("a", "u2") "]}}}", "u2 u1 ");
    check_found(403, "{}", "{}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_tell_the_uid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
