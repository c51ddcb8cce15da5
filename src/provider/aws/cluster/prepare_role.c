/* prepare_role.c: the head's role and its instance profile. */
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/lease_object.h"
#include "provider/aws/cluster/prepare.h"
#include "provider/aws/cluster/role_policy.h"

#include <string.h>

#define POLICY_NAME "shoal-head"
#define ADVICE "; or set an IamInstanceProfile for the head in its node_config"

static struct str prepare_role_name(struct aws_workflow *op)
{
    return aws_own_name(op->provider->cluster->name, op->provider->uid, "-head", &op->arena);
}

/* An IAM call about the role or the profile. */
static enum aws_ask prepare_role_ask_iam(struct aws_workflow *op, struct aws_request *request,
                                         const char *action, struct param *input, bool is_change)
{
    request->service = AWS_IAM;
    (void)op;
    return is_change ? ask_change(request, action, input) : ask_call(request, action, input);
}

static struct param *role_input(struct aws_workflow *op, const char *field)
{
    struct param *input = param_new_map(&op->arena);
    param_add_text(input, field, prepare_role_name(op), &op->arena);
    return input;
}

static void prepare_role_add_tags(struct aws_workflow *op, struct param *input)
{
    struct param *tags = param_add_list(input, "Tags", &op->arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), op->provider->uid, &op->arena);
    param_add_tag(tags, STR("ray-cluster-name"), op->provider->cluster->name, &op->arena);
    param_add_tags(tags, provider_tags(op->provider->cluster), &op->arena);
}

/* Many users may launch instances but not create roles: the error says what to do. */
static enum aws_next fail_role(struct aws_workflow *op, const struct aws_result *result)
{
    workflow_fail(op, result);
    struct err told = op->answer.err;
    if (result->reply->error.class == AWS_AUTH) {
        err_set(&op->answer.err, told.kind, "%.400s" ADVICE, told.text);
    }
    return NEXT_END;
}

/* ---- roles for workers, from the file ---- */

static enum aws_ask ask_worker_roles(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    struct param *input = param_new_map(&op->arena);
    if (!prepare->wants_role || prepare->with_at == prepare->with_count) {
        return ASK_NOTHING;
    }
    struct str name = prepare->with[prepare->with_at]->profile;
    while (str_find_char(name, '/') != SIZE_MAX) {
        (void)str_cut(&name, '/'); /* the name is the last part of an ARN */
    }
    param_add_text(input, "InstanceProfileName", name, &op->arena);
    return prepare_role_ask_iam(op, request, "GetInstanceProfile", input, false);
}

static const struct xml_element *profile_in(const struct aws_result *result)
{
    return xml_child(xml_child(result->root, "GetInstanceProfileResult"), "InstanceProfile");
}

static enum aws_next on_worker_roles(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    if (!result->reply->is_ok) {
        return fail_role(op, result);
    }
    struct str arn = xml_child_text(xml_child(xml_child(profile_in(result), "Roles"), "member"),
                                    "Arn");
    bool is_new = arn.len > 0;
    for (size_t i = 0; i < prepare->worker_role_count; i++) {
        is_new = is_new && !str_eq(prepare->worker_roles[i], arn);
    }
    if (is_new) {
        prepare->worker_roles[prepare->worker_role_count++] = arn;
    }
    prepare->with_at++;
    return NEXT_REPEAT;
}

/* ---- the role ---- */

/* "arn:PARTITION:iam::ACCOUNT:role/...": the caller's own account, so no further call is needed. */
static void note_place(struct prepare_op *prepare, const struct xml_element *role)
{
    struct str rest = xml_child_text(role, "Arn");
    (void)str_cut(&rest, ':');
    prepare->partition = str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    prepare->account = str_cut(&rest, ':');
}

static enum aws_ask ask_find_role(struct aws_workflow *op, struct aws_request *request)
{
    return !prepare_of(op)->wants_role || !prepare_looks_first(op)
               ? ASK_NOTHING
               : prepare_role_ask_iam(op, request, "GetRole", role_input(op, "RoleName"), false);
}

