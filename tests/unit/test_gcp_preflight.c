/* test_gcp_preflight.c: the preflight of a gcp cluster, with replies from a scripted server. */
#include "gcp_stage.h"
#include "provider/gcp/preflight/gcp_permissions.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ACCOUNT "1-compute@developer.gserviceaccount.com"
#define RAYS "ray-autoscaler-sa-v1@p.iam.gserviceaccount.com"
#define REFUSED(message) \
    "{\"error\":{\"message\":\"" message "\",\"status\":\"PERMISSION_DENIED\"}}"
#define ERROR_OF(reason) "{\"error\":{\"message\":\"m\",\"errors\":[{\"reason\":\"" reason "\"}]}}"
#define TYPE(more) \
    "{\"name\":\"n1-standard-4\",\"guestCpus\":4,\"architecture\":\"X86_64\"" more "}"
#define QUOTAS(cpus, spot, used)                                                                 \
    "{\"name\":\"us\",\"zones\":[\"https://x/zones/us-a\"],\"quotas\":[{\"metric\":\"CPUS\","    \
    "\"limit\":" cpus ",\"usage\":" used "},{\"metric\":\"PREEMPTIBLE_CPUS\",\"limit\":" spot    \
    ",\"usage\":0},{\"metric\":\"IN_USE_ADDRESSES\",\"limit\":8,\"usage\":0},{\"metric\":"       \
    "\"NVIDIA_T4_GPUS\",\"limit\":1,\"usage\":0},{\"metric\":\"N2_CPUS\",\"limit\":2,\"usage\":" \
    "0}]}"
#define PROJECT(more)                                                                    \
    "{\"name\":\"p\",\"defaultServiceAccount\":\"" ACCOUNT "\",\"quotas\":[{\"metric\":" \
    "\"GPUS_ALL_REGIONS\",\"limit\":0,\"usage\":0}]" more "}"

enum { ROUTES_MAX = 32, TEXT_MAX = 16384, TARGETS_MAX = 8192 };

struct route {
    const char *part; /* of the target */
    struct script_answer answer;
};

/* A project where everything is fine; "*" in the answer to permissions grants all. */
static const struct route usual[] = {
    {"/machineTypes/", {.body = TYPE("")}},
    {"/acceleratorTypes/", {.body = "{\"name\":\"nvidia-tesla-t4\"}"}},
    {"/images/", {.body = "{\"name\":\"debian-12-v1\",\"architecture\":\"X86_64\"}"}},
    {"/subnetworks/", {.body = "{\"name\":\"s\"}"}},
    {"/networks/", {.body = "{\"name\":\"default\",\"autoCreateSubnetworks\":true}"}},
    {"aggregated/instances", {.body = "{\"items\":{}}"}},
    {"/c/projects/p/regions/us", {.body = QUOTAS("24", "0", "0")}},
    {"/r/v1/projects/p:testIamPermissions", {.body = "*"}},
    {"/r/v1/projects/p:getIamPolicy",
     {.body = "{\"bindings\":[{\"role\":\"roles/editor\",\"members\":[\"serviceAccount:" ACCOUNT
              "\"]}]}"}},
    {"/r/v1/projects/p:getEffectiveOrgPolicy", {.body = "{\"booleanPolicy\":{}}"}},
    {"/serviceAccounts/ray-autoscaler", {.status = 404, .body = ERROR_OF("notFound")}},
    {":testIamPermissions", {.body = "{\"permissions\":[\"" GCP_ACT_AS "\"]}"}},
    {"/i/v1/projects/-/serviceAccounts/", {.body = "{\"email\":\"" ACCOUNT "\"}"}},
    {"/c/projects/p", {.body = PROJECT("")}},
};

struct stage {
    struct gcp_stage gcp;
    struct route routes[ROUTES_MAX]; /* before the usual ones */
    size_t route_count;
    char granted[TEXT_MAX];
    char targets[TARGETS_MAX]; /* of all requests, one per line */
    struct provider_type types[2];
    struct param *configs[2];
    enum outcome outcome;
    int answered;
    char text[TEXT_MAX]; /* findings: "E subject: text @path -> remedy", one per line */
};

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    size_t used = strlen(stage->targets);
    snprintf(stage->targets + used, TARGETS_MAX - used, "%s %s\n", request->method,
             request->target);
    for (size_t i = 0; i < stage->route_count; i++) {
        if (strstr(request->target, stage->routes[i].part)) {
            return stage->routes[i].answer;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        if (strstr(request->target, usual[i].part)) {
            struct script_answer answer = usual[i].answer;
            answer.body = strcmp(answer.body, "*") == 0 ? stage->granted : answer.body;
            return answer;
        }
    }
    return (struct script_answer){.status = 404, .body = "{}"};
}

