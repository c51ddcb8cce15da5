/* probe.c: the preflight: asks, evaluates, and keeps which zone offers what. Changes nothing. */
#include "provider/gcp/preflight/probe.h"

#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

#include <stdarg.h>
#include <stdio.h>

enum { FINDINGS_MAX = 128, TEXT_BYTES_MAX = 1024 };

/* ---- answers ---- */

const struct probe_answer *probe_find(const struct probe *probe, enum probe_kind kind,
                                      struct str about, size_t zone)
{
    for (size_t i = 0; i < probe->answer_count; i++) {
        const struct probe_answer *answer = &probe->answers[i];
        if (answer->kind == kind && answer->zone == zone && str_eq(answer->about, about)) {
            return answer;
        }
    }
    return NULL;
}

const json_t *probe_body(const struct probe *probe, enum probe_kind kind)
{
    const struct probe_answer *answer = probe_find(probe, kind, STR(""), 0);
    return answer ? answer->body : NULL;
}

/* ---- findings ---- */

struct finding *probe_add(struct probe *probe, enum finding_level level, const char *subject,
                          const char *fmt, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (probe->finding_count == FINDINGS_MAX) { /* the last one is replaced */
        probe->finding_count--;
    }
    struct finding *finding = &probe->findings[probe->finding_count++];
    *finding = (struct finding){.level = level,
                                .subject = str_from(subject),
                                .text = arena_str(probe->arena, str_from(text))};
    return finding;
}

void probe_note(struct probe *probe, const char *subject, const struct probe_answer *answer)
{
    if (answer && !answer->body) {
        probe_add(probe, FINDING_FINE, subject, "not checked: %s", answer->failure.message);
    }
}

struct str probe_path(const struct probe *probe, size_t type, const char *key)
{
    struct str name = str_sub(probe->provider->cluster->types[type].name, 0, 80);
    return arena_printf(probe->arena, "available_node_types.%.*s.node_config%s%s", STR_ARG(name),
                        *key ? "." : "", key);
}

/* ---- the project ---- */

/* If the project cannot be used at all, that is the only finding. */
static bool probe_judge_project(struct probe *probe)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_PROJECT, STR(""), 0);
    struct str project = str_sub(gcp_client_project(probe->provider->client), 0, 80);
    struct finding *finding = NULL;
    if (!answer || answer->body) {
        probe_add(probe, FINDING_FINE, "project", "%.*s, with %.*s", STR_ARG(project),
                  STR_ARG(str_sub(gcp_client_source(probe->provider->client), 0, 200)));
        return true;
    }
    struct str reason = str_from(answer->failure.reason);
    if (str_is(reason, "accessNotConfigured") || str_is(reason, "SERVICE_DISABLED")) {
        finding = probe_add(probe, FINDING_ERROR, "project",
                            "the Compute Engine API is not enabled in project %.*s",
                            STR_ARG(project));
        finding->remedy = arena_printf(
            probe->arena, "enable it: gcloud services enable compute.googleapis.com --project %.*s",
            STR_ARG(project));
    } else if (answer->failure.outcome == OUTCOME_NOT_FOUND) {
        finding = probe_add(probe, FINDING_ERROR, "project",
                            "project %.*s does not exist, or these credentials may not see it",
                            STR_ARG(project));
        finding->remedy = STR("write the ID of the project, not its name: gcloud projects list "
                              "prints both");
    } else {
        probe_note(probe, "project", answer);
        return true;
    }
    finding->path = STR("provider.project_id");
    return false;
}

/* ---- the end ---- */

static bool has_error(const struct probe *probe)
{
    for (size_t i = 0; i < probe->finding_count; i++) {
        if (probe->findings[i].level == FINDING_ERROR) {
            return true;
        }
    }
    return false;
}

/* Google, or the source of the token, did not answer. A refusal is a finding. */
static const struct probe_answer *probe_find_broken(const struct probe *probe, bool is_refusal)
{
    for (size_t i = 0; i < probe->answer_count; i++) {
        const struct probe_answer *answer = &probe->answers[i];
        enum outcome outcome = answer->failure.outcome;
        bool is_needed = answer->kind == PROBE_TYPE || answer->kind == PROBE_PROJECT;
        bool is_answer = outcome == OUTCOME_NOT_FOUND || outcome == OUTCOME_INVALID;
        bool is_refused = outcome == OUTCOME_DENIED && answer->failure.status == 403;
        bool is_reply = answer->failure.status > 0 && (is_answer || is_refused);
        if (is_needed && !answer->body &&
            (!is_reply || (is_refusal && is_refused && answer->kind == PROBE_TYPE))) {
            return answer;
        }
    }
    return NULL;
}