static enum aws_next on_find_role(struct aws_workflow *op, const struct aws_result *result)
{
    if (result_has_code(result, "NoSuchEntity") && prepare_of(op)->scope != PREPARE_PERMIT) {
        return NEXT_NEXT;
    }
    if (!result->reply->is_ok) {
        return fail_role(op, result);
    }
    const struct xml_element *role = xml_child(xml_child(result->root, "GetRoleResult"), "Role");
    if (!str_eq(tag_in(role, TAG_CLUSTER_UID), op->provider->uid)) {
        return prepare_foreign(op, "role", prepare_role_name(op));
    }
    note_place(prepare_of(op), role);
    prepare_add_thing(prepare_of(op), "role", prepare_role_name(op), "");
    return workflow_goto(op, PREPARE_FIND_PROFILE);
}

static enum aws_ask ask_make_role(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = role_input(op, "RoleName");
    if (!prepare_of(op)->wants_role || prepare_of(op)->scope == PREPARE_PERMIT) {
        return ASK_NOTHING;
    }
    param_add_text(input, "Path", STR(ROLE_PATH), &op->arena);
    param_add_text(input, "AssumeRolePolicyDocument",
                   role_trust_policy(op->provider->facts.region, &op->arena), &op->arena);
    param_add_text(input, "Description", STR("Head of a Ray cluster launched by Shoal"),
                   &op->arena);
    struct str boundary = param_text(op->provider->cluster->provider, "permissions_boundary");
    if (boundary.len > 0) {
        param_add_text(input, "PermissionsBoundary", boundary, &op->arena);
    }
    prepare_role_add_tags(op, input);
    return prepare_role_ask_iam(op, request, "CreateRole", input, true);
}

static enum aws_next on_make_role(struct aws_workflow *op, const struct aws_result *result)
{
    if (result_has_code(result, "EntityAlreadyExists")) {
        return prepare_look(op, result, PREPARE_FIND_ROLE);
    }
    if (!result->reply->is_ok) {
        return fail_role(op, result);
    }
    note_place(prepare_of(op), xml_child(xml_child(result->root, "CreateRoleResult"), "Role"));
    if (prepare_of(op)->account.len == 0) {
        return prepare_look(op, result, PREPARE_FIND_ROLE);
    }
    prepare_add_thing(prepare_of(op), "role", prepare_role_name(op), "new");
    return NEXT_NEXT;
}

/* ---- its policy ---- */

struct prepare_role_requests {
    struct arena *arena;
    struct str *items;
    size_t count, capacity;
};

static void request(struct prepare_role_requests *requests, struct str text)
{
    for (size_t i = 0; i < requests->count; i++) {
        if (str_eq(requests->items[i], text)) {
            return;
        }
    }
    ARENA_PUSH(requests->arena, requests->items, requests->count, requests->capacity) = text;
}

static void requested_arn(struct prepare_role_requests *requests, const struct role_needs *needs,
                          bool is_owned, const char *kind, struct str id)
{
    if (id.len > 0) {
        request(requests,
                arena_printf(requests->arena, "arn:%.*s:ec2:%.*s:%.*s:%s/%.*s",
                             STR_ARG(needs->partition), STR_ARG(needs->region),
                             STR_ARG(is_owned ? needs->account : STR("")), kind, STR_ARG(id)));
    }
}

/* By id. The preflight resolved a name from the file. */
static bool requested_template(struct prepare_role_requests *requests,
                               const struct role_needs *needs, const struct param *config,
                               const struct aws_type_facts *facts, struct err *err)
{
    const struct param *template = config ? param_find(config, "LaunchTemplate") : NULL;
    struct str id = param_text(template, "LaunchTemplateId");
    id = id.len > 0 ? id : facts->template;
    if (template && id.len == 0) {
        return err_set(err, ERR_CONFIG,
                       "the id of launch template %.*s is unknown, so the head's role cannot be "
                       "limited to it: use LaunchTemplateId, or allow "
                       "ec2:DescribeLaunchTemplateVersions",
                       STR_ARG(param_text(template, "LaunchTemplateName")));
    }
    requested_arn(requests, needs, true, "launch-template", template ? id : STR(""));
    return true;
}

/* Of another service: named by its ARN. */
static void requested_given(struct prepare_role_requests *requests, const struct param *map,
                            const char *key)
{
    struct str arn = param_text(map, key);
    if (arn.len > 0) {
        request(requests, arn);
    }
}

/* Other resources that a node_config may name. The preflight refuses Placement.GroupId, because
 * ARNs have the name. */