static void stage_grant(struct stage *stage, const char *without)
{
    size_t used = (size_t)snprintf(stage->granted, TEXT_MAX, "{\"permissions\":[\"x.y.z\"");
    for (size_t i = 0; i < gcp_permission_count; i++) {
        if (!without || !strstr(without, gcp_permissions[i].name)) {
            used += (size_t)snprintf(stage->granted + used, TEXT_MAX - used, ",\"%s\"",
                                     gcp_permissions[i].name);
        }
    }
    snprintf(stage->granted + used, TEXT_MAX - used, "]}");
}

/* A head and up to four workers, of which one is there from the beginning. */
static void stage_open(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    gcp_stage_open(&stage->gcp, serve, stage);
    stage_grant(stage, NULL);
    struct arena *arena = &stage->gcp.arena;
    for (size_t i = 0; i < 2; i++) {
        struct param *config = stage->configs[i] = param_new_map(arena);
        param_add_text(config, "machineType", STR("n1-standard-4"), arena);
        struct param *disk = param_add_map(param_add_list(config, "disks", arena), "", arena);
        param_add_bool(disk, "boot", true, arena);
        param_add_text(param_add_map(disk, "initializeParams", arena), "sourceImage",
                       STR("projects/debian-cloud/global/images/family/debian-12"), arena);
        stage->types[i] = (struct provider_type){.name = i ? STR("worker") : STR("head"),
                                                 .node_config = config,
                                                 .is_head = i == 0,
                                                 .least = 1,
                                                 .most = i ? 8 : 1};
    }
    stage->gcp.cluster.types = stage->types;
    stage->gcp.cluster.type_count = 2;
}

static void stage_route(struct stage *stage, const char *part, int status, const char *body)
{
    stage->routes[stage->route_count++] = (struct route){part, {.status = status, .body = body}};
}

static void on_preflight(void *context, const struct provider_answer *answer,
                         const struct finding *findings, size_t count)
{
    struct stage *stage = context;
    size_t used = 0;
    stage->answered++;
    stage->outcome = answer->outcome;
    if (answer->outcome != OUTCOME_DONE) {
        snprintf(stage->text, TEXT_MAX, "%s", answer->err.text);
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(stage->text + used, TEXT_MAX - used,
                                 "%c %.*s: %.*s @%.*s -> %.*s\n", "FWE"[findings[i].level],
                                 STR_ARG(findings[i].subject), STR_ARG(findings[i].text),
                                 STR_ARG(findings[i].path), STR_ARG(findings[i].remedy));
        for (size_t k = 0; k < findings[i].row_count; k++) {
            used += (size_t)snprintf(stage->text + used, TEXT_MAX - used, "  %.*s %.*s\n",
                                     STR_ARG(findings[i].rows[k].name),
                                     STR_ARG(findings[i].rows[k].why));
        }
    }
    loop_stop(stage->gcp.loop);
}

/* Runs the preflight, and closes the stage. */
static void stage_run(struct stage *stage, enum preflight_scope scope)
{
    struct provider *provider = stage->gcp.provider;
    provider->ops->preflight(provider, scope, on_preflight, stage);
    while (stage->answered == 0) {
        loop_run(stage->gcp.loop);
    }
    assert_int_equal(stage->answered, 1);
}

static void assert_says(const struct stage *stage, const char *text)
{
    if (!strstr(stage->text, text)) {
        fail_msg("%s\nis not in:\n%s", text, stage->text);
    }
}

static void assert_silent(const struct stage *stage, const char *text)
{
    if (strstr(stage->text, text)) {
        fail_msg("%s\nis in:\n%s", text, stage->text);
    }
}

