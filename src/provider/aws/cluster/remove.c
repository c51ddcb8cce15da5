/*
 * remove.c: deletes the resources of take() and prepare(): instance profile, role, security group,
 * key pair, and the lease object last, because its uid is needed to find the rest.
 *
 * Only resources with the cluster's uid are deleted. Each one that could not be deleted, or that
 * this caller may not list, is reported as left; the lease object then stays, so that the next run
 * finds the rest. A denied call is never taken for "does not exist".
 */
#include "provider/aws/cluster/lease_object.h"
#include "provider/aws/cluster/remove_internal.h"

enum {
    REMOVE_MS = 300 * 1000,
    VOLUME_MS = 10 * 1000,   /* a volume may be available before EC2 deletes it */
    PATIENCE_MS = 90 * 1000, /* wait for a resource that terminating instances still use */
};

/* Reports a resource as left, with the reason. */
static void remove_add_left(struct aws_workflow *op, const char *kind, struct str id,
                            struct str note)
{
    struct remove_op *remove = remove_of(op);
    ARENA_PUSH(&op->arena, remove->things, remove->thing_count,
               remove->thing_capacity) = (struct provider_resource){
        .kind = str_from(kind),
        .id = arena_str(&op->arena, id),
        .note = arena_str(&op->arena, note)};
}

void remove_add_gone(struct aws_workflow *op, const struct aws_result *result, const char *kind,
                     struct str id)
{
    struct remove_op *remove = remove_of(op);
    if (!result->reply->is_ok) {
        return; /* the resource did not exist */
    }
    ARENA_PUSH(&op->arena, remove->gone, remove->gone_count,
               remove->gone_capacity) = (struct provider_resource){
        .kind = str_from(kind), .id = arena_str(&op->arena, id), .is_gone = true};
}

bool remove_is_denied(const struct aws_result *result)
{
    return result_has_code(result, "AccessDenied") ||
           result_has_code(result, "AccessDeniedException") ||
           result_has_code(result, "UnauthorizedOperation");
}

void remove_add_unseen(struct aws_workflow *op, const char *kind, struct str id, const char *action)
{
    remove_add_left(
        op, kind, id,
        arena_printf(&op->arena, "not allowed to check whether it exists: needs %s", action));
}

void remove_add_refused(struct aws_workflow *op, const struct aws_result *result, const char *kind,
                        struct str id, const char *action)
{
    struct str why = result->reply->error.message;
    why = why.len > 0 ? why : str_from(result->reply->err.text);
    remove_add_left(op, kind, id,
                    remove_is_denied(result)
                        ? arena_printf(&op->arena, "not allowed to delete it: needs %s", action)
                        : arena_printf(&op->arena, "could not be deleted: %.*s", STR_ARG(why)));
}

bool remove_is_worth_waiting(struct remove_op *remove)
{
    int64_t now = loop_now_ms(remove->op.provider->loop);
    remove->used_since = remove->used_since == 0 ? now : remove->used_since;
    return now - remove->used_since < PATIENCE_MS;
}

static bool remove_is_left(const struct remove_op *remove, struct str id)
{
    for (size_t i = 0; i < remove->thing_count; i++) {
        if (str_eq(remove->things[i].id, id)) {
            return true;
        }
    }
    return false;
}

void remove_add_id(struct aws_workflow *op, struct remove_ids *ids, struct str id)
{
    ARENA_PUSH(&op->arena, ids->items, ids->count, ids->capacity) = arena_str(&op->arena, id);
}

/* Every <item> of a set on all pages. */
static void add_ids(struct aws_workflow *op, struct remove_ids *ids,
                    const struct aws_result *result, const char *set_name, const char *name)
{
    *ids = (struct remove_ids){0};
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], set_name);
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            /* Checks the filter again. */
            if (str_eq(tag_in(item, TAG_CLUSTER_UID), op->provider->uid)) {
                remove_add_id(op, ids, xml_child_text(item, name));
            }
        }
    }
}

static struct param *by_uid(struct aws_workflow *op)
{
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "tag:" TAG_CLUSTER_UID, op->provider->uid, &op->arena);
    return input;
}

/* ---- lease object and instances ---- */

/* If the uid is known, a lease object with another one belongs to a newer cluster of this name and
 * stays. */
static enum aws_next remove_on_lease_object(struct aws_workflow *op,
                                            const struct aws_result *result)
{
    struct aws_provider *provider = op->provider;
    struct lease_object found;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    if (provider->uid.len == 0) {
        return lease_object_on_find(op, result);
    }
    bool is_ours = lease_object_read(op, result, &found) && str_eq(found.uid, provider->uid);
    provider->has_no_role = is_ours && found.has_no_role;
    provider->lease_object = is_ours ? arena_str(&provider->own_arena, found.id) : STR("");
    return NEXT_NEXT;
}

