/* test_gcp_change.c: launches and deletions on GCE that fail when it matters. */
#include "gcp_stage.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define UID "0123456789abcdef0123456789abcdef"
#define RULE "shoal-demo-2a97516c-nodes"
#define RECORD "shoal-demo-2a97516c-"
#define VERSION(number)                                                                  \
    "{\"name\":\"" RECORD number "\",\"properties\":{\"metadata\":{\"items\":[{\"key\":" \
    "\"shoal-record\",\"value\":\"{\\\"cluster\\\":\\\"demo\\\",\\\"uid\\\":\\\"" UID    \
    "\\\"}\"}]}}}"
#define ENDED(name, rest)                                                                          \
    "{\"items\":{\"zones/us-a\":{\"operations\":[{\"name\":\"o\",\"status\":\"DONE\","             \
    "\"operationType\":\"delete\",\"targetLink\":\"https://x/zones/us-a/instances/" name "\"" rest \
    "}]}}}"
#define INSTANCE                                                                           \
    "{\"items\":{\"zones/us-a\":{\"instances\":[{\"name\":\"w-1\",\"status\":\"RUNNING\"," \
    "\"zone\":\"https://x/zones/us-a\",\"labels\":{\"shoal-cluster-uid\":\"" UID "\"}}]}}}"
#define STOCKOUT "\"error\":{\"errors\":[{\"code\":\"ZONE_RESOURCE_POOL_EXHAUSTED\"}]}"
#define BULK(created)                                                                \
    "{\"name\":\"o\",\"status\":\"DONE\",\"instancesBulkInsertOperationMetadata\":{" \
    "\"perLocationStatus\":{\"zones/us-a\":{\"createdVmCount\":" created "}}}," STOCKOUT "}"

enum { TEXT_MAX = 16384, SETTLED_MS = 31 * 1000, MINUTE_MS = 60 * 1000 };

struct stage {
    struct gcp_stage gcp;
    const char *operations, *bulk, *instances;
    int rule_status, label_status;
    char written[TEXT_MAX], text[2 * TEXT_MAX];
    char deleted[1024]; /* the names, in their order */
    char changes[256];  /* of instances, in their order */
    char rules[4096];   /* that are there although their creation gets no good reply */
    int sent, answered;
    enum outcome outcome;
    size_t count;
    char left[256];
};

static struct script_answer serve_delete(struct stage *stage, const char *target)
{
    const char *name = strrchr(target, '/') + 1;
    bool is_rule = strstr(target, "/firewalls/");
    size_t used = strlen(stage->deleted);
    snprintf(stage->deleted + used, sizeof(stage->deleted) - used, "%.*s ", (int)strcspn(name, "?"),
             name);
    return (struct script_answer){.status = is_rule ? stage->rule_status : 200,
                                  .body = is_rule && stage->rule_status != 200
                                              ? "{}"
                                              : "{\"name\":\"o\",\"status\":\"DONE\"}"};
}

static struct script_answer serve_change(struct stage *stage, const char *target)
{
    const char *verb = strrchr(target, '/') + 1;
    size_t used = strlen(stage->changes);
    snprintf(stage->changes + used, sizeof(stage->changes) - used, "%.*s ", (int)strcspn(verb, "?"),
             verb);
    return (struct script_answer){.status = strstr(verb, "setLabels") ? stage->label_status : 200,
                                  .body = "{\"name\":\"o\",\"status\":\"DONE\"}"};
}

static struct script_answer serve_rule(struct stage *stage, const char *body)
{
    size_t used = strlen(stage->rules);
    snprintf(stage->rules + used, sizeof(stage->rules) - used, "%s%s", used > 0 ? "," : "", body);
    return (struct script_answer){.status = 409, .body = "{}"};
}

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    if (strcmp(request->method, "DELETE") == 0) {
        return serve_delete(stage, request->target);
    }
    if (strcmp(request->method, "POST") == 0 && strstr(request->target, "bulkInsert")) {
        stage->sent++;
        return (struct script_answer){.body = stage->bulk};
    }
    if (strcmp(request->method, "POST") == 0 && strstr(request->target, "/instances/")) {
        return serve_change(stage, request->target);
    }
    if (strcmp(request->method, "POST") == 0 && strstr(request->target, "/firewalls")) {
        return serve_rule(stage, request->body);
    }
    if (strcmp(request->method, "POST") == 0) {
        snprintf(stage->written, sizeof(stage->written), "%s", request->body);
        return (struct script_answer){.body = "{\"name\":\"o\",\"status\":\"DONE\"}"};
    }
    if (strstr(request->target, "aggregated/operations")) {
        return (struct script_answer){.body = stage->operations};
    }
    if (strstr(request->target, "/firewalls?") && *stage->rules) {
        snprintf(stage->text, sizeof(stage->text), "{\"items\":[%s]}", stage->rules);
        return (struct script_answer){.body = stage->text};
    }
    if (strstr(request->target, "/firewalls?")) {
        return (struct script_answer){
            .body =
                "{\"items\":[{\"name\":\"" RULE
                "\",\"description\":\"Ray cluster demo, launched by Shoal; shoal-cluster-uid=" UID
                "\"}]}"};
    }
    if (strstr(request->target, "/instanceTemplates?")) {
        snprintf(stage->text, sizeof(stage->text), "{\"items\":[%s]}",
                 *stage->written ? stage->written : VERSION("4") "," VERSION("5"));
        return (struct script_answer){.body = stage->text};
    }
    if (stage->sent > 0 && strstr(request->target, "aggregated/instances")) {
        stage->gcp.shift_ms += SETTLED_MS; /* a listing would show them now */
    }
    bool is_listed = stage->instances && strstr(request->target, "aggregated/instances");
    return (struct script_answer){.body = is_listed ? stage->instances : "{}"};
}