/* One reply is different: one finding must say so. */
static void check_one(const char *part, int status, const char *body, const char *says)
{
    struct stage stage;
    stage_open(&stage);
    stage_route(&stage, part, status, body);
    stage_run(&stage, PREFLIGHT_FOR_PEOPLE);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_says(&stage, says);
    gcp_stage_close(&stage.gcp);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++) {
        count++;
    }
    return count;
}

static void a_project_without_problems(void **state)
{
    struct stage stage;
    struct str zones[4];
    (void)state;
    stage_open(&stage);
    stage_run(&stage, PREFLIGHT_FOR_PEOPLE);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_silent(&stage, "\nE ");
    assert_silent(&stage, "\nW ");
    assert_silent(&stage, "not checked");
    assert_says(&stage, "F project: p, with authorized_user ");
    assert_says(&stage, "F machine type: worker: n1-standard-4, x86_64 with debian-12-v1 ");
    assert_says(&stage, "F quota: CPUS 0 of 24 in use (max_workers would need 36), "
                        "IN_USE_ADDRESSES 0 of 8 in use (max_workers would need 9) ");
    assert_says(&stage, "F permissions: all that launches need are granted");
    assert_says(&stage, "F service account: " ACCOUNT ", for the head ");
    struct provider *provider = stage.gcp.provider;
    assert_int_equal(provider->ops->zones(provider, 1, zones, 4), 1);
    struct provider_type_facts facts = provider->ops->type_facts(provider, 0);
    assert_true(str_is(facts.architecture, "x86_64"));
    assert_true(str_is(facts.image, "debian-12"));
    assert_true(str_is(facts.image_name, "debian-12-v1"));
    /* Two types of one machine and image: each is asked for once. */
    assert_int_equal(count_of(stage.targets, "\n"), 16);
    assert_int_equal(count_of(stage.targets, ":getEffectiveOrgPolicy"), 4);
    assert_int_equal(count_of(stage.targets, "requestId"), 0);
    gcp_stage_close(&stage.gcp);
}

static void a_launch_asks_for_machines_only(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_route(&stage, "/images/", 403, REFUSED("no"));
    stage_run(&stage, PREFLIGHT_FOR_LAUNCH);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_silent(&stage, "E ");
    assert_int_equal(count_of(stage.targets, "\n"), 2);
    gcp_stage_close(&stage.gcp);
}

static void no_answer_is_a_failure(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum outcome outcome;
    } cases[] = {{403, REFUSED("not you"), OUTCOME_DENIED}, {401, "{}", OUTCOME_DENIED}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stage stage;
        stage_open(&stage);
        stage_route(&stage, "/machineTypes/", cases[i].status, cases[i].body);
        stage_run(&stage, PREFLIGHT_FOR_PEOPLE);
        assert_int_equal(stage.outcome, cases[i].outcome);
        assert_says(&stage, "machineTypes.get");
        gcp_stage_close(&stage.gcp);
    }
}

static void the_project(void **state)
{
    (void)state;
    check_one("/c/projects/p", 403, ERROR_OF("accessNotConfigured"),
              "E project: the Compute Engine API is not enabled in project p @provider.project_id "
              "-> enable it: gcloud services enable compute.googleapis.com --project p\n");
    check_one("/c/projects/p", 404, ERROR_OF("notFound"),
              "E project: project p does not exist, or these credentials may not see it "
              "@provider.project_id -> write the ID");
    struct stage stage;
    stage_open(&stage);
    for (size_t i = 0; i < ARRAY_LEN(usual) - 1; i++) { /* all but the last one */
        stage.routes[stage.route_count++] = usual[i];
        if (strcmp(usual[i].answer.body, "*") == 0) {
            stage.routes[i].answer.body = stage.granted;
        }
    }
    stage_route(&stage, "/c/projects/p", 403, REFUSED("no compute.projects.get"));
    stage_run(&stage, PREFLIGHT_FOR_PEOPLE);
    assert_says(&stage, "F project: not checked: no compute.projects.get ");
    assert_says(&stage, "F permissions: all");
    gcp_stage_close(&stage.gcp);
}