static enum aws_ask remove_ask_machines(struct aws_workflow *op, struct aws_request *request)
{
    static const struct str states[] = {
        {"pending", 7}, {"running", 7}, {"shutting-down", 13}, {"stopping", 8}, {"stopped", 7}};
    struct param *input = by_uid(op);
    param_add_filter(param_find(input, "Filters"), "instance-state-name", states, ARRAY_LEN(states),
                     &op->arena);
    return ask_pages(request, "DescribeInstances", input);
}

static bool remove_add_machines(struct aws_workflow *op, const struct xml_element *reservation)
{
    const struct xml_element *set = xml_child(reservation, "instancesSet");
    bool are_ending = true;
    for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
        struct str state = xml_child_text(xml_child(item, "instanceState"), "name");
        if (str_is(state, "terminated")) {
            continue; /* since the filter looked at it */
        }
        are_ending = are_ending && str_is(state, "shutting-down");
        remove_add_left(op, "instance", xml_child_text(item, "instanceId"), state);
    }
    return are_ending;
}

static enum aws_next remove_on_machines(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_op *remove = remove_of(op);
    bool are_ending = true;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    remove->thing_count = 0;
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "reservationSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            are_ending = remove_add_machines(op, item) && are_ending;
        }
    }
    if (remove->thing_count == 0) {
        return NEXT_NEXT;
    }
    /* Waits for instances that are shutting down; waiting does not help with the others. */
    return are_ending ? NEXT_WAIT : NEXT_END;
}

/* ---- groups ---- */

static enum aws_ask remove_ask_groups(struct aws_workflow *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeSecurityGroups", by_uid(op));
}

static enum aws_next remove_on_groups(struct aws_workflow *op, const struct aws_result *result)
{
    if (remove_is_denied(result)) {
        remove_add_unseen(op, "security group", STR("of this cluster"),
                          "ec2:DescribeSecurityGroups");
        return NEXT_NEXT;
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    add_ids(op, &remove_of(op)->groups, result, "securityGroupInfo", "groupId");
    return NEXT_NEXT;
}

static enum aws_ask ask_delete_group(struct aws_workflow *op, struct aws_request *request)
{
    struct remove_ids *ids = &remove_of(op)->groups;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        op->at = REMOVE_FIND_MEMBERS; /* no group whose members to look up */
        return ASK_NOTHING;
    }
    param_add_text(input, "GroupId", ids->items[ids->at], &op->arena);
    return ask_change(request, "DeleteSecurityGroup", input);
}

static enum aws_next on_delete_group(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_op *remove = remove_of(op);
    bool is_used = result_has_code(result, "DependencyViolation") ||
                   result_has_code(result, "InvalidGroup.InUse");
    if (result->reply->is_ok || result_has_code(result, "InvalidGroup.NotFound") ||
        result_has_code(result, "InvalidSecurityGroupID.NotFound")) {
        remove_add_gone(op, result, "security group", remove->groups.items[remove->groups.at++]);
        remove->used_since = 0;
        return NEXT_REPEAT;
    }
    if (!is_used && result->reply->error.outcome != OUTCOME_UNKNOWN) {
        remove_add_refused(op, result, "security group", remove->groups.items[remove->groups.at++],
                           "ec2:DeleteSecurityGroup");
        return NEXT_REPEAT;
    }
    if (!is_used) {
        return workflow_fail(op, result);
    }
    return remove_is_worth_waiting(remove) ? workflow_wait(op, result) : NEXT_NEXT;
}

/* Finds the users of a group, mostly network interfaces of instances. */
static enum aws_ask ask_members(struct aws_workflow *op, struct aws_request *request)
{
    struct remove_ids *ids = &remove_of(op)->groups;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    input_filter(input, "group-id", ids->items[ids->at], &op->arena);
    return ask_pages(request, "DescribeNetworkInterfaces", input);
}

static enum aws_next on_members(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_ids *ids = &remove_of(op)->groups;
    AUTO_BUF struct buf note;
    size_t count = 0;
    buf_init(&note, 512);
    buf_add_c(&note, "still in use");
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "networkInterfaceSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            struct str machine = xml_child_text(xml_child(item, "attachment"), "instanceId");
            buf_addf(&note, "%s%.*s%s%.*s", count++ == 0 ? " by " : ", ",
                     STR_ARG(xml_child_text(item, "networkInterfaceId")),
                     machine.len > 0 ? " of " : "", STR_ARG(machine));
        }
    }
    remove_add_left(op, "security group", ids->items[ids->at], buf_str(&note));
    ids->at++;
    remove_of(op)->used_since = 0;
    return workflow_goto(op, REMOVE_DELETE_GROUP);
}