static void requested_extras(struct prepare_role_requests *requests, const struct role_needs *needs,
                             const struct param *config)
{
    const struct param *disks = config ? param_find(config, "BlockDeviceMappings") : NULL;
    const struct param *disk = disks && disks->kind == PARAM_LIST ? disks->first : NULL;
    for (; disk; disk = disk->next) {
        requested_arn(
            requests, needs, false, "snapshot",
            param_text(disk->kind == PARAM_MAP ? param_find(disk, "Ebs") : NULL, "SnapshotId"));
    }
    const struct param *placement = param_get(config, PARAM_MAP, "Placement");
    const struct param *reserved = param_get(
        param_get(config, PARAM_MAP, "CapacityReservationSpecification"), PARAM_MAP,
        "CapacityReservationTarget");
    const struct param *licenses = param_get(config, PARAM_LIST, "LicenseSpecifications");
    requested_arn(requests, needs, true, "placement-group", param_text(placement, "GroupName"));
    requested_arn(requests, needs, true, "dedicated-host", param_text(placement, "HostId"));
    requested_arn(requests, needs, true, "capacity-reservation",
                  param_text(reserved, "CapacityReservationId"));
    requested_given(requests, placement, "HostResourceGroupArn");
    requested_given(requests, reserved, "CapacityReservationResourceGroupArn");
    for (const struct param *item = licenses ? licenses->first : NULL; item; item = item->next) {
        requested_given(requests, item, "LicenseConfigurationArn");
    }
}

static void requested_metadata(struct role_needs *needs, const struct param *config,
                               const struct aws_type_facts *facts)
{
    const struct param *own = param_get(config, PARAM_MAP, "MetadataOptions");
    const struct param *options = own ? own : facts->metadata;
    const struct param *hops = options ? param_find(options, "HttpPutResponseHopLimit") : NULL;
    needs->takes_old_metadata = needs->takes_old_metadata ||
                                str_is(param_text(options, "HttpTokens"), "optional");
    if (hops && hops->kind == PARAM_NUMBER && hops->number > needs->hop_limit) {
        needs->hop_limit = hops->number;
    }
}

static void requested_type(struct prepare_role_requests *requests, const struct role_needs *needs,
                           const struct aws_type_facts *facts)
{
    requested_arn(requests, needs, false, "image", facts->image);
    for (size_t i = 0; i < facts->subnet_count; i++) {
        if (facts->subnets[i].arn.len > 0) {
            request(requests, facts->subnets[i].arn); /* its owner may be another account */
        } else {
            requested_arn(requests, needs, true, "subnet", facts->subnets[i].id);
        }
    }
    for (size_t i = 0; i < facts->group_count; i++) {
        requested_arn(requests, needs, true, "security-group", facts->groups[i]);
    }
    requested_arn(requests, needs, true, "key-pair", facts->key);
}

static bool write_policy(struct prepare_op *prepare, struct str *ret_policy, struct err *err)
{
    struct aws_workflow *op = &prepare->op;
    const struct aws_provider *provider = op->provider;
    struct prepare_role_requests machines = {.arena = &op->arena};
    struct prepare_role_requests from = {.arena = &op->arena};
    struct role_needs needs = {.partition = prepare->partition,
                               .account = prepare->account,
                               .region = provider->facts.region,
                               .uid = provider->uid,
                               .worker_roles = prepare->worker_roles,
                               .worker_role_count = prepare->worker_role_count,
                               .has_sessions = prepare_uses_sessions(prepare),
                               .disk_keys = provider->facts.disk_keys,
                               .disk_key_count = provider->facts.disk_key_count,
                               .hop_limit = 1};
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        const struct param *config = provider->cluster->types[i].node_config;
        request(&machines, provider->facts.types[i].machine);
        requested_type(&from, &needs, &provider->facts.types[i]);
        requested_extras(&from, &needs, config);
        if (!requested_template(&from, &needs, config, &provider->facts.types[i], err)) {
            return false;
        }
        requested_metadata(&needs, config, &provider->facts.types[i]);
    }
    requested_arn(&from, &needs, true, "security-group", prepare->group);
    if (prepare->wants_key) {
        requested_arn(&from, &needs, true, "key-pair",
                      aws_own_name(provider->cluster->name, provider->uid, "", &op->arena));
    }
    needs.machines = machines.items;
    needs.machine_count = machines.count;
    needs.launch_from = from.items;
    needs.launch_from_count = from.count;
    return role_policy_write(&needs, &op->arena, ret_policy, err);
}