static void answered(struct stage *stage, const struct provider_answer *answer)
{
    stage->answered++;
    stage->outcome = answer->outcome;
    loop_stop(stage->gcp.loop);
}

static void on_done(void *context, const struct provider_answer *answer)
{
    answered(context, answer);
}

static void on_lease(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    (void)lease;
    answered(context, answer);
}

static void on_machines(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct stage *stage = context;
    (void)machines;
    stage->count = count;
    answered(stage, answer);
}

static void on_things(void *context, const struct provider_answer *answer,
                      const struct provider_resource *things, size_t count)
{
    struct stage *stage = context;
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(stage->left);
        if (!things[i].is_gone) {
            snprintf(stage->left + used, sizeof(stage->left) - used, "%.*s: %.*s. ",
                     STR_ARG(things[i].kind), STR_ARG(things[i].note));
        }
    }
    answered(stage, answer);
}

static void await(struct stage *stage)
{
    stage->answered = 0;
    while (stage->answered == 0) {
        loop_run(stage->gcp.loop);
    }
}

static struct provider *stage_open(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    gcp_stage_open(&stage->gcp, serve, stage);
    stage->gcp.provider->ops->adopt(stage->gcp.provider, STR(UID));
    stage->rule_status = stage->label_status = 200;
    return stage->gcp.provider;
}

