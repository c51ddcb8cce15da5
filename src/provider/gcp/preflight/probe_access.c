/* probe_access.c: permissions of the caller, the head's service account, and OS Login. */
#include "provider/gcp/preflight/gcp_permissions.h"
#include "provider/gcp/preflight/probe.h"

#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

#define SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform"
#define SCOPE_COMPUTE "https://www.googleapis.com/auth/compute"

/* ---- permissions ---- */

static bool is_granted(const json_t *answer, const char *permission)
{
    const json_t *list = json_object_get(answer, "permissions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && str_is(str_from(name), permission)) {
            return true;
        }
    }
    return false;
}

/* Google tests permissions for the project as a whole: one that a condition grants for some
 * resources counts as missing. */
static bool probe_has_condition(const struct probe *probe)
{
    const json_t *list = json_object_get(probe_body(probe, PROBE_POLICY), "bindings");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_is_object(json_object_get(json_array_get(list, i), "condition"))) {
            return true;
        }
    }
    return false;
}

static void probe_judge_permissions(struct probe *probe)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_PERMISSIONS, STR(""), 0);
    if (!answer || !answer->body) {
        probe_note(probe, "permissions", answer);
        return;
    }
    struct finding_row *rows = ARENA_ARRAY(probe->arena, gcp_permission_count, struct finding_row);
    size_t count = 0;
    for (size_t i = 0; i < gcp_permission_count; i++) {
        if (!gcp_permissions[i].is_local && !is_granted(answer->body, gcp_permissions[i].name)) {
            rows[count++] = (struct finding_row){
                .name = str_from(gcp_permissions[i].name),
                .why = arena_printf(probe->arena, "to %s", gcp_permissions[i].what)};
        }
    }
    if (count == 0) {
        probe_add(probe, FINDING_FINE, "permissions", "all that launches need are granted");
        return;
    }
    bool is_unsure = probe_has_condition(probe);
    struct finding *finding = probe_add(
        probe, is_unsure ? FINDING_WARNING : FINDING_ERROR, "permissions",
        "%zu permission%s in project %.*s %s missing%s%s", count, count == 1 ? "" : "s",
        STR_ARG(gcp_client_project(probe->provider->client)), count == 1 ? "is" : "are",
        is_unsure ? ", unless a conditional role grants " : "",
        !is_unsure   ? ""
        : count == 1 ? "it"
                     : "them");
    finding->rows = rows;
    finding->row_count = count;
    finding->remedy = STR("ask an administrator of the project for the role that `shoal policy "
                          "FILE` prints");
}

/* ---- the head's service account ---- */

static size_t probe_head(const struct probe *probe)
{
    size_t head = 0;
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        head = probe->provider->cluster->types[i].is_head ? i : head;
    }
    return head;
}

static struct str probe_account_path(const struct probe *probe)
{
    return probe_path(probe, probe_head(probe), probe_account(probe) ? "serviceAccounts" : "");
}

/* Of the account that Ray's launcher makes in a project. */
struct str probe_rays_account(const struct probe *probe)
{
    return arena_printf(probe->arena, "ray-autoscaler-sa-v1@%.*s.iam.gserviceaccount.com",
                        STR_ARG(str_sub(gcp_client_project(probe->provider->client), 0, 80)));
}

/* What an administrator types once, in this order. */
static struct str probe_commands(const struct probe *probe, struct str email, bool is_new)
{
    struct str project = str_sub(gcp_client_project(probe->provider->client), 0, 80);
    struct str name = str_sub(email, 0, str_find_char(email, '@'));
    struct str make = arena_printf(probe->arena,
                                   "gcloud iam service-accounts create %.*s --project %.*s; ",
                                   STR_ARG(name), STR_ARG(project));
    struct str use = arena_printf(probe->arena,
                                  "; gcloud iam service-accounts add-iam-policy-binding %.*s "
                                  "--member user:YOU --role roles/iam.serviceAccountUser",
                                  STR_ARG(email));
    return arena_printf(probe->arena,
                        "%.*sshoal policy FILE > role.yaml; gcloud iam roles create rayClusters "
                        "--project %.*s --file role.yaml; gcloud projects add-iam-policy-binding "
                        "%.*s --member serviceAccount:%.*s --role projects/%.*s/roles/rayClusters "
                        "--condition None%.*s",
                        STR_ARG(is_new ? make : STR("")), STR_ARG(project), STR_ARG(project),
                        STR_ARG(email), STR_ARG(project), STR_ARG(is_new ? use : STR("")));
}

static bool probe_names_account(const struct probe *probe)
{
    return probe_account(probe) && !str_is(param_text(probe_account(probe), "email"), "default");
}

static void probe_judge_missing(struct probe *probe)
{
    bool is_named = probe_names_account(probe);
    struct finding *finding = probe_add(
        probe, FINDING_ERROR, "service account",
        "%s %.*s does not exist%s; the head launches workers with it",
        is_named ? "service account" : "the project's default service account",
        STR_ARG(probe->account), is_named ? "" : ": it was deleted");
    finding->path = probe_account_path(probe);
    finding->remedy = probe_commands(probe, is_named ? probe->account : probe_rays_account(probe),
                                     true);
}