static void machines(void **state)
{
    (void)state;
    check_one("/machineTypes/", 404, ERROR_OF("notFound"),
              "E machine type: no zone of the cluster offers n1-standard-4 "
              "@available_node_types.head.node_config.machineType -> name another");
    check_one("/images/", 404, ERROR_OF("notFound"),
              "E image: image projects/debian-cloud/global/images/family/debian-12 does not exist "
              "@available_node_types.head.node_config.disks");
    check_one("/images/", 0, "{\"name\":\"arm\",\"architecture\":\"ARM64\"}",
              "E image: image arm is for arm64, and n1-standard-4 has x86_64 processors "
              "@available_node_types.worker.node_config.disks");
    check_one("/images/", 0, "{\"name\":\"old\",\"deprecated\":{\"state\":\"OBSOLETE\"}}",
              "E image: image old is obsolete");
    check_one("/images/", 403, REFUSED("secret image"), "F image: not checked: secret image ");
    check_one("/regions/us", 404, ERROR_OF("notFound"),
              "E region: Google has no region us @provider.region");
    check_one("/regions/us", 0, "{\"zones\":[\"https://x/zones/us-b\"]}",
              "E zone: region us has no zone us-a @provider.availability_zone");
    check_one("/regions/us", 403, REFUSED("no regions"), "F quota: not checked: no regions ");
}

static void networks(void **state)
{
    struct stage stage;
    (void)state;
    check_one("/networks/default", 404, ERROR_OF("notFound"),
              "E network: the project has no network \"default\" "
              "@available_node_types.head.node_config -> write networkInterfaces");
    check_one("/networks/default", 0, "{\"autoCreateSubnetworks\":false}",
              "E network: network \"default\" has subnetworks of its own");
    check_one("/networks/default", 403, REFUSED("no net"), "F network: not checked: no net ");
    static const struct {
        const char *subnet;
        int status;
        const char *says;
    } cases[] = {
        {"regions/us/subnetworks/s", 404,
         "E network: subnetwork projects/p/regions/us/"
         "subnetworks/s does not exist @available_node_types."
         "head.node_config.networkInterfaces"},
        {"https://x/compute/v1/projects/q/regions/eu/subnetworks/s", 0,
         "E network: subnetwork projects/q/regions/eu/subnetworks/s is not in region us"},
        {"regions/us/subnetworks/s", 0, "F service account"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        stage_open(&stage);
        stage_route(&stage, "/subnetworks/", cases[i].status,
                    cases[i].status ? ERROR_OF("notFound") : "{}");
        for (size_t k = 0; k < 2; k++) {
            struct param *list = param_add_list(stage.configs[k], "networkInterfaces",
                                                &stage.gcp.arena);
            param_add_text(param_add_map(list, "", &stage.gcp.arena), "subnetwork",
                           str_from(cases[i].subnet), &stage.gcp.arena);
        }
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_says(&stage, cases[i].says);
        assert_silent(&stage, "IN_USE_ADDRESSES"); /* no accessConfigs */
        assert_int_equal(count_of(stage.targets, "/networks/"), 0);
        gcp_stage_close(&stage.gcp);
    }
}

/* Settings of a file whose instances have no public addresses. */
static struct param *make_private(struct stage *stage)
{
    struct arena *arena = &stage->gcp.arena;
    struct param *settings = param_new_map(arena);
    param_add_text(settings, "project_id", STR("p"), arena);
    param_add_text(settings, "region", STR("us"), arena);
    param_add_bool(settings, "use_internal_ips", true, arena);
    stage->gcp.cluster.provider = settings;
    return settings;
}

static void private_instances(void **state)
{
    static const char refusal[] = "W network: the head has no public address, and subnetwork "
                                  "default has no Private Google Access.";
    static const struct {
        const char *body;
        bool is_private, is_refused;
    } cases[] = {{"{\"privateIpGoogleAccess\":false}", true, true},
                 {"{\"privateIpGoogleAccess\":true}", true, false},
                 {"{\"privateIpGoogleAccess\":false}", false, false},
                 {NULL, true, false}};
    struct stage stage;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        stage_open(&stage);
        stage_route(&stage, "/regions/us/subnetworks/default", cases[i].body ? 0 : 404,
                    cases[i].body ? cases[i].body : ERROR_OF("notFound"));
        if (cases[i].is_private) {
            make_private(&stage);
        }
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_int_equal(count_of(stage.targets, "/subnetworks/"), cases[i].is_private);
        assert_int_equal(count_of(stage.text, refusal), cases[i].is_refused);
        if (cases[i].is_refused) {
            assert_says(&stage, "@provider.use_internal_ips -> gcloud compute networks subnets "
                                "update default --region us --enable-private-ip-google-access\n");
        }
        gcp_stage_close(&stage.gcp);
    }
}