/* For take(), which asks the same in a moment. */
static void probe_keep_named(const struct probe *probe)
{
    struct gcp_provider *provider = probe->provider;
    const json_t *body = probe_body(probe, PROBE_NAMED);
    json_t *items = json_array();
    struct str next;
    struct err ignored;
    json_decref(provider->named);
    provider->named = NULL;
    if (body && gcp_page_read(body, "instances", items, &next, &ignored) && next.len == 0) {
        provider->named = json_incref(items);
    }
    json_decref(items);
}

static void probe_finish(struct probe *probe)
{
    struct gcp_operation *operation = probe->operation;
    probe_keep_named(probe);
    if (probe->scope != PREFLIGHT_FOR_LAUNCH) {
        struct arena *arena = &probe->provider->arena;
        probe->provider->network = arena_str(arena, probe_rules_network(probe));
        probe->provider->account = arena_str(arena, probe->is_rays ? probe->account : STR(""));
    }
    const struct probe_answer *broken = probe_find_broken(probe, false);
    if (!broken && probe_judge_project(probe)) {
        probe_judge_machines(probe);
        probe_judge_places(probe);
        probe_judge_private(probe);
        probe_judge_quotas(probe);
        probe_judge_access(probe);
        probe_judge_policies(probe);
    }
    if (!broken && !has_error(probe)) {
        broken = probe_find_broken(probe, true);
    }
    if (broken) {
        bool is_other = broken->failure.outcome == OUTCOME_NOT_FOUND;
        operation->answer.outcome = is_other ? OUTCOME_INVALID : broken->failure.outcome;
        operation->answer.err = broken->err;
    }
    operation->surveyed(operation->context, &operation->answer, probe->findings,
                        broken ? 0 : probe->finding_count);
    gcp_end(operation);
}

/* The default account is known only now. The one that Ray's launcher makes comes before it. */
static void probe_on_all(struct gcp_operation *operation)
{
    struct probe *probe = operation->probe;
    if (probe->account.len == 0 && !probe_account(probe) &&
        probe_can_use(probe, probe_rays_account(probe))) {
        probe->account = probe_rays_account(probe);
        probe->is_rays = true;
    } else if (probe->account.len == 0) {
        probe->account = host_record_text(probe_body(probe, PROBE_PROJECT),
                                          "defaultServiceAccount");
        probe_ask_account(probe, probe->account);
    }
    if (probe->pending == 0) {
        probe_finish(probe);
    }
}

static void probe_on_templates(struct gcp_operation *operation)
{
    operation->after_all = probe_on_all;
    if (!gcp_is_fine(operation)) {
        operation->surveyed(operation->context, &operation->answer, NULL, 0);
        gcp_end(operation);
        return;
    }
    probe_ask_all(operation->probe);
    if (operation->probe->pending == 0) { /* a file without machine types */
        probe_on_all(operation);
    }
}

static void probe_start(struct gcp_operation *operation)
{
    gcp_read_templates(operation, probe_on_templates);
}

void gcp_preflight(struct provider *base, enum preflight_scope scope, provider_preflight_fn *done,
                   void *context)
{
    struct gcp_provider *provider = gcp_of(base);
    struct gcp_operation *operation = gcp_begin(provider, context);
    struct probe *probe = ARENA_NEW(&operation->arena, struct probe);
    size_t types = provider->cluster->type_count;
    operation->surveyed = done;
    operation->probe = probe;
    operation->items = json_array();
    *probe = (struct probe){
        .operation = operation, .provider = provider, .arena = &operation->arena, .scope = scope};
    probe->findings = ARENA_ARRAY(probe->arena, FINDINGS_MAX, struct finding);
    provider->is_offered = ARENA_ARRAY(&provider->arena, types * GCP_ZONES_MAX, bool);
    provider->facts = ARENA_ARRAY(&provider->arena, types, struct provider_type_facts);
    gcp_later(operation, 0, probe_start);
}

/* ---- results ---- */

size_t gcp_zones(struct provider *base, size_t type, struct str *ret_zones, size_t most)
{
    const struct gcp_provider *provider = gcp_of(base);
    size_t count = 0;
    for (size_t i = 0; i < provider->zone_count && provider->is_offered && count < most; i++) {
        if (provider->is_offered[type * GCP_ZONES_MAX + i]) {
            ret_zones[count++] = provider->zones[i];
        }
    }
    return count;
}

struct provider_type_facts gcp_type_facts(struct provider *base, size_t type)
{
    const struct gcp_provider *provider = gcp_of(base);
    return provider->facts ? provider->facts[type] : (struct provider_type_facts){0};
}