/* The newest version of the record is the lease: without it, the next `down` finds nothing. */
static void the_record_stays_while_a_rule_does(void **state)
{
    struct stage stage;
    (void)state;
    struct provider *provider = stage_open(&stage);
    stage.rule_status = 403;
    provider->ops->remove(provider, on_things, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_string_equal(stage.left, "firewall rule: not permitted to delete it. ");
    assert_non_null(strstr(stage.deleted, RULE " "));
    assert_non_null(strstr(stage.deleted, RECORD "4 "));
    assert_null(strstr(stage.deleted, RECORD "5 "));
    stage.rule_status = 200;
    stage.left[0] = stage.deleted[0] = '\0';
    provider->ops->remove(provider, on_things, &stage);
    await(&stage);
    assert_string_equal(stage.left, "");
    assert_non_null(strstr(stage.deleted, RECORD "5 "));
    gcp_stage_close(&stage.gcp);
}

/* Of an instance that is not listed only a delete operation without an error proves anything. */
static void a_deletion_that_failed_proves_nothing(void **state)
{
    struct stage stage;
    struct str id = STR("w-1");
    (void)state;
    struct provider *provider = stage_open(&stage);
    stage.operations = ENDED("w-1", "," STOCKOUT);
    provider->ops->terminate(provider, &id, 1, on_done, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_NOT_FOUND);
    stage.operations = ENDED("w-2", "");
    provider->ops->terminate(provider, &id, 1, on_done, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_NOT_FOUND);
    stage.operations = ENDED("w-1", "");
    provider->ops->terminate(provider, &id, 1, on_done, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    gcp_stage_close(&stage.gcp);
}

static struct provider_type worker_type(struct arena *arena)
{
    struct param *config = param_new_map(arena);
    struct param *disk = param_add_map(param_add_list(config, "disks", arena), "", arena);
    param_add_text(param_add_map(disk, "initializeParams", arena), "sourceImage", STR("i"), arena);
    param_add_text(config, "machineType", STR("e2-micro"), arena);
    return (struct provider_type){.name = STR("worker"), .node_config = config};
}

static struct provider *stage_open_with_lease(struct stage *stage, struct provider_type *type)
{
    struct provider *provider = stage_open(stage);
    struct take_request take = {.holder = STR("me"),
                                .lease_ms = 3600 * 1000,
                                .may_create = true,
                                .is_new = true,
                                .key = STR("ssh-ed25519 AAAA me\n")};
    *type = worker_type(&stage->gcp.arena);
    stage->gcp.cluster.types = type;
    stage->gcp.cluster.type_count = 1;
    provider->ops->take(provider, &take, on_lease, stage);
    await(stage);
    assert_int_equal(stage->outcome, OUTCOME_DONE);
    return provider;
}

static struct str stage_draft(struct stage *stage)
{
    struct err err;
    struct str call;
    struct provider *provider = stage->gcp.provider;
    struct launch_request request = {
        .token = STR("shoal-1"), .launch = 1, .count = 2, .zone = STR("us-a")};
    assert_true(provider->ops->draft(provider, &request, &stage->gcp.arena, &call, &err));
    return call;
}

/* Takes the lease and sends the same launch, until Google would list what it has created. */
static void check_launch(const char *bulk, int times, enum outcome last)
{
    struct stage stage;
    struct provider_type type;
    struct provider *provider = stage_open_with_lease(&stage, &type);
    stage.bulk = bulk;
    struct str call = stage_draft(&stage);
    for (int i = 0; i < times; i++) {
        provider->ops->launch(provider, call, on_machines, &stage);
        await(&stage);
    }
    assert_int_equal(stage.outcome, last);
    assert_int_equal(stage.count, 0);
    gcp_stage_close(&stage.gcp);
}

static void created_but_not_listed_is_no_refusal(void **state)
{
    (void)state;
    check_launch(BULK("0"), 1, OUTCOME_CAPACITY);
    check_launch(BULK("1"), 1, OUTCOME_UNKNOWN);
    check_launch(BULK("1"), 2, OUTCOME_DONE); /* they were terminated since */
}

static void check_old_launch(int64_t age_ms, int sent, enum outcome outcome)
{
    struct stage stage;
    struct provider_type type;
    struct provider *provider = stage_open_with_lease(&stage, &type);
    stage.bulk = BULK("0");
    struct str call = stage_draft(&stage);
    stage.gcp.shift_ms += age_ms;
    provider->ops->launch(provider, call, on_machines, &stage);
    await(&stage);
    assert_int_equal(stage.sent, sent);
    assert_int_equal(stage.outcome, outcome);
    assert_int_equal(stage.count, 0);
    gcp_stage_close(&stage.gcp);
}

/* Google may have forgotten its requestId: it would be launched twice. */
static void an_old_draft_is_only_looked_up(void **state)
{
    (void)state;
    check_old_launch(18 * MINUTE_MS, 1, OUTCOME_CAPACITY);
    check_old_launch(20 * MINUTE_MS, 0, OUTCOME_DONE);
}

/* Without its tag, a stopped instance is a leftover. */
static void an_instance_is_stopped_only_with_its_tag(void **state)
{
    struct stage stage;
    struct str id = STR("w-1");
    (void)state;
    struct provider *provider = stage_open(&stage);
    stage.instances = INSTANCE;
    provider->ops->stop(provider, &id, 1, on_done, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_string_equal(stage.changes, "setLabels stop ");
    stage.changes[0] = '\0';
    stage.label_status = 403;
    provider->ops->stop(provider, &id, 1, on_done, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DENIED);
    assert_string_equal(stage.changes, "setLabels ");
    gcp_stage_close(&stage.gcp);
}

/* An earlier try got no reply, and has made the rules. */
static void a_rule_that_is_there_already_is_used(void **state)
{
    struct stage stage;
    struct provider_type type;
    (void)state;
    struct provider *provider = stage_open_with_lease(&stage, &type);
    struct param *settings = param_new_map(&stage.gcp.arena);
    param_add_text(settings, "ssh_from", STR("192.0.2.1"), &stage.gcp.arena);
    stage.gcp.cluster.provider = settings;
    provider->ops->prepare(provider, STR("ssh-ed25519 AAAA me\n"), on_things, &stage);
    await(&stage);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_string_equal(stage.left, "firewall rule: . firewall rule: . ");
    gcp_stage_close(&stage.gcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_stays_while_a_rule_does),
        cmocka_unit_test(a_deletion_that_failed_proves_nothing),
        cmocka_unit_test(created_but_not_listed_is_no_refusal),
        cmocka_unit_test(an_old_draft_is_only_looked_up),
        cmocka_unit_test(an_instance_is_stopped_only_with_its_tag),
        cmocka_unit_test(a_rule_that_is_there_already_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
