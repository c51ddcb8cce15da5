/*
 * remove_role.c: deletes the head's instance profile and role, with the role's policies.
 */
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/remove_internal.h"

static struct str remove_role_name(struct aws_workflow *op)
{
    return aws_own_name(op->provider->cluster->name, op->provider->uid, "-head", &op->arena);
}

static enum aws_ask remove_role_ask_iam(struct aws_workflow *op, struct aws_request *request,
                                        const char *action, const char *field)
{
    struct param *input = param_new_map(&op->arena);
    param_add_text(input, field, remove_role_name(op), &op->arena);
    request->service = AWS_IAM;
    bool reads = str_starts(str_from(action), "Get") || str_starts(str_from(action), "List");
    return reads ? ask_call(request, action, input) : ask_change(request, action, input);
}

/* Many identities may launch but not read roles; then the file names the head's profile. */
static enum aws_ask ask_profile(struct aws_workflow *op, struct aws_request *request)
{
    if (op->provider->has_no_role) {
        op->at = REMOVE_DELETE_ROLE; /* nothing to delete until there */
        return ASK_NOTHING;
    }
    return remove_role_ask_iam(op, request, "GetInstanceProfile", "InstanceProfileName");
}

static enum aws_next on_profile(struct aws_workflow *op, const struct aws_result *result)
{
    if (remove_is_denied(result)) {
        remove_add_unseen(op, "instance profile", remove_role_name(op), "iam:GetInstanceProfile");
        return workflow_goto(op, REMOVE_FIND_ROLE);
    }
    if (result_has_code(result, "NoSuchEntity")) {
        return workflow_goto(op, REMOVE_FIND_ROLE);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    const struct xml_element *profile = xml_child(
        xml_child(result->root, "GetInstanceProfileResult"), "InstanceProfile");
    bool is_ours = str_eq(tag_in(profile, TAG_CLUSTER_UID), op->provider->uid);
    bool has_role = xml_child(xml_child(profile, "Roles"), "member") != NULL;
    return workflow_goto(op, !is_ours   ? REMOVE_FIND_ROLE
                             : has_role ? REMOVE_EMPTY_PROFILE
                                        : REMOVE_DELETE_PROFILE);
}

static enum aws_ask ask_empty_profile(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    param_add_text(input, "InstanceProfileName", remove_role_name(op), &op->arena);
    param_add_text(input, "RoleName", remove_role_name(op), &op->arena);
    request->service = AWS_IAM;
    return ask_change(request, "RemoveRoleFromInstanceProfile", input);
}

/*
 * Handles the result of one IAM deletion. Waits for a resource in use; reports one that cannot be
 * deleted and continues with step `after`.
 */
static enum aws_next on_iam(struct aws_workflow *op, const struct aws_result *result,
                            const char *kind, const char *action, size_t after)
{
    struct remove_op *remove = remove_of(op);
    if (result->reply->is_ok || result_has_code(result, "NoSuchEntity")) {
        remove->used_since = 0;
        return NEXT_NEXT;
    }
    /* A role stays in use while its instance profile exists. */
    if (result_has_code(result, "DeleteConflict") && remove->thing_count == 0 &&
        remove_is_worth_waiting(remove)) {
        return workflow_wait(op, result);
    }
    if (result->reply->error.outcome == OUTCOME_UNKNOWN) {
        return workflow_fail(op, result);
    }
    remove_add_refused(op, result, kind, remove_role_name(op), action);
    remove->used_since = 0;
    return workflow_goto(op, after);
}

static enum aws_next on_empty_profile(struct aws_workflow *op, const struct aws_result *result)
{
    return on_iam(op, result, "instance profile", "iam:RemoveRoleFromInstanceProfile",
                  REMOVE_FIND_ROLE);
}

static enum aws_next on_profile_gone(struct aws_workflow *op, const struct aws_result *result)
{
    remove_add_gone(op, result, "instance profile", remove_role_name(op));
    return on_iam(op, result, "instance profile", "iam:DeleteInstanceProfile", REMOVE_FIND_ROLE);
}

static enum aws_next on_role_step(struct aws_workflow *op, const struct aws_result *result,
                                  const char *action)
{
    return on_iam(op, result, "role", action, REMOVE_FIND_GROUPS);
}

static enum aws_next on_role_gone(struct aws_workflow *op, const struct aws_result *result)
{
    remove_add_gone(op, result, "role", remove_role_name(op));
    return on_role_step(op, result, "iam:DeleteRole");
}

static enum aws_ask ask_delete_profile(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_iam(op, request, "DeleteInstanceProfile", "InstanceProfileName");
}

static enum aws_ask ask_role(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_iam(op, request, "GetRole", "RoleName");
}

static enum aws_next on_role(struct aws_workflow *op, const struct aws_result *result)
{
    if (remove_is_denied(result)) {
        remove_add_unseen(op, "role", remove_role_name(op), "iam:GetRole");
        return workflow_goto(op, REMOVE_FIND_GROUPS);
    }
    if (result_has_code(result, "NoSuchEntity")) {
        return workflow_goto(op, REMOVE_FIND_GROUPS);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    const struct xml_element *role = xml_child(xml_child(result->root, "GetRoleResult"), "Role");
    bool is_ours = str_eq(tag_in(role, TAG_CLUSTER_UID), op->provider->uid);
    return workflow_goto(op, is_ours ? REMOVE_FIND_POLICIES : REMOVE_FIND_GROUPS);
}

/* ---- the role's policies ---- */

static enum aws_ask ask_policies(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_iam(op, request, "ListRolePolicies", "RoleName");
}

static enum aws_next on_policies(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_op *remove = remove_of(op);
    if (!result->reply->is_ok) {
        return on_role_step(op, result, "iam:ListRolePolicies");
    }
    const struct xml_element *names = xml_child(xml_child(result->root, "ListRolePoliciesResult"),
                                                "PolicyNames");
    remove->policies = (struct remove_ids){0};
    for (const struct xml_element *item = names ? names->first : NULL; item; item = item->next) {
        remove_add_id(op, &remove->policies, item->text);
    }
    return NEXT_NEXT;
}

static enum aws_ask ask_attached(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_iam(op, request, "ListAttachedRolePolicies", "RoleName");
}

static enum aws_next on_attached(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_op *remove = remove_of(op);
    if (!result->reply->is_ok) {
        return on_role_step(op, result, "iam:ListAttachedRolePolicies");
    }
    const struct xml_element *list = xml_child(
        xml_child(result->root, "ListAttachedRolePoliciesResult"), "AttachedPolicies");
    remove->attached = (struct remove_ids){0};
    for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
        remove_add_id(op, &remove->attached, xml_child_text(item, "PolicyArn"));
    }
    return NEXT_NEXT;
}

/* Detaches the next policy of the list from the role. */
static enum aws_ask remove_role_ask_take(struct aws_workflow *op, struct aws_request *request,
                                         const struct remove_ids *ids, const char *action,
                                         const char *field)
{
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    param_add_text(input, "RoleName", remove_role_name(op), &op->arena);
    param_add_text(input, field, ids->items[ids->at], &op->arena);
    request->service = AWS_IAM;
    return ask_change(request, action, input);
}

static enum aws_next remove_role_on_take(struct aws_workflow *op, const struct aws_result *result,
                                         struct remove_ids *ids, const char *action)
{
    enum aws_next turn = on_role_step(op, result, action);
    ids->at += turn == NEXT_NEXT;
    return turn == NEXT_NEXT ? NEXT_REPEAT : turn;
}

static enum aws_ask ask_delete_policy(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_take(op, request, &remove_of(op)->policies, "DeleteRolePolicy",
                                "PolicyName");
}

static enum aws_next on_delete_policy(struct aws_workflow *op, const struct aws_result *result)
{
    return remove_role_on_take(op, result, &remove_of(op)->policies, "iam:DeleteRolePolicy");
}

static enum aws_ask ask_detach(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_take(op, request, &remove_of(op)->attached, "DetachRolePolicy",
                                "PolicyArn");
}

static enum aws_next on_detach(struct aws_workflow *op, const struct aws_result *result)
{
    return remove_role_on_take(op, result, &remove_of(op)->attached, "iam:DetachRolePolicy");
}

static enum aws_ask ask_delete_role(struct aws_workflow *op, struct aws_request *request)
{
    return remove_role_ask_iam(op, request, "DeleteRole", "RoleName");
}

const struct aws_step remove_find_profile = {ask_profile, on_profile};
const struct aws_step remove_empty_profile = {ask_empty_profile, on_empty_profile};
const struct aws_step remove_delete_profile = {ask_delete_profile, on_profile_gone};
const struct aws_step remove_find_role = {ask_role, on_role};
const struct aws_step remove_find_policies = {ask_policies, on_policies};
const struct aws_step remove_delete_policy = {ask_delete_policy, on_delete_policy};
const struct aws_step remove_find_attached = {ask_attached, on_attached};
const struct aws_step remove_detach_policy = {ask_detach, on_detach};
const struct aws_step remove_delete_role = {ask_delete_role, on_role_gone};
