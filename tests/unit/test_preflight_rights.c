/* test_preflight_rights.c: what the caller of `up` may do in IAM and with KMS keys. */
#include "provider/aws/preflight/preflight_rights.h"

#include "app/node_params.h"
#include "fixture.h"
#include "provider/aws/preflight/preflight_evaluate.h"

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define TYPES(head, worker)                                            \
    "head_node_type: head\navailable_node_types:\n"                    \
    "  head: {resources: {}, node_config: {InstanceType: " head "}}\n" \
    "  gpu: {resources: {}, node_config: {InstanceType: " worker "}}\n"

struct scene {
    struct fixture *f;
    struct preflight_request request;
    struct preflight_answers answers;
    struct preflight_result result;
};

static void begin(struct scene *scene, const char *yaml)
{
    struct provider_cluster cluster;
    struct err err;
    scene->f = fixture_new();
    struct arena *arena = &scene->f->arena;
    const struct value *tree = fixture_prepare(scene->f, yaml);
    assert_true(node_params_cluster(config_type(arena, tree), STR(""), arena, &cluster, &err));
    preflight_request_read(&cluster, NULL, arena, &scene->request);
    scene->answers = (struct preflight_answers){.region = STR("us-west-2"),
                                                .identity = {STR("1"), STR("arn:me"), STR("u")}};
    for (size_t i = 0; i < ASK_COUNT; i++) {
        scene->answers.answers[i].was_asked = scene->answers.answers[i].is_ok = true;
    }
    for (size_t i = 0; i < RIGHT_COUNT; i++) {
        scene->answers.rights[i].is_known = true;
    }
}

static void judge(struct scene *scene)
{
    preflight_evaluate(&scene->request, &scene->answers, &scene->f->arena, &scene->result);
}

static void add(struct buf *out, const char *before, struct str text)
{
    if (text.len > 0) {
        buf_addf(out, "%s%.*s", before, STR_ARG(text));
    }
}

static void check(const struct scene *scene, const char *subject, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 65536);
    for (size_t i = 0; i < scene->result.count; i++) {
        const struct finding *finding = &scene->result.findings[i];
        if (!str_is(finding->subject, subject)) {
            continue;
        }
        buf_add_c(&out, finding->level == FINDING_ERROR     ? "!"
                        : finding->level == FINDING_WARNING ? "?"
                                                            : "");
        add(&out, "", finding->text);
        add(&out, " @", finding->path);
        add(&out, " -> ", finding->remedy);
        buf_add_char(&out, '\n');
    }
    assert_like(buf_str(&out), expected);
}

static void end(struct scene *scene)
{
    fixture_free(&scene->f);
}

static void check_spot(struct preflight_rights rights, const char *expected)
{
    struct scene scene;
    begin(&scene, AWS TYPES("m5.large", "m5.large, InstanceMarketOptions: {MarketType: spot}"));
    scene.answers.lacks_spot_role = true;
    scene.answers.rights[RIGHT_SPOT] = rights;
    judge(&scene);
    check(&scene, "spot", expected);
    assert_int_equal(scene.result.facts.spot_role, SPOT_ROLE_MISSING);
    end(&scene);
}

static void the_role_of_spot_instances(void **state)
{
    (void)state;
    check_spot((struct preflight_rights){.is_known = true},
               "the account has never used spot instances: its role AWSServiceRoleForEC2Spot is "
               "missing; shoal up creates it\n");
    check_spot((struct preflight_rights){0},
               "?the account has never used spot instances: its role AWSServiceRoleForEC2Spot is "
               "missing; shoal up creates it "
               "@available_node_types.gpu.node_config.InstanceMarketOptions -> create it once: aws "
               "iam create-service-linked-role --aws-service-name spot.amazonaws.com\n");
    check_spot(
        (struct preflight_rights){true, STR("iam:CreateServiceLinkedRole")},
        "!the account has never used spot instances: its role AWSServiceRoleForEC2Spot is "
        "missing, and this identity is not allowed to create it "
        "@available_node_types.gpu.node_config.InstanceMarketOptions -> create it once: *\n");
}

/* ---- rights that no dry run shows ---- */

static void check_role(struct preflight_rights role, bool is_read, const char *expected,
                       const char *unchecked)
{
    struct scene scene;
    begin(&scene, AWS);
    scene.answers.rights[RIGHT_ROLE] = role;
    if (!is_read) {
        scene.answers.answers[ASK_HEAD_ROLE] = (struct preflight_answer){
            .was_asked = true, .is_denied = true, .code = STR("AccessDenied")};
    }
    judge(&scene);
    check(&scene, "role", expected);
    struct str said = STR("");
    for (size_t i = 0; i < scene.result.count; i++) {
        const struct finding *finding = &scene.result.findings[i];
        said = finding->unchecked.len > 0 ? finding->unchecked : said;
    }
    assert_str(said, unchecked);
    end(&scene);
}

