/* probe_ask.c: sends the questions, each once, and collects the answers. */
#include "provider/gcp/preflight/gcp_permissions.h"
#include "provider/gcp/preflight/probe.h"
#include "provider/gcp/wire/gcp_instance.h"

enum { OTHER_MS = 20 * 1000 }; /* for what a launch does not need */

struct probe_call {
    struct probe *probe;
    size_t answer;
};

static void probe_on_reply(void *context, const struct gcp_reply *reply)
{
    const struct probe_call *call = context;
    struct probe *probe = call->probe;
    struct probe_answer *answer = &probe->answers[call->answer];
    answer->failure = reply->failure;
    answer->err = reply->err;
    if (reply->is_ok) {
        json_t *body = json_deep_copy(reply->body);
        json_array_append_new(probe->operation->items, body);
        answer->body = body;
    }
    if (--probe->pending == 0) {
        probe->operation->after_all(probe->operation);
    }
}

static void probe_ask(struct probe *probe, enum probe_kind kind, struct str about, size_t zone,
                      struct gcp_request request)
{
    if (probe_find(probe, kind, about, zone)) {
        return;
    }
    struct probe_call *call = ARENA_NEW(probe->arena, struct probe_call);
    *call = (struct probe_call){probe, probe->answer_count};
    ARENA_PUSH(probe->arena, probe->answers, probe->answer_count,
               probe->answer_space) = (struct probe_answer){
        .kind = kind, .about = about, .zone = zone};
    probe->pending++;
    request.done = probe_on_reply;
    request.context = call;
    gcp_call_start(probe->provider->client, &request);
}

/* ---- machines ---- */

static void probe_ask_type(struct probe *probe, size_t type, size_t zone)
{
    struct str name = probe_type(probe, type);
    struct str place = probe->provider->zones[zone];
    if (gcp_is_name(name)) {
        probe_ask(
            probe, PROBE_TYPE, name, zone,
            (struct gcp_request){.name = "machineTypes.get",
                                 .path = arena_printf(probe->arena, "zones/%.*s/machineTypes/%.*s",
                                                      STR_ARG(place), STR_ARG(name))});
    }
    for (const struct param *gpu = probe_gpus(probe, type); gpu; gpu = gpu->next) {
        struct str gpu_name = probe_gpu(gpu);
        if (gcp_is_name(gpu_name)) {
            probe_ask(probe, PROBE_GPU, gpu_name, zone,
                      (struct gcp_request){
                          .name = "acceleratorTypes.get",
                          .path = arena_printf(probe->arena, "zones/%.*s/acceleratorTypes/%.*s",
                                               STR_ARG(place), STR_ARG(gpu_name))});
        }
    }
}

static void probe_ask_path(struct probe *probe, enum probe_kind kind, const char *name,
                           struct str path)
{
    if (path.len > 0) {
        probe_ask(probe, kind, path, 0,
                  (struct gcp_request){
                      .name = name, .path = path, .has_project = true, .deadline_ms = OTHER_MS});
    }
}

/* ---- the project ---- */

/* `body` is given away. */
static void probe_ask_other(struct probe *probe, enum probe_kind kind, struct str about,
                            const char *service, const char *name, struct str path, json_t *body)
{
    probe_ask(probe, kind, about, 0,
              (struct gcp_request){.name = name,
                                   .service = service,
                                   .method = body ? "POST" : NULL,
                                   .body = body,
                                   .has_project = true,
                                   .path = path,
                                   .deadline_ms = OTHER_MS});
    json_decref(body);
}

static void probe_ask_resources(struct probe *probe, enum probe_kind kind, const char *name,
                                const char *verb, json_t *body)
{
    struct str project = gcp_client_project(probe->provider->client);
    probe_ask_other(probe, kind, STR(""), "cloudresourcemanager", name,
                    arena_printf(probe->arena, "v1/projects/%.*s:%s", STR_ARG(project), verb),
                    body);
}

static void probe_ask_rights(struct probe *probe)
{
    json_t *names = json_array();
    for (size_t i = 0; i < gcp_permission_count; i++) {
        json_array_append_new(names, json_string(gcp_permissions[i].name));
    }
    probe_ask_resources(probe, PROBE_PERMISSIONS, "projects.testIamPermissions",
                        "testIamPermissions", json_pack("{s:o}", "permissions", names));
    /* Version 3 contains the conditions of roles. */
    probe_ask_resources(probe, PROBE_POLICY, "projects.getIamPolicy", "getIamPolicy",
                        json_pack("{s:{s:i}}", "options", "requestedPolicyVersion", 3));
}