static void a_tunnel(void **state)
{
    static const struct {
        const char *command, *from;
        const char *says;
    } cases[] = {
        {"ssh -W %h:%p jump", NULL, NULL},
        {"gcloud compute start-iap-tunnel %h %p", NULL, "F ssh: through Identity-Aware Proxy"},
        {"gcloud compute start-iap-tunnel %h %p", "35.235.240.0/20", "F ssh: through"},
        {"gcloud compute start-iap-tunnel %h %p", "198.51.100.7/32",
         "W ssh: ssh_proxy_command uses Identity-Aware Proxy, but metadata.shoal.ssh_from does not "
         "contain its range, so the cluster's firewall rule does not allow ssh from it "
         "@metadata.shoal.ssh_from -> add 35.235.240.0/20, or remove ssh_from\n"},
    };
    struct stage stage;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        stage_open(&stage);
        struct arena *arena = &stage.gcp.arena;
        struct param *settings = make_private(&stage);
        struct param *auth = param_new_map(arena);
        param_add_text(auth, "ssh_proxy_command", str_from(cases[i].command), arena);
        stage.gcp.cluster.auth = auth;
        if (cases[i].from) {
            struct param *list = param_add_list(settings, "ssh_from", arena);
            param_add_text(list, "", STR("10.0.0.0/8"), arena);
            param_add_text(list, "", str_from(cases[i].from), arena);
        }
        stage_run(&stage, PREFLIGHT_FOR_UP);
        if (cases[i].says) {
            assert_says(&stage, cases[i].says);
        } else {
            assert_silent(&stage, " ssh: ");
        }
        gcp_stage_close(&stage.gcp);
    }
}

static void quotas(void **state)
{
    struct stage stage;
    (void)state;
    check_one("/regions/us", 0, QUOTAS("7", "0", "0"),
              "E quota: the project's quota CPUS is 7 in us; the head and min_workers need 8 "
              "@available_node_types.head.node_config.machineType -> lower min_workers, or request "
              "a larger quota: https://console.cloud.google.com/iam-admin/quotas?project=p");
    check_one("/regions/us", 0, QUOTAS("8", "0", "1"),
              "W quota: 1 of the project's quota CPUS of 8 in us are in use; the head and "
              "min_workers need 8 more");
    stage_open(&stage); /* its own instances may be what is in use */
    stage_route(&stage, "/regions/us", 0, QUOTAS("8", "0", "1"));
    stage_route(&stage, "aggregated/instances", 0,
                "{\"items\":{\"zones/us-a\":{\"instances\":[{\"name\":\"ray-demo\",\"labels\":{"
                "\"shoal-cluster-uid\":\"u\"}}]}}}");
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_silent(&stage, "W ");
    assert_silent(&stage, "E ");
    gcp_stage_close(&stage.gcp);
    for (int i = 0; i < 2; i++) { /* spot instances have their own quota, if it was granted */
        stage_open(&stage);
        stage_route(&stage, "/regions/us", 0, i ? QUOTAS("4", "3", "0") : QUOTAS("4", "0", "0"));
        struct param *list = param_add_list(stage.configs[1], "scheduling", &stage.gcp.arena);
        param_add_bool(param_add_map(list, "", &stage.gcp.arena), "preemptible", true,
                       &stage.gcp.arena);
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_says(&stage, i ? "E quota: the project's quota PREEMPTIBLE_CPUS is 3 in us; the "
                                "head and min_workers need 4 @available_node_types.worker."
                              : "E quota: the project's quota CPUS is 4 in us; the head and "
                                "min_workers need 8 ");
        gcp_stage_close(&stage.gcp);
    }
}

