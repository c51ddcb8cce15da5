/* test_gcp_host_key.c: the host key that an instance reports to Google. */
#include "gcp_stage.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ATTRIBUTES(key, value)                                                             \
    "{\"queryPath\":\"hostkeys/\",\"queryValue\":{\"items\":[{\"namespace\":\"hostkeys\"," \
    "\"key\":\"ssh-rsa\",\"value\":\"QUJD\"},{\"namespace\":\"hostkeys\",\"key\":\"" key   \
    "\",\"value\":\"" value "\"}]}}"

enum { REPLIES_MAX = 4 };

struct stage {
    struct script_answer replies[REPLIES_MAX]; /* the last one again and again */
    int asked;
    char target[512];
    struct gcp_stage gcp;
    int answered;
    enum outcome outcome;
    char id[64], key[128];
};

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    int at = stage->asked++;
    snprintf(stage->target, sizeof(stage->target), "%s", request->target);
    while (at >= REPLIES_MAX || (!stage->replies[at].body && at > 0)) {
        at--;
    }
    return stage->replies[at];
}

static void stage_open(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    gcp_stage_open(&stage->gcp, serve, stage);
}

static void stage_close(struct stage *stage)
{
    gcp_stage_close(&stage->gcp);
}

static void on_host_key(void *context, const struct provider_answer *answer, struct str id,
                        struct str key)
{
    struct stage *stage = context;
    stage->answered++;
    stage->outcome = answer->outcome;
    snprintf(stage->id, sizeof(stage->id), "%.*s", STR_ARG(id));
    snprintf(stage->key, sizeof(stage->key), "%.*s", STR_ARG(key));
    loop_stop(stage->gcp.loop);
}

static void stage_ask(struct stage *stage)
{
    stage->gcp.provider->ops->host_key(stage->gcp.provider, STR("ray-one"), STR("us-a"), STR(""),
                                       on_host_key, stage);
    while (stage->answered == 0) {
        loop_run(stage->gcp.loop);
    }
    assert_string_equal(stage->id, "ray-one");
}

static void the_key_is_awaited(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.replies[0] = (struct script_answer){.status = 404, .body = "{}"};
    stage.replies[1] = (struct script_answer){.body = ATTRIBUTES("ssh-ed25519", "AAAA+/09=\\n")};
    stage_ask(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_string_equal(stage.key, "ssh-ed25519 AAAA+/09=");
    assert_int_equal(stage.asked, 2);
    assert_non_null(strstr(stage.target, "/zones/us-a/instances/ray-one/getGuestAttributes"
                                         "?queryPath=hostkeys%2F"));
    stage_close(&stage);
}

/* Neither another kind of key nor a text that would add a line to known_hosts. */
static void only_a_clean_key_counts(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.replies[0] = (struct script_answer){.body = ATTRIBUTES("ecdsa", "AAAA")};
    stage.replies[1] = (struct script_answer){.body = ATTRIBUTES("ssh-ed25519", "AA\\nevil AA")};
    stage.replies[2] = (struct script_answer){.body = ATTRIBUTES("ssh-ed25519", "BBBB")};
    stage_ask(&stage);
    assert_string_equal(stage.key, "ssh-ed25519 BBBB");
    assert_int_equal(stage.asked, 3);
    stage_close(&stage);
}

static void a_refusal_ends_the_wait(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.replies[0] = (struct script_answer){
        .status = 403, .body = "{\"error\":{\"code\":403,\"message\":\"not permitted\"}}"};
    stage_ask(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DENIED);
    assert_int_equal(stage.asked, 1);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_awaited),
        cmocka_unit_test(only_a_clean_key_counts),
        cmocka_unit_test(a_refusal_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