static void probe_ask_policies(struct probe *probe)
{
    struct str project = gcp_client_project(probe->provider->client);
    for (size_t i = 0; probe_policy(i).len > 0; i++) {
        json_t *body = json_pack("{s:s}", "constraint", probe_policy(i).ptr);
        probe_ask(probe, PROBE_ORG_POLICY, probe_policy(i), 0,
                  (struct gcp_request){
                      .name = "projects.getEffectiveOrgPolicy",
                      .service = "cloudresourcemanager",
                      .method = "POST",
                      .body = body,
                      .has_project = true,
                      .path = arena_printf(probe->arena, "v1/projects/%.*s:getEffectiveOrgPolicy",
                                           STR_ARG(project)),
                      .deadline_ms = OTHER_MS});
        json_decref(body);
    }
}

static void probe_ask_named(struct probe *probe)
{
    struct str name = probe->provider->cluster->name;
    if (!gcp_is_label(name, false)) {
        return; /* Ray cannot launch such a name */
    }
    probe->provider->named_ms = loop_now_ms(probe->provider->loop);
    struct str filter = gcp_encoded(
        probe->operation,
        arena_printf(probe->arena, "labels.ray-cluster-name=\"%.*s\"", STR_ARG(name)));
    probe_ask(
        probe, PROBE_NAMED, STR(""), 0,
        (struct gcp_request){.name = "instances.aggregatedList",
                             .path = arena_printf(probe->arena,
                                                  "aggregated/instances?returnPartialSuccess=true&"
                                                  "filter=%.*s&maxResults=500",
                                                  STR_ARG(filter)),
                             .deadline_ms = OTHER_MS});
}

void probe_ask_account(struct probe *probe, struct str email)
{
    if (email.len == 0) {
        return;
    }
    struct str path = arena_printf(probe->arena, "v1/projects/-/serviceAccounts/%.*s",
                                   STR_ARG(gcp_encoded(probe->operation, email)));
    probe_ask_other(probe, PROBE_ACCOUNT, email, "iam", "serviceAccounts.get", path, NULL);
    probe_ask_other(probe, PROBE_ACT_AS, email, "iam", "serviceAccounts.testIamPermissions",
                    arena_printf(probe->arena, "%.*s:testIamPermissions", STR_ARG(path)),
                    json_pack("{s:[s]}", "permissions", GCP_ACT_AS));
}

static void probe_ask_project(struct probe *probe)
{
    struct str region = probe_region(probe);
    struct str project = gcp_client_project(probe->provider->client);
    struct str email = param_text(probe_account(probe), "email");
    probe_ask(probe, PROBE_PROJECT, STR(""), 0,
              (struct gcp_request){
                  .name = "projects.get",
                  .has_project = true,
                  .path = arena_printf(probe->arena, "projects/%.*s", STR_ARG(project))});
    if (region.len > 0) {
        probe_ask(probe, PROBE_REGION, STR(""), 0,
                  (struct gcp_request){
                      .name = "regions.get",
                      .path = arena_printf(probe->arena, "regions/%.*s", STR_ARG(region)),
                      .deadline_ms = OTHER_MS});
    }
    probe_ask_named(probe);
    probe_ask_rights(probe);
    probe_ask_policies(probe);
    if (!str_is(email, "default")) {
        probe->account = email;
        probe_ask_account(probe, email.len > 0 ? email : probe_rays_account(probe));
    }
}

void probe_ask_all(struct probe *probe)
{
    const struct gcp_provider *provider = probe->provider;
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        for (size_t k = 0; k < provider->zone_count; k++) {
            probe_ask_type(probe, i, k);
        }
        struct str image = probe_image(probe, i);
        bool is_family = str_find(image, "/images/family/") != SIZE_MAX;
        probe_ask_path(probe, PROBE_IMAGE, is_family ? "images.getFromFamily" : "images.get",
                       image);
    }
    if (probe->scope == PREFLIGHT_FOR_LAUNCH) {
        return;
    }
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        probe_ask_path(probe, PROBE_SUBNETWORK, "subnetworks.get", probe_subnet(probe, i));
    }
    if (probe->scope < PREFLIGHT_FOR_UP) { /* a head that is launched again needs both */
        probe_ask_account(probe, probe_account(probe) ? STR("") : probe_rays_account(probe));
        return;
    }
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        probe_ask_path(probe, PROBE_NETWORK, "networks.get", probe_network(probe, i));
        probe_ask_path(probe, PROBE_SUBNETWORK, "subnetworks.get", probe_private_subnet(probe, i));
    }
    probe_ask_project(probe);
}