/* GB of disks by type, and what the cluster makes in the project. */
static void quotas_of_disks_and_resources(void **state)
{
#define MORE(disks, ssd)                                                                \
    "{\"zones\":[\"https://x/zones/us-a\"],\"quotas\":[{\"metric\":"                    \
    "\"DISKS_TOTAL_GB\",\"limit\":" disks ",\"usage\":0},{\"metric\":\"SSD_TOTAL_GB\"," \
    "\"limit\":" ssd ",\"usage\":0}]}"
#define OF_PROJECT(rules, templates)                                                       \
    "{\"name\":\"p\",\"defaultServiceAccount\":\"" ACCOUNT "\",\"quotas\":[{\"metric\":"   \
    "\"FIREWALLS\",\"limit\":100,\"usage\":" rules "},{\"metric\":\"INSTANCE_TEMPLATES\"," \
    "\"limit\":300,\"usage\":" templates "}]}"
    struct stage stage;
    (void)state;
    for (int i = 0; i < 3; i++) {
        stage_open(&stage);
        struct arena *arena = &stage.gcp.arena;
        stage_route(&stage, "/regions/us", 0, i < 2 ? MORE("90", "99") : MORE("100", "100"));
        stage_route(&stage, "/images/", 0, "{\"name\":\"d\",\"diskSizeGb\":\"50\"}");
        struct param *disk = param_add_map(param_find(stage.configs[1], "disks"), "", arena);
        struct param *made = param_add_map(disk, "initializeParams", arena);
        param_add_text(made, "diskType", STR("zones/us-a/diskTypes/pd-balanced"), arena);
        param_add_number(made, "diskSizeGb", 100, arena);
        stage_run(&stage, PREFLIGHT_FOR_UP);
        if (i < 2) {
            assert_says(&stage, "E quota: the project's quota DISKS_TOTAL_GB is 90 in us; the head "
                                "and min_workers need 100 ");
            assert_says(&stage, "E quota: the project's quota SSD_TOTAL_GB is 99 in us; the head "
                                "and min_workers need 100 ");
        } else {
            assert_silent(&stage, "E quota");
        }
        gcp_stage_close(&stage.gcp);
    }
    for (int i = 0; i < 3; i++) {
        stage_open(&stage);
        for (size_t k = 0; k + 1 < ARRAY_LEN(usual); k++) {
            stage.routes[stage.route_count++] = usual[k];
        }
        for (size_t k = 0; k < stage.route_count; k++) {
            bool is_all = stage.routes[k].answer.body && !strcmp(stage.routes[k].answer.body, "*");
            stage.routes[k].answer.body = is_all ? stage.granted : stage.routes[k].answer.body;
        }
        stage_route(&stage, "/c/projects/p", 0,
                    i == 0   ? OF_PROJECT("98", "294")
                    : i == 1 ? OF_PROJECT("99", "0")
                             : OF_PROJECT("0", "295"));
        stage_run(&stage, PREFLIGHT_FOR_UP);
        if (i == 0) {
            assert_silent(&stage, "E quota");
        } else {
            assert_says(&stage, i == 1 ? "E quota: 99 of the project's quota FIREWALLS of 100"
                                       : "E quota: 295 of the project's quota INSTANCE_TEMPLATES");
            assert_says(&stage, "-> delete what nothing uses: shoal gc, or request a larger");
        }
        gcp_stage_close(&stage.gcp);
    }
}

static void gpus(void **state)
{
    struct stage stage;
    (void)state;
    for (int i = 0; i < 2; i++) {
        stage_open(&stage);
        struct arena *arena = &stage.gcp.arena;
        struct param *list = param_add_list(stage.configs[1], "guestAccelerators", arena);
        struct param *gpu = param_add_map(list, "", arena);
        param_add_text(gpu, "acceleratorType",
                       STR("projects/p/zones/us-a/acceleratorTypes/nvidia-tesla-t4"), arena);
        param_add_number(gpu, "acceleratorCount", 2, arena);
        if (i) {
            stage_route(&stage, "/acceleratorTypes/", 404, ERROR_OF("notFound"));
        }
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_says(&stage, "E quota: the project's quota NVIDIA_T4_GPUS is 1 in us; ");
        assert_says(&stage, "E quota: the project's quota GPUS_ALL_REGIONS is 0 in all regions; ");
        if (i) {
            assert_says(&stage, "E machine type: no zone of the cluster has both n1-standard-4 and "
                                "GPUs of type nvidia-tesla-t4 "
                                "@available_node_types.worker.node_config.guestAccelerators");
        }
        gcp_stage_close(&stage.gcp);
    }
    stage_open(&stage); /* a machine type with GPUs */
    stage_route(&stage, "/machineTypes/", 0,
                TYPE(",\"accelerators\":[{\"guestAcceleratorType\":\"nvidia-tesla-t4\","
                     "\"guestAcceleratorCount\":1}]"));
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_says(&stage, "NVIDIA_T4_GPUS is 1 in us; the head and min_workers need 2 ");
    gcp_stage_close(&stage.gcp);
}