/* Roles of a folder or of the organization are not visible here. */
static bool probe_account_has_role(const struct probe *probe, struct str email)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const json_t *list = json_object_get(probe_body(probe, PROBE_POLICY), "bindings");
    struct str member = arena_printf(&arena, "serviceAccount:%.*s", STR_ARG(email));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *members = json_object_get(json_array_get(list, i), "members");
        for (size_t k = 0; k < json_array_size(members); k++) {
            const char *name = json_string_value(json_array_get(members, k));
            if (name && str_is(member, name)) {
                return true;
            }
        }
    }
    return !json_is_array(list);
}

bool probe_can_use(const struct probe *probe, struct str email)
{
    const struct probe_answer *account = probe_find(probe, PROBE_ACCOUNT, email, 0);
    const struct probe_answer *use = probe_find(probe, PROBE_ACT_AS, email, 0);
    return account && account->body && use && is_granted(use->body, GCP_ACT_AS) &&
           !json_is_true(json_object_get(account->body, "disabled")) &&
           probe_account_has_role(probe, email);
}

static bool probe_account_has_scope(const struct probe *probe)
{
    const struct param *list = param_get(probe_account(probe), PARAM_LIST, "scopes");
    for (const struct param *item = list ? list->first : NULL; item; item = item->next) {
        if (item->kind == PARAM_TEXT &&
            (str_is(item->text, SCOPE_ALL) || str_is(item->text, SCOPE_COMPUTE))) {
            return true;
        }
    }
    return !probe_account(probe);
}

static void probe_judge_powers(struct probe *probe)
{
    struct finding *finding = NULL;
    if (!probe_account_has_scope(probe)) {
        finding = probe_add(probe, FINDING_WARNING, "service account",
                            "the scopes of the head's service account do not include Compute "
                            "Engine, so the head cannot launch workers");
        finding->remedy = STR("scopes: [" SCOPE_ALL "]");
    } else if (!probe_account_has_role(probe, probe->account)) {
        bool is_named = probe_names_account(probe); /* perhaps it has a role of a folder */
        finding = probe_add(probe, is_named ? FINDING_WARNING : FINDING_ERROR, "service account",
                            "the project grants no role to the head's service account %.*s, so "
                            "the head can%s launch workers",
                            STR_ARG(probe->account), is_named ? " probably not" : "not");
        finding->remedy = probe_commands(probe, probe->account, false);
    }
    if (finding) {
        finding->path = probe_account_path(probe);
    }
}

static void probe_judge_account(struct probe *probe)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_ACCOUNT, probe->account, 0);
    const struct probe_answer *use = probe_find(probe, PROBE_ACT_AS, probe->account, 0);
    struct finding *finding = NULL;
    if (!answer) {
        return;
    }
    if (!answer->body && answer->failure.outcome == OUTCOME_NOT_FOUND) {
        probe_judge_missing(probe);
        return;
    }
    if (json_is_true(json_object_get(answer->body, "disabled"))) {
        finding = probe_add(probe, FINDING_ERROR, "service account",
                            "the head's service account %.*s is disabled", STR_ARG(probe->account));
        finding->remedy = arena_printf(probe->arena,
                                       "enable it: gcloud iam service-accounts enable %.*s",
                                       STR_ARG(probe->account));
    } else if (use && use->body && !is_granted(use->body, GCP_ACT_AS) &&
               !is_granted(probe_body(probe, PROBE_PERMISSIONS), GCP_ACT_AS)) {
        finding = probe_add(probe, FINDING_ERROR, "service account",
                            "you are not permitted to use the head's service account %.*s "
                            "(" GCP_ACT_AS ")",
                            STR_ARG(probe->account));
        finding->remedy = arena_printf(
            probe->arena,
            "ask for it: gcloud iam service-accounts add-iam-policy-binding %.*s "
            "--member=user:YOU --role=roles/iam.serviceAccountUser",
            STR_ARG(probe->account));
    } else {
        probe_add(probe, FINDING_FINE, "service account", "%.*s, for the head%s%s",
                  STR_ARG(probe->account), answer->body ? "" : "; not checked: ",
                  answer->body ? "" : answer->failure.message);
        probe_judge_powers(probe);
    }
    if (finding) {
        finding->path = probe_account_path(probe);
    }
}

/* ---- OS Login ---- */

static bool probe_project_uses_login(const struct probe *probe)
{
    const json_t *metadata = json_object_get(probe_body(probe, PROBE_PROJECT),
                                             "commonInstanceMetadata");
    struct str text = gcp_metadata_get(json_object_get(metadata, "items"), "enable-oslogin");
    return str_is(text, "TRUE") || str_is(text, "true") || str_is(text, "True");
}

static void probe_judge_login(struct probe *probe)
{
    if (probe_project_uses_login(probe)) {
        probe_add(probe, FINDING_FINE, "ssh",
                  "the project uses OS Login; instances of the cluster do not "
                  "(enable-oslogin=FALSE)");
    }
}

void probe_judge_access(struct probe *probe)
{
    probe_judge_permissions(probe);
    probe_judge_account(probe);
    probe_judge_login(probe);
}