static enum aws_ask ask_policy(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = role_input(op, "RoleName");
    struct str policy;
    struct err err;
    if (!prepare_of(op)->wants_role) {
        return ASK_NOTHING;
    }
    if (!write_policy(prepare_of(op), &policy, &err)) {
        workflow_end(op, OUTCOME_INVALID, err.kind, "%s", err.text);
        return ASK_NOTHING;
    }
    param_add_text(input, "PolicyName", STR(POLICY_NAME), &op->arena);
    param_add_text(input, "PolicyDocument", policy, &op->arena);
    return prepare_role_ask_iam(op, request, "PutRolePolicy", input, true);
}

/* IAM is eventually consistent: resources created a moment ago may not be visible everywhere. */
static enum aws_next on_young(struct aws_workflow *op, const struct aws_result *result)
{
    if (result_has_code(result, "NoSuchEntity")) {
        return workflow_wait(op, result);
    }
    return result->reply->is_ok ? NEXT_NEXT : fail_role(op, result);
}

/* head_policies of the file. One that is no longer there stays attached. */
static enum aws_ask ask_attach(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    struct param *input = role_input(op, "RoleName");
    if (!prepare->wants_role || !prepare->policy) {
        return ASK_NOTHING;
    }
    param_add_text(input, "PolicyArn", prepare->policy->text, &op->arena);
    return prepare_role_ask_iam(op, request, "AttachRolePolicy", input, true);
}

static enum aws_next on_attach(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    bool is_missing = result_has_code(result, "NoSuchEntity") &&
                      str_find(result->reply->error.message, "olicy") != SIZE_MAX;
    enum aws_next turn = is_missing ? fail_role(op, result) : on_young(op, result);
    if (turn == NEXT_NEXT) {
        prepare->policy = prepare->policy->next;
        return NEXT_REPEAT;
    }
    return turn;
}

/* ---- the account's role for spot instances ---- */

/* The head is not allowed to create it, and its workers may be spot instances. */
static enum aws_ask ask_spot_role(struct aws_workflow *op, struct aws_request *request)
{
    const struct prepare_op *prepare = prepare_of(op);
    const struct aws_provider *provider = op->provider;
    struct param *input = param_new_map(&op->arena);
    bool is_due = prepare->scope == PREPARE_CREATE || prepare->scope == PREPARE_PERMIT;
    if (!is_due || !provider->has_facts || provider->facts.spot_role == SPOT_ROLE_FINE) {
        return ASK_NOTHING;
    }
    param_add_text(input, "AWSServiceName", STR("spot.amazonaws.com"), &op->arena);
    return prepare_role_ask_iam(op, request, "CreateServiceLinkedRole", input, true);
}

static enum aws_next on_spot_role(struct aws_workflow *op, const struct aws_result *result)
{
    bool is_there = result_has_code(result, "InvalidInput"); /* "has been taken" */
    bool is_unknown = (op->provider->facts.spot_role == SPOT_ROLE_UNKNOWN ||
                       prepare_of(op)->scope == PREPARE_PERMIT) && /* the checks have warned */
                      result->reply->error.class == AWS_AUTH;
    if (result->reply->is_ok || is_there || is_unknown) {
        op->provider->facts.spot_role = SPOT_ROLE_FINE;
        return NEXT_NEXT;
    }
    workflow_fail(op, result);
    struct err told = op->answer.err;
    if (result->reply->error.class == AWS_AUTH) {
        err_set(&op->answer.err, told.kind,
                "%.300s; create the role for spot instances once: aws iam "
                "create-service-linked-role --aws-service-name spot.amazonaws.com",
                told.text);
        return NEXT_END;
    }
    return workflow_fail(op, result);
}

/* ---- the note that there is a role ---- */

/* A cluster that began without a role of its own gets one: before it exists, the lease object says
 * so, because `down` does not look for a role that was never made. */
static enum aws_ask ask_note(struct aws_workflow *op, struct aws_request *request)
{
    const struct prepare_op *prepare = prepare_of(op);
    struct param *input = param_new_map(&op->arena);
    if (!prepare->wants_role || prepare->scope != PREPARE_CREATE || !op->provider->has_no_role) {
        op->at = PREPARE_SEE_NOTE; /* nothing to see */
        return ASK_NOTHING;
    }
    param_add_text(param_add_list(input, "Resources", &op->arena), "", op->provider->lease_object,
                   &op->arena);
    param_add_tag(param_add_list(input, "Tags", &op->arena), STR(TAG_LEASE_ROLE), STR("own"),
                  &op->arena);
    return ask_change(request, "CreateTags", input);
}