static void another_launcher(void **state)
{
    (void)state;
    check_one("aggregated/instances", 0,
              "{\"items\":{\"zones/us-a\":{\"instances\":[{\"name\":\"ray-a\",\"labels\":{}},{"
              "\"name\":\"ray-b\"}]}}}",
              "E name: 2 instances of a cluster with this name were not launched by Shoal: ray-a, "
              "ray-b @cluster_name -> remove them first");
}

static void permissions(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_grant(
        &stage,
        "compute.instances.create compute.firewalls.list compute.subnetworks.use " GCP_ACT_AS);
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_says(&stage, "E permissions: 2 permissions in project p are missing @ -> ask an "
                        "administrator of the project for the role that `shoal policy FILE` "
                        "prints\n  compute.firewalls.list to let ssh and the nodes through the "
                        "firewall\n  compute.instances.create to create instances\n");
    assert_says(&stage, "F service account"); /* actAs is granted on the account itself */
    gcp_stage_close(&stage.gcp);
    stage_open(&stage); /* a condition may grant it */
    stage_grant(&stage, "compute.instances.create");
    stage_route(&stage, ":getIamPolicy", 0,
                "{\"bindings\":[{\"role\":\"r\",\"members\":[\"user:a\"]},"
                "{\"role\":\"r\",\"condition\":{\"expression\":\"e\"}}]}");
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_says(&stage, "W permissions: 1 permission in project p is missing, unless a "
                        "conditional role grants it @");
    gcp_stage_close(&stage.gcp);
    check_one("/r/v1/projects/p:testIamPermissions", 403, REFUSED("API is disabled"),
              "F permissions: not checked: API is disabled ");
}

static void service_accounts(void **state)
{
    struct stage stage;
    (void)state;
    check_one("/i/v1/projects/-/serviceAccounts/1-compute", 404, ERROR_OF("notFound"),
              "E service account: the project's default service account " ACCOUNT
              " does not exist: it was deleted; the head launches workers with it "
              "@available_node_types.head.node_config -> gcloud iam service-accounts create "
              "ray-autoscaler-sa-v1 --project p; shoal policy FILE > role.yaml; gcloud iam roles "
              "create rayClusters --project p --file role.yaml; gcloud projects "
              "add-iam-policy-binding p --member serviceAccount:" RAYS " --role "
              "projects/p/roles/rayClusters --condition None; gcloud iam service-accounts "
              "add-iam-policy-binding " RAYS " --member user:YOU --role "
              "roles/iam.serviceAccountUser");
    check_one("/i/v1/projects/-/serviceAccounts/1-compute", 403, REFUSED("no get"),
              "F service account: " ACCOUNT ", for the head; not checked: no get ");
    check_one(":getIamPolicy", 0, "{\"bindings\":[]}",
              "E service account: the project grants no role to the head's service account " ACCOUNT
              ", so the head cannot launch workers @available_node_types.head.node_config -> shoal "
              "policy FILE > role.yaml;");
    check_one(":getIamPolicy", 403, REFUSED("no policy"),
              "F service account: " ACCOUNT ", for the head");
    stage_open(&stage);
    stage_route(&stage, "/serviceAccounts/1-compute%40developer.gserviceaccount.com:test", 0, "{}");
    stage_grant(&stage, GCP_ACT_AS);
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_says(&stage, "E service account: you are not permitted to use the head's service "
                        "account " ACCOUNT " (iam.serviceAccounts.actAs) ");
    gcp_stage_close(&stage.gcp);
    for (int i = 0; i < 2; i++) { /* one of the file */
        stage_open(&stage);
        struct arena *arena = &stage.gcp.arena;
        struct param *own = param_add_map(
            param_add_list(stage.configs[0], "serviceAccounts", arena), "", arena);
        param_add_text(own, "email", STR("me@p.iam"), arena);
        param_add_text(param_add_list(own, "scopes", arena), "",
                       STR("https://www.googleapis.com/auth/devstorage.read_only"), arena);
        if (i) {
            stage_route(&stage, "/serviceAccounts/me%40p.iam", 0, "{\"disabled\":true}");
        }
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_says(&stage, i ? "E service account: the head's service account me@p.iam is "
                                "disabled @available_node_types.head.node_config.serviceAccounts"
                              : "W service account: the scopes of the head's service account do "
                                "not include Compute Engine");
        assert_int_equal(count_of(stage.targets, "1-compute"), 0);
        gcp_stage_close(&stage.gcp);
    }
}