/* ---- keys and volumes ---- */

static enum aws_ask remove_request_keys(struct aws_workflow *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeKeyPairs", by_uid(op));
}

static enum aws_next remove_on_keys(struct aws_workflow *op, const struct aws_result *result)
{
    if (remove_is_denied(result)) {
        remove_add_unseen(op, "key pair", STR("of this cluster"), "ec2:DescribeKeyPairs");
        return NEXT_NEXT;
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    add_ids(op, &remove_of(op)->keys, result, "keySet", "keyName");
    return NEXT_NEXT;
}

static enum aws_ask ask_delete_key(struct aws_workflow *op, struct aws_request *request)
{
    struct remove_ids *ids = &remove_of(op)->keys;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    param_add_text(input, "KeyName", ids->items[ids->at], &op->arena);
    return ask_change(request, "DeleteKeyPair", input);
}

static enum aws_next on_delete_key(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_ids *ids = &remove_of(op)->keys;
    if (!result->reply->is_ok && !result_has_code(result, "InvalidKeyPair.NotFound")) {
        if (result->reply->error.outcome == OUTCOME_UNKNOWN) {
            return workflow_fail(op, result);
        }
        remove_add_refused(op, result, "key pair", ids->items[ids->at++], "ec2:DeleteKeyPair");
        return NEXT_REPEAT;
    }
    remove_add_gone(op, result, "key pair", ids->items[ids->at++]);
    return NEXT_REPEAT;
}

/* EC2 shows this attribute only while a volume has an instance, so the file is read. */
static bool remove_keeps_volumes(const struct provider_cluster *cluster)
{
    for (size_t i = 0; i < cluster->type_count; i++) {
        const struct param *disks = param_get(cluster->types[i].node_config, PARAM_LIST,
                                              "BlockDeviceMappings");
        for (const struct param *disk = disks ? disks->first : NULL; disk; disk = disk->next) {
            const struct param *ebs = disk->kind == PARAM_MAP ? param_find(disk, "Ebs") : NULL;
            const struct param *deletes = param_get(ebs && ebs->kind == PARAM_MAP ? ebs : NULL,
                                                    PARAM_BOOL, "DeleteOnTermination");
            if (deletes && !deletes->boolean) {
                return true;
            }
        }
    }
    return false;
}

/* Volumes outlive their instance only if the file says so: they are reported and kept. */
static enum aws_ask ask_volumes(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = by_uid(op);
    input_filter(input, "status", STR("available"), &op->arena);
    return ask_pages(request, "DescribeVolumes", input);
}

static enum aws_next on_volumes(struct aws_workflow *op, const struct aws_result *result)
{
    struct remove_ids volumes;
    if (remove_is_denied(result)) {
        remove_add_unseen(op, "volume", STR("of this cluster"), "ec2:DescribeVolumes");
        return NEXT_NEXT;
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    add_ids(op, &volumes, result, "volumeSet", "volumeId");
    bool keeps = remove_keeps_volumes(op->provider->cluster);
    int64_t now = loop_now_ms(op->provider->loop);
    remove_of(op)->volumes_since = remove_of(op)->volumes_since > 0 ? remove_of(op)->volumes_since
                                                                    : now;
    if (volumes.count > 0 && !keeps && now - remove_of(op)->volumes_since < VOLUME_MS) {
        return workflow_not_yet(op, "AWS still lists volumes");
    }
    for (size_t i = 0; i < volumes.count; i++) {
        remove_add_left(op, "volume", volumes.items[i],
                        keeps ? STR("kept: the file has DeleteOnTermination: false")
                              : STR("kept: its instance is gone and EC2 did not delete it. If you "
                                    "do not need it: aws ec2 delete-volume"));
    }
    return NEXT_NEXT;
}

/* ---- verifying ---- */

static enum aws_next prove_none(struct aws_workflow *op, const struct aws_result *result,
                                const char *set_name, const char *name)
{
    struct remove_ids there;
    if (remove_is_denied(result)) {
        return NEXT_NEXT; /* already reported as left */
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    add_ids(op, &there, result, set_name, name);
    for (size_t i = 0; i < there.count; i++) {
        if (!remove_is_left(remove_of(op), there.items[i])) {
            return workflow_not_yet(op, "AWS still lists deleted resources");
        }
    }
    return NEXT_NEXT;
}

static enum aws_next prove_groups(struct aws_workflow *op, const struct aws_result *result)
{
    return prove_none(op, result, "securityGroupInfo", "groupId");
}

static enum aws_next prove_keys(struct aws_workflow *op, const struct aws_result *result)
{
    return prove_none(op, result, "keySet", "keyName");
}

static enum aws_ask ask_delete_lease_object(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (remove_of(op)->thing_count > 0 && op->provider->lease_object.len > 0) {
        remove_add_left(op, "launch template", op->provider->lease_object,
                        STR("kept: the next shoal down needs it to find the rest"));
    }
    if (remove_of(op)->thing_count > 0 || op->provider->lease_object.len == 0) {
        op->is_over = true;
        return ASK_NOTHING;
    }
    param_add_text(input, "LaunchTemplateId", op->provider->lease_object, &op->arena);
    return ask_change(request, "DeleteLaunchTemplate", input);
}

static enum aws_next on_delete_lease_object(struct aws_workflow *op,
                                            const struct aws_result *result)
{
    bool is_gone = str_starts(result->reply->error.code, "InvalidLaunchTemplate");
    if (result->reply->is_ok || is_gone) {
        return NEXT_NEXT;
    }
    if (result->reply->error.outcome == OUTCOME_UNKNOWN) {
        return workflow_fail(op, result);
    }
    remove_add_refused(op, result, "launch template", op->provider->lease_object,
                       "ec2:DeleteLaunchTemplate");
    op->is_over = true;
    return NEXT_END;
}

static enum aws_next prove_lease_object(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_object found;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    bool is_there = lease_object_read(op, result, &found) && str_eq(found.uid, op->provider->uid);
    return is_there ? workflow_not_yet(op, "AWS still lists the cluster's lease object")
                    : NEXT_NEXT;
}

static void remove_finish(struct aws_workflow *op)
{
    struct remove_op *remove = remove_of(op);
    struct aws_provider *provider = op->provider;
    if (op->answer.outcome == OUTCOME_DONE && remove->thing_count == 0) {
        provider->uid = provider->lease_object = STR("");
        provider->is_new = provider->has_no_role = false;
        provider->own_group = provider->own_key = provider->own_profile = STR("");
        provider->epoch = 0;
    }
    size_t count = remove->gone_count + remove->thing_count;
    struct provider_resource *all = ARENA_ARRAY(&op->arena, count, struct provider_resource);
    for (size_t i = 0; i < count; i++) {
        all[i] = i < remove->gone_count ? remove->gone[i] : remove->things[i - remove->gone_count];
    }
    remove->done(remove->context, &op->answer, all, count);
}

void aws_remove(struct provider *base, provider_resources_fn *done, void *context)
{
    const struct aws_step steps[] = {
        [REMOVE_FIND_LEASE_OBJECT] = {lease_object_ask, remove_on_lease_object},
        [REMOVE_FIND_MACHINES] = {remove_ask_machines, remove_on_machines},
        [REMOVE_FIND_PROFILE] = remove_find_profile,
        [REMOVE_EMPTY_PROFILE] = remove_empty_profile,
        [REMOVE_DELETE_PROFILE] = remove_delete_profile,
        [REMOVE_FIND_ROLE] = remove_find_role,
        [REMOVE_FIND_POLICIES] = remove_find_policies,
        [REMOVE_DELETE_POLICY] = remove_delete_policy,
        [REMOVE_FIND_ATTACHED] = remove_find_attached,
        [REMOVE_DETACH_POLICY] = remove_detach_policy,
        [REMOVE_DELETE_ROLE] = remove_delete_role,
        [REMOVE_FIND_GROUPS] = {remove_ask_groups, remove_on_groups},
        [REMOVE_DELETE_GROUP] = {ask_delete_group, on_delete_group},
        [REMOVE_FIND_MEMBERS] = {ask_members, on_members},
        [REMOVE_FIND_KEYS] = {remove_request_keys, remove_on_keys},
        [REMOVE_DELETE_KEY] = {ask_delete_key, on_delete_key},
        [REMOVE_FIND_VOLUMES] = {ask_volumes, on_volumes},
        [REMOVE_PROVE_GROUPS] = {remove_ask_groups, prove_groups},
        [REMOVE_PROVE_KEYS] = {remove_request_keys, prove_keys},
        [REMOVE_DELETE_LEASE_OBJECT] = {ask_delete_lease_object, on_delete_lease_object},
        [REMOVE_PROVE_LEASE_OBJECT] = {lease_object_ask, prove_lease_object},
    };
    struct remove_op *remove = WORKFLOW_NEW(aws_provider_of(base), struct remove_op, steps,
                                            REMOVE_MS, remove_finish);
    remove->done = done;
    remove->context = context;
    workflow_start(&remove->op);
}