static enum aws_next on_note(struct aws_workflow *op, const struct aws_result *result)
{
    return result->reply->is_ok ? NEXT_NEXT : workflow_fail(op, result);
}

static enum aws_next on_see_note(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_object found;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    if (!lease_object_read(op, result, &found) || found.has_no_role) {
        return workflow_not_yet(op, "AWS does not show the new tag of the lease object");
    }
    op->provider->has_no_role = false;
    return NEXT_NEXT;
}

/* ---- the profile ---- */

static enum aws_ask ask_find_profile(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    if (!prepare->wants_role || prepare->scope == PREPARE_PERMIT) {
        return ASK_NOTHING;
    }
    prepare->role = prepare_role_name(op);
    prepare->is_profile_empty = true;
    return prepare_looks_first(op)
               ? prepare_role_ask_iam(op, request, "GetInstanceProfile",
                                      role_input(op, "InstanceProfileName"), false)
               : ASK_NOTHING;
}

static enum aws_next on_find_profile(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    if (result_has_code(result, "NoSuchEntity")) {
        return NEXT_NEXT;
    }
    if (!result->reply->is_ok) {
        return fail_role(op, result);
    }
    const struct xml_element *profile = profile_in(result);
    if (!str_eq(tag_in(profile, TAG_CLUSTER_UID), op->provider->uid)) {
        return prepare_foreign(op, "instance profile", prepare_role_name(op));
    }
    struct str has = xml_child_text(xml_child(xml_child(profile, "Roles"), "member"), "RoleName");
    prepare->is_profile_empty = has.len == 0;
    prepare_add_thing(prepare, "instance profile", prepare->role, "");
    return workflow_goto(op, PREPARE_FILL_PROFILE);
}

static enum aws_ask ask_make_profile(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = role_input(op, "InstanceProfileName");
    if (!prepare_of(op)->wants_role || prepare_of(op)->scope == PREPARE_PERMIT) {
        return ASK_NOTHING;
    }
    param_add_text(input, "Path", STR(ROLE_PATH), &op->arena);
    prepare_role_add_tags(op, input);
    return prepare_role_ask_iam(op, request, "CreateInstanceProfile", input, true);
}

static enum aws_next on_make_profile(struct aws_workflow *op, const struct aws_result *result)
{
    if (result_has_code(result, "EntityAlreadyExists")) {
        return prepare_look(op, result, PREPARE_FIND_PROFILE);
    }
    if (!result->reply->is_ok) {
        return fail_role(op, result);
    }
    prepare_add_thing(prepare_of(op), "instance profile", prepare_role_name(op), "new");
    return NEXT_NEXT;
}

static enum aws_ask ask_fill(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = role_input(op, "InstanceProfileName");
    if (!prepare_of(op)->wants_role || prepare_of(op)->scope == PREPARE_PERMIT ||
        !prepare_of(op)->is_profile_empty) {
        return ASK_NOTHING;
    }
    param_add_text(input, "RoleName", prepare_role_name(op), &op->arena);
    return prepare_role_ask_iam(op, request, "AddRoleToInstanceProfile", input, true);
}

static enum aws_next on_fill(struct aws_workflow *op, const struct aws_result *result)
{
    /* A profile has at most one role: an earlier try added it and its reply was lost. */
    return result_has_code(result, "LimitExceeded") ? NEXT_NEXT : on_young(op, result);
}

const struct aws_step prepare_find_worker_roles = {ask_worker_roles, on_worker_roles};
const struct aws_step prepare_find_role = {ask_find_role, on_find_role};
const struct aws_step prepare_make_role = {ask_make_role, on_make_role};
const struct aws_step prepare_write_policy = {ask_policy, on_young};
const struct aws_step prepare_attach_policies = {ask_attach, on_attach};
const struct aws_step prepare_make_spot_role = {ask_spot_role, on_spot_role};
const struct aws_step prepare_note_role = {ask_note, on_note};
const struct aws_step prepare_see_note = {lease_object_ask, on_see_note};
const struct aws_step prepare_find_profile = {ask_find_profile, on_find_profile};
const struct aws_step prepare_make_profile = {ask_make_profile, on_make_profile};
const struct aws_step prepare_fill_profile = {ask_fill, on_fill};