/* It is used if it exists, is enabled, has a role, and the caller may act as it. */
static void the_account_of_rays_launcher(void **state)
{
    static const char *const roles[] = {RAYS, "other"};
    static const struct {
        const char *account, *use;
        bool has_role, is_used;
    } rows[] = {
        {"{}", "{\"permissions\":[\"" GCP_ACT_AS "\"]}", true, true},
        {"{\"disabled\":true}", "{\"permissions\":[\"" GCP_ACT_AS "\"]}", true, false},
        {"{}", "{}", true, false},
        {"{}", "{\"permissions\":[\"" GCP_ACT_AS "\"]}", false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage stage;
        char policy[TEXT_MAX];
        snprintf(policy, sizeof(policy),
                 "{\"bindings\":[{\"role\":\"r\",\"members\":[\"serviceAccount:" ACCOUNT
                 "\",\"serviceAccount:%s\"]}]}",
                 roles[!rows[i].has_role]);
        stage_open(&stage);
        stage_route(&stage, "ray-autoscaler-sa-v1%40p.iam.gserviceaccount.com:test", 0,
                    rows[i].use);
        stage_route(&stage, "/serviceAccounts/ray-autoscaler", 0, rows[i].account);
        stage_route(&stage, ":getIamPolicy", 0, policy);
        stage_run(&stage, PREFLIGHT_FOR_UP);
        assert_says(&stage, rows[i].is_used ? "F service account: " RAYS ", for the head"
                                            : "F service account: " ACCOUNT ", for the head");
        assert_silent(&stage, "E service account");
        assert_true(count_of(stage.targets, "/serviceAccounts/1-compute") ==
                    (rows[i].is_used ? 0 : 2));
        gcp_stage_close(&stage.gcp);
    }
}

static void policies_of_the_organization(void **state)
{
    (void)state;
    check_one(":getEffectiveOrgPolicy", 0, "{\"booleanPolicy\":{\"enforced\":true}}",
              "E organization: your organization requires OS Login");
    check_one(":getEffectiveOrgPolicy", 0, "{\"listPolicy\":{\"allValues\":\"DENY\"}}",
              "E organization: your organization restricts public addresses");
    check_one(":getEffectiveOrgPolicy", 0, "{\"listPolicy\":{\"allowedValues\":[\"x\"]}}",
              "E organization: your organization restricts public addresses");
}

static void os_login(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    for (size_t i = 0; i + 1 < ARRAY_LEN(usual); i++) {
        stage.routes[stage.route_count++] = usual[i];
    }
    stage_route(&stage, "/c/projects/p", 0,
                PROJECT(",\"commonInstanceMetadata\":{\"items\":[{\"key\":\"enable-oslogin\","
                        "\"value\":\"TRUE\"}]}"));
    stage_run(&stage, PREFLIGHT_FOR_UP);
    assert_says(&stage, "F ssh: the project uses OS Login; instances of the cluster do not");
    gcp_stage_close(&stage.gcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_without_problems),
        cmocka_unit_test(a_launch_asks_for_machines_only),
        cmocka_unit_test(no_answer_is_a_failure),
        cmocka_unit_test(the_project),
        cmocka_unit_test(machines),
        cmocka_unit_test(networks),
        cmocka_unit_test(private_instances),
        cmocka_unit_test(a_tunnel),
        cmocka_unit_test(quotas),
        cmocka_unit_test(quotas_of_disks_and_resources),
        cmocka_unit_test(gpus),
        cmocka_unit_test(another_launcher),
        cmocka_unit_test(permissions),
        cmocka_unit_test(service_accounts),
        cmocka_unit_test(the_account_of_rays_launcher),
        cmocka_unit_test(policies_of_the_organization),
        cmocka_unit_test(os_login),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
