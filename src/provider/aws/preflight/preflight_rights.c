/* preflight_rights.c: simulates rights, and reads what IAM says about them. */
#include "provider/aws/preflight/preflight_rights.h"

#include "base/buf.h"
#include "provider/aws/client/endpoint.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/role_policy.h"
#include "provider/aws/preflight/preflight_evaluate.h"
#include "provider/aws/wire/xml_tree.h"

enum { RIGHTS_BYTES_MAX = 256 * 1024, RIGHT_ACTIONS_MAX = 4 };

static const char *const actions[RIGHT_COUNT][RIGHT_ACTIONS_MAX] = {
    [RIGHT_ROLE] = {"iam:CreateRole", "iam:PutRolePolicy", "iam:PassRole"},
    [RIGHT_PROFILE] = {"iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile"},
    [RIGHT_SPOT] = {"iam:CreateServiceLinkedRole"},
};

/* ---- the caller ---- */

/* The part after the account: "assumed-role/ROLE/SESSION". */
static struct str resource_in(struct str arn)
{
    for (int i = 0; i < 5; i++) {
        (void)str_cut(&arn, ':');
    }
    return arn;
}

struct str preflight_rights_role(struct str caller)
{
    struct str rest = resource_in(caller);
    struct str kind = str_cut(&rest, '/');
    return str_is(kind, "assumed-role") ? str_cut(&rest, '/') : STR("");
}

bool preflight_rights_are_all(struct str caller)
{
    return str_is(resource_in(caller), "root");
}

struct str preflight_rights_source(struct str caller, struct str role)
{
    return str_starts(resource_in(caller), "user/") ? caller : role;
}

/* ---- the call ---- */

static void preflight_rights_add(struct param *list, const char *key, struct str value,
                                 struct arena *arena)
{
    struct param *entry = param_add_map(list, "", arena);
    param_add_text(entry, "ContextKeyName", str_from(key), arena);
    param_add_text(param_add_list(entry, "ContextKeyValues", arena), "", value, arena);
    param_add_text(entry, "ContextKeyType", STR("string"), arena);
}

/* What policies may demand of the real call. */
static void add_context(struct param *input, const struct provider_cluster *cluster,
                        struct str region, struct arena *arena)
{
    struct param *list = param_add_list(input, "ContextEntries", arena);
    struct str boundary = param_text(cluster->provider, "permissions_boundary");
    const struct param *tags = provider_tags(cluster);
    preflight_rights_add(list, "iam:PassedToService", str_from(aws_ec2_principal(region)), arena);
    preflight_rights_add(list, "iam:AWSServiceName", STR("spot.amazonaws.com"), arena);
    preflight_rights_add(list, "kms:ViaService",
                         arena_printf(arena, "ec2.%.*s%s", STR_ARG(region),
                                      aws_ec2_principal(region) + sizeof("ec2") - 1),
                         arena);
    preflight_rights_add(list, "kms:GrantIsForAWSResource", STR("true"), arena);
    if (boundary.len > 0) {
        preflight_rights_add(list, "iam:PermissionsBoundary", boundary, arena);
    }
    preflight_rights_add(list, "aws:RequestTag/ray-cluster-name", cluster->name, arena);
    preflight_rights_add(list, "aws:RequestTag/" TAG_CLUSTER_UID, STR("dry-run"), arena);
    for (const struct param *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        preflight_rights_add(list,
                             arena_printf(arena, "aws:RequestTag/%.*s", STR_ARG(tag->name)).ptr,
                             tag->text, arena);
    }
}

struct param *preflight_rights_input(const struct provider_cluster *cluster,
                                     enum preflight_right right, struct str source, struct str key,
                                     struct str region, struct arena *arena)
{
    struct param *input = param_new_map(arena);
    struct str rest = source;
    (void)str_cut(&rest, ':');
    struct str partition = str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    struct str account = str_cut(&rest, ':');
    struct str name = aws_own_name(cluster->name, STR("dry-run"), "-head", arena);
    struct str what = right == RIGHT_SPOT
                          ? STR("role/aws-service-role/spot.amazonaws.com/" SPOT_ROLE)
                          : arena_printf(arena, "%s" ROLE_PATH "%.*s",
                                         right == RIGHT_ROLE ? "role" : "instance-profile",
                                         STR_ARG(name));
    param_add_text(input, "PolicySourceArn", source, arena);
    struct param *list = param_add_list(input, "ActionNames", arena);
    const char *const *action = right == RIGHT_KEY ? role_policy_key_actions : actions[right];
    for (; *action; action++) {
        param_add_text(list, "", str_from(*action), arena);
    }
    param_add_text(param_add_list(input, "ResourceArns", arena), "",
                   right == RIGHT_KEY
                       ? key
                       : arena_printf(arena, "arn:%.*s:iam::%.*s:%.*s", STR_ARG(partition),
                                      STR_ARG(account), STR_ARG(what)),
                   arena);
    add_context(input, cluster, region, arena);
    return input;
}

/* ---- the reply ---- */

/* IAM names them with the resource, if the question named one. */
static const struct xml_element *preflight_rights_missing(const struct xml_element *item)
{
    const struct xml_element *missing = xml_child(item, "MissingContextValues");
    const struct xml_element *rows = xml_child(item, "ResourceSpecificResults");
    for (const struct xml_element *row = rows ? rows->first : NULL;
         row && !(missing && missing->first); row = row->next) {
        missing = xml_child(row, "MissingContextValues");
    }
    return missing;
}

bool preflight_rights_read(struct str xml, struct arena *arena, struct preflight_rights *ret_rights,
                           struct err *err)
{
    const struct xml_element *root;
    AUTO_BUF struct buf denied;
    buf_init(&denied, 1024);
    if (xml.len > RIGHTS_BYTES_MAX || !xml_tree_parse(xml, arena, &root, err)) {
        return err_set(err, ERR_PROTOCOL, "unexpected response");
    }
    const struct xml_element *list = xml_child(xml_child(root, "SimulatePrincipalPolicyResult"),
                                               "EvaluationResults");
    if (!list || !list->first) {
        return err_set(err, ERR_PROTOCOL, "unexpected response: no EvaluationResults");
    }
    struct preflight_rights rights = {.is_known = true};
    for (const struct xml_element *item = list->first; item; item = item->next) {
        const struct xml_element *missing = preflight_rights_missing(item);
        bool is_allowed = str_is(xml_child_text(item, "EvalDecision"), "allowed");
        if (!is_allowed && missing && missing->first) {
            rights.is_known = false; /* it depends on what only the real call has */
        } else if (!is_allowed) {
            buf_addf(&denied, "%s%.*s", denied.len > 0 ? ", " : "",
                     STR_ARG(xml_child_text(item, "EvalActionName")));
        }
    }
    rights.denied = arena_str(arena, buf_str(&denied));
    *ret_rights = rights;
    return true;
}