static void the_role_of_the_head(void **state)
{
    (void)state;
    check_role((struct preflight_rights){.is_known = true}, true, "", "");
    check_role((struct preflight_rights){0}, true,
               "?it is not known whether arn:me may create the role of the head*\n",
               "the permission to create the head's IAM role");
    check_role((struct preflight_rights){true, STR("iam:CreateRole")}, true,
               "!arn:me is not allowed to create the role of the head: needs iam:CreateRole "
               "@available_node_types.*.node_config.IamInstanceProfile -> set an "
               "IamInstanceProfile for the head in its node_config, or *\n",
               "");
    check_role((struct preflight_rights){.is_known = true}, false,
               "!arn:me is not allowed to create the role of the head: needs iam:GetRole and "
               "others *\n",
               "");
}

static void whose_rights_they_are(void **state)
{
    (void)state;
    const struct str user = STR("arn:aws:iam::1:user/team/me");
    const struct str role = STR("arn:aws-cn:sts::1:assumed-role/Power/session");
    assert_str(preflight_rights_role(user), "");
    assert_str(preflight_rights_role(role), "Power");
    assert_str(preflight_rights_source(user, STR("")), "arn:aws:iam::1:user/team/me");
    assert_str(preflight_rights_source(role, STR("arn:x")), "arn:x");
    assert_str(preflight_rights_source(STR("arn:aws:sts::1:federated-user/x"), STR("")), "");
    assert_true(preflight_rights_are_all(STR("arn:aws:iam::1:root")));
    assert_false(preflight_rights_are_all(user));
}

#define DECISION(action, decision, missing)                                      \
    "<member><EvalActionName>" action "</EvalActionName><EvalDecision>" decision \
    "</EvalDecision><MissingContextValues>" missing "</MissingContextValues></member>"
#define DECISIONS(members)                                                                        \
    "<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><EvaluationResults>" members \
    "</EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"

static void what_a_simulation_says(void **state)
{
    struct arena arena;
    struct preflight_rights rights;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_true(preflight_rights_read(
        STR(DECISIONS(DECISION("iam:CreateRole", "implicitDeny", "") DECISION(
            "iam:PassRole", "allowed", "") DECISION("iam:PutRolePolicy", "explicitDeny", ""))),
        &arena, &rights, &err));
    assert_true(rights.is_known);
    assert_str(rights.denied, "iam:CreateRole, iam:PutRolePolicy");
    assert_true(preflight_rights_read(
        STR(DECISIONS(DECISION("iam:PassRole", "implicitDeny", "<member>aws:x</member>"))), &arena,
        &rights, &err));
    assert_false(rights.is_known);
    assert_str(rights.denied, "");
    /* with the resource, as IAM does if the question names one */
    assert_true(preflight_rights_read(
        STR(DECISIONS("<member><EvalActionName>iam:CreateRole</EvalActionName><EvalDecision>"
                      "implicitDeny</EvalDecision><ResourceSpecificResults><member>"
                      "<MissingContextValues><member>aws:SourceIp</member></MissingContextValues>"
                      "</member></ResourceSpecificResults></member>")),
        &arena, &rights, &err));
    assert_false(rights.is_known);
    assert_false(preflight_rights_read(STR(DECISIONS("")), &arena, &rights, &err));
    assert_false(preflight_rights_read(STR("<x>"), &arena, &rights, &err));
    arena_clear(&arena);
}

/* ---- KMS keys ---- */

#define ENCRYPTED(ebs)                                                                   \
    AWS TYPES("m5.large", "m5.large, BlockDeviceMappings: [{DeviceName: /dev/sdb, Ebs: " \
                          "{VolumeSize: 1, " ebs "}}]")

static void check_keys(const char *yaml, bool encrypts, const char *key, const char *expected)
{
    struct scene scene;
    begin(&scene, yaml);
    scene.answers.encrypts = encrypts;
    scene.answers.disk_key = str_from(key);
    judge(&scene);
    check(&scene, "disks", expected);
    end(&scene);
}

static void keys_of_volumes(void **state)
{
    (void)state;
    check_keys(AWS, true, "alias/aws/ebs", "");
    check_keys(AWS, false, "arn:k", "");
    check_keys(AWS, true, "arn:k", "encrypted with KMS key arn:k\n");
    check_keys(ENCRYPTED("Encrypted: true"), false, "arn:k", "encrypted with KMS key arn:k\n");
    check_keys(ENCRYPTED("KmsKeyId: arn:own"), false, "alias/aws/ebs",
               "encrypted with KMS key arn:own\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_role_of_spot_instances),
        cmocka_unit_test(the_role_of_the_head),
        cmocka_unit_test(whose_rights_they_are),
        cmocka_unit_test(what_a_simulation_says),
        cmocka_unit_test(keys_of_volumes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
