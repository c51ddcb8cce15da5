/*
 * remove.c: takes away what take() and prepare() made: profile, role, group, key, and the anchor
 * last, because it knows the uid by which the rest is found.
 *
 * Only what bears the cluster's uid is touched. What cannot be removed is told, and then the anchor
 * stays, so that the next try finds it.
 */
#include "provider/aws/aws_state.h"
#include "provider/aws/cluster/anchor.h"
#include "provider/aws/cluster/aws_names.h"

enum {
    REMOVE_MS = 300 * 1000,
    PATIENCE_MS = 90 * 1000, /* with a group whose machines have just ended */
};

enum remove_step {
    FIND_ANCHOR,
    FIND_MACHINES,
    FIND_PROFILE,
    EMPTY_PROFILE,
    DELETE_PROFILE,
    FIND_ROLE,
    FIND_POLICIES,
    DELETE_POLICY,
    FIND_ATTACHED,
    DETACH_POLICY,
    DELETE_ROLE,
    FIND_GROUPS,
    DELETE_GROUP,
    FIND_MEMBERS,
    FIND_KEYS,
    DELETE_KEY,
    FIND_VOLUMES,
    PROVE_GROUPS,
    PROVE_KEYS,
    DELETE_ANCHOR,
    PROVE_ANCHOR,
};

struct ids {
    struct str *items;
    size_t count, capacity, at;
};

struct remove_op {
    struct aws_script op;
    provider_things_fn *done;
    void *context;
    struct provider_thing *things; /* that are left */
    size_t thing_count, thing_capacity;
    struct provider_thing *gone;
    size_t gone_count, gone_capacity;
    struct ids policies, attached, groups, keys;
    int64_t used_since; /* the group that is being deleted, on the loop's clock; 0: not so far */
};

static struct remove_op *remove_of(struct aws_script *op)
{
    return (struct remove_op *)op;
}

static void add_left(struct aws_script *op, const char *kind, struct str id, struct str note)
{
    struct remove_op *remove = remove_of(op);
    void *items = remove->things;
    arena_grow(&op->arena, &items, remove->thing_count, &remove->thing_capacity,
               sizeof(struct provider_thing));
    remove->things = items;
    remove->things[remove->thing_count++] = (struct provider_thing){
        .kind = str_from(kind),
        .id = arena_str(&op->arena, id),
        .note = arena_str(&op->arena, note)};
}

static void add_gone(struct aws_script *op, const struct aws_heard *heard, const char *kind,
                     struct str id)
{
    struct remove_op *remove = remove_of(op);
    void *items = remove->gone;
    if (!heard->reply->is_ok) {
        return; /* it was not there */
    }
    arena_grow(&op->arena, &items, remove->gone_count, &remove->gone_capacity,
               sizeof(struct provider_thing));
    remove->gone = items;
    remove->gone[remove->gone_count++] = (struct provider_thing){
        .kind = str_from(kind), .id = arena_str(&op->arena, id), .is_gone = true};
}

static bool is_left(const struct remove_op *remove, struct str id)
{
    for (size_t i = 0; i < remove->thing_count; i++) {
        if (str_eq(remove->things[i].id, id)) {
            return true;
        }
    }
    return false;
}

static void add_id(struct aws_script *op, struct ids *ids, struct str id)
{
    void *items = ids->items;
    arena_grow(&op->arena, &items, ids->count, &ids->capacity, sizeof(struct str));
    ids->items = items;
    ids->items[ids->count++] = arena_str(&op->arena, id);
}

/* Every <item> of a set on all pages. */
static void add_ids(struct aws_script *op, struct ids *ids, const struct aws_heard *heard,
                    const char *set_name, const char *name)
{
    *ids = (struct ids){0};
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *set = xml_child(heard->pages[i], set_name);
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            /* The filter has asked for it; AWS's word is checked all the same. */
            if (str_eq(tag_in(item, TAG_CLUSTER_UID), op->provider->uid)) {
                add_id(op, ids, xml_child_text(item, name));
            }
        }
    }
}

static struct param *by_uid(struct aws_script *op)
{
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "tag:" TAG_CLUSTER_UID, op->provider->uid, &op->arena);
    return input;
}

/* ---- anchor and machines ---- */

static enum aws_turn hear_anchor(struct aws_script *op, const struct aws_heard *heard)
{
    op->provider->uid = STR(""); /* what is known may be of a cluster before this one */
    return anchor_hear_find(op, heard);
}

static enum aws_ask ask_machines(struct aws_script *op, struct aws_request *request)
{
    static const struct str states[] = {
        {"pending", 7}, {"running", 7}, {"shutting-down", 13}, {"stopping", 8}, {"stopped", 7}};
    struct param *input = by_uid(op);
    param_add_filter(param_find(input, "Filters"), "instance-state-name", states, ARRAY_LEN(states),
                     &op->arena);
    return ask_pages(request, "DescribeInstances", input);
}

static bool add_machines(struct aws_script *op, const struct xml_element *reservation)
{
    const struct xml_element *set = xml_child(reservation, "instancesSet");
    bool are_ending = true;
    for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
        struct str state = xml_child_text(xml_child(item, "instanceState"), "name");
        are_ending = are_ending && str_is(state, "shutting-down");
        add_left(op, "machine", xml_child_text(item, "instanceId"), state);
    }
    return are_ending;
}

static enum aws_turn hear_machines(struct aws_script *op, const struct aws_heard *heard)
{
    struct remove_op *remove = remove_of(op);
    bool are_ending = true;
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    remove->thing_count = 0;
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *set = xml_child(heard->pages[i], "reservationSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            are_ending = add_machines(op, item) && are_ending;
        }
    }
    if (remove->thing_count == 0) {
        return TURN_NEXT;
    }
    /* Those that end are waited for; for the others there is nothing to wait for. */
    return are_ending ? TURN_WAIT : TURN_END;
}

/* ---- profile and role ---- */

static struct str role_name(struct aws_script *op)
{
    return aws_own_name(op->provider->cluster->name, op->provider->uid, "-head", &op->arena);
}

static enum aws_ask ask_iam(struct aws_script *op, struct aws_request *request, const char *action,
                            const char *field)
{
    struct param *input = param_new_map(&op->arena);
    param_add_text(input, field, role_name(op), &op->arena);
    request->service = AWS_IAM;
    return str_starts(str_from(action), "Get") ? ask_call(request, action, input)
                                               : ask_change(request, action, input);
}

static enum aws_ask ask_profile(struct aws_script *op, struct aws_request *request)
{
    return ask_iam(op, request, "GetInstanceProfile", "InstanceProfileName");
}

/* Not allowed to look at roles: then nobody with these rights has made one either. */
static bool is_none(const struct aws_heard *heard)
{
    return heard_code(heard, "NoSuchEntity") || heard_code(heard, "AccessDenied");
}

static enum aws_turn hear_profile(struct aws_script *op, const struct aws_heard *heard)
{
    if (is_none(heard)) {
        return op_goto(op, FIND_ROLE);
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    const struct xml_element *profile = xml_child(
        xml_child(heard->root, "GetInstanceProfileResult"), "InstanceProfile");
    bool is_ours = str_eq(tag_in(profile, TAG_CLUSTER_UID), op->provider->uid);
    bool has_role = xml_child(xml_child(profile, "Roles"), "member") != NULL;
    return op_goto(op, !is_ours ? FIND_ROLE : has_role ? EMPTY_PROFILE : DELETE_PROFILE);
}

static enum aws_ask ask_empty_profile(struct aws_script *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    param_add_text(input, "InstanceProfileName", role_name(op), &op->arena);
    param_add_text(input, "RoleName", role_name(op), &op->arena);
    request->service = AWS_IAM;
    return ask_change(request, "RemoveRoleFromInstanceProfile", input);
}

/* What is not there is removed. What is in use a moment longer is waited for. */
static enum aws_turn hear_removed(struct aws_script *op, const struct aws_heard *heard)
{
    if (heard->reply->is_ok || heard_code(heard, "NoSuchEntity")) {
        return TURN_NEXT;
    }
    return heard_code(heard, "DeleteConflict") ? op_wait(op, heard) : op_fail(op, heard);
}

static enum aws_turn hear_profile_gone(struct aws_script *op, const struct aws_heard *heard)
{
    add_gone(op, heard, "instance profile", role_name(op));
    return hear_removed(op, heard);
}

static enum aws_turn hear_role_gone(struct aws_script *op, const struct aws_heard *heard)
{
    add_gone(op, heard, "role", role_name(op));
    return hear_removed(op, heard);
}

static enum aws_ask ask_delete_profile(struct aws_script *op, struct aws_request *request)
{
    return ask_iam(op, request, "DeleteInstanceProfile", "InstanceProfileName");
}

static enum aws_ask ask_role(struct aws_script *op, struct aws_request *request)
{
    return ask_iam(op, request, "GetRole", "RoleName");
}

static enum aws_turn hear_role(struct aws_script *op, const struct aws_heard *heard)
{
    if (is_none(heard)) {
        return op_goto(op, FIND_GROUPS);
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    const struct xml_element *role = xml_child(xml_child(heard->root, "GetRoleResult"), "Role");
    bool is_ours = str_eq(tag_in(role, TAG_CLUSTER_UID), op->provider->uid);
    return op_goto(op, is_ours ? FIND_POLICIES : FIND_GROUPS);
}

static enum aws_ask ask_policies(struct aws_script *op, struct aws_request *request)
{
    (void)ask_iam(op, request, "ListRolePolicies", "RoleName");
    request->care = AWS_READ;
    return ASK_CALL;
}

static enum aws_turn hear_policies(struct aws_script *op, const struct aws_heard *heard)
{
    struct remove_op *remove = remove_of(op);
    if (!heard->reply->is_ok) {
        return hear_removed(op, heard);
    }
    const struct xml_element *names = xml_child(xml_child(heard->root, "ListRolePoliciesResult"),
                                                "PolicyNames");
    remove->policies = (struct ids){0};
    for (const struct xml_element *item = names ? names->first : NULL; item; item = item->next) {
        add_id(op, &remove->policies, item->text);
    }
    return TURN_NEXT;
}

static enum aws_ask ask_delete_policy(struct aws_script *op, struct aws_request *request)
{
    struct ids *ids = &remove_of(op)->policies;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    param_add_text(input, "RoleName", role_name(op), &op->arena);
    param_add_text(input, "PolicyName", ids->items[ids->at], &op->arena);
    request->service = AWS_IAM;
    return ask_change(request, "DeleteRolePolicy", input);
}

static enum aws_turn hear_delete_policy(struct aws_script *op, const struct aws_heard *heard)
{
    enum aws_turn turn = hear_removed(op, heard);
    remove_of(op)->policies.at += turn == TURN_NEXT;
    return turn == TURN_NEXT ? TURN_REPEAT : turn;
}

static enum aws_ask ask_attached(struct aws_script *op, struct aws_request *request)
{
    (void)ask_iam(op, request, "ListAttachedRolePolicies", "RoleName");
    request->care = AWS_READ;
    return ASK_CALL;
}

static enum aws_turn hear_attached(struct aws_script *op, const struct aws_heard *heard)
{
    struct remove_op *remove = remove_of(op);
    if (!heard->reply->is_ok) {
        return hear_removed(op, heard);
    }
    const struct xml_element *list = xml_child(
        xml_child(heard->root, "ListAttachedRolePoliciesResult"), "AttachedPolicies");
    remove->attached = (struct ids){0};
    for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
        add_id(op, &remove->attached, xml_child_text(item, "PolicyArn"));
    }
    return TURN_NEXT;
}

static enum aws_ask ask_detach(struct aws_script *op, struct aws_request *request)
{
    struct ids *ids = &remove_of(op)->attached;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    param_add_text(input, "RoleName", role_name(op), &op->arena);
    param_add_text(input, "PolicyArn", ids->items[ids->at], &op->arena);
    request->service = AWS_IAM;
    return ask_change(request, "DetachRolePolicy", input);
}

static enum aws_turn hear_detach(struct aws_script *op, const struct aws_heard *heard)
{
    enum aws_turn turn = hear_removed(op, heard);
    remove_of(op)->attached.at += turn == TURN_NEXT;
    return turn == TURN_NEXT ? TURN_REPEAT : turn;
}

static enum aws_ask ask_delete_role(struct aws_script *op, struct aws_request *request)
{
    return ask_iam(op, request, "DeleteRole", "RoleName");
}

/* ---- groups ---- */

static enum aws_ask ask_groups(struct aws_script *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeSecurityGroups", by_uid(op));
}

static enum aws_turn hear_groups(struct aws_script *op, const struct aws_heard *heard)
{
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    add_ids(op, &remove_of(op)->groups, heard, "securityGroupInfo", "groupId");
    return TURN_NEXT;
}

static enum aws_ask ask_delete_group(struct aws_script *op, struct aws_request *request)
{
    struct ids *ids = &remove_of(op)->groups;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        op->at = FIND_MEMBERS; /* there is none whose members count */
        return ASK_NOTHING;
    }
    param_add_text(input, "GroupId", ids->items[ids->at], &op->arena);
    return ask_change(request, "DeleteSecurityGroup", input);
}

static enum aws_turn hear_delete_group(struct aws_script *op, const struct aws_heard *heard)
{
    struct remove_op *remove = remove_of(op);
    int64_t now = loop_now_ms(op->provider->loop);
    bool is_used = heard_code(heard, "DependencyViolation") ||
                   heard_code(heard, "InvalidGroup.InUse");
    if (heard->reply->is_ok || heard_code(heard, "InvalidGroup.NotFound") ||
        heard_code(heard, "InvalidSecurityGroupID.NotFound")) {
        add_gone(op, heard, "security group", remove->groups.items[remove->groups.at++]);
        remove->used_since = 0;
        return TURN_REPEAT;
    }
    if (!is_used) {
        return op_fail(op, heard);
    }
    remove->used_since = remove->used_since == 0 ? now : remove->used_since;
    return now - remove->used_since < PATIENCE_MS ? op_wait(op, heard) : TURN_NEXT;
}

/* Who still uses it: interfaces of machines, mostly. */
static enum aws_ask ask_members(struct aws_script *op, struct aws_request *request)
{
    struct ids *ids = &remove_of(op)->groups;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    input_filter(input, "group-id", ids->items[ids->at], &op->arena);
    return ask_pages(request, "DescribeNetworkInterfaces", input);
}

static enum aws_turn hear_members(struct aws_script *op, const struct aws_heard *heard)
{
    struct ids *ids = &remove_of(op)->groups;
    AUTO_BUF struct buf note;
    size_t count = 0;
    buf_init(&note, 512);
    buf_add_c(&note, "still in use");
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *set = xml_child(heard->pages[i], "networkInterfaceSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            struct str machine = xml_child_text(xml_child(item, "attachment"), "instanceId");
            buf_addf(&note, "%s%.*s%s%.*s", count++ == 0 ? " by " : ", ",
                     STR_ARG(xml_child_text(item, "networkInterfaceId")),
                     machine.len > 0 ? " of " : "", STR_ARG(machine));
        }
    }
    add_left(op, "security group", ids->items[ids->at], buf_str(&note));
    ids->at++;
    remove_of(op)->used_since = 0;
    return op_goto(op, DELETE_GROUP);
}

/* ---- keys and volumes ---- */

static enum aws_ask ask_keys(struct aws_script *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeKeyPairs", by_uid(op));
}

static enum aws_turn hear_keys(struct aws_script *op, const struct aws_heard *heard)
{
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    add_ids(op, &remove_of(op)->keys, heard, "keySet", "keyName");
    return TURN_NEXT;
}

static enum aws_ask ask_delete_key(struct aws_script *op, struct aws_request *request)
{
    struct ids *ids = &remove_of(op)->keys;
    struct param *input = param_new_map(&op->arena);
    if (ids->at == ids->count) {
        return ASK_NOTHING;
    }
    param_add_text(input, "KeyName", ids->items[ids->at], &op->arena);
    return ask_change(request, "DeleteKeyPair", input);
}

static enum aws_turn hear_delete_key(struct aws_script *op, const struct aws_heard *heard)
{
    if (!heard->reply->is_ok && !heard_code(heard, "InvalidKeyPair.NotFound")) {
        return op_fail(op, heard);
    }
    struct ids *ids = &remove_of(op)->keys;
    add_gone(op, heard, "key pair", ids->items[ids->at++]);
    return TURN_REPEAT;
}

/* A disk that outlives its machine does so because the file says it shall: it is told, and kept. */
static enum aws_ask ask_volumes(struct aws_script *op, struct aws_request *request)
{
    struct param *input = by_uid(op);
    input_filter(input, "status", STR("available"), &op->arena);
    return ask_pages(request, "DescribeVolumes", input);
}

static enum aws_turn hear_volumes(struct aws_script *op, const struct aws_heard *heard)
{
    struct ids volumes;
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    add_ids(op, &volumes, heard, "volumeSet", "volumeId");
    for (size_t i = 0; i < volumes.count; i++) {
        add_left(op, "volume", volumes.items[i],
                 STR("kept: its machine was launched with DeleteOnTermination: false"));
    }
    return TURN_NEXT;
}

/* ---- the proof ---- */

static enum aws_turn prove_none(struct aws_script *op, const struct aws_heard *heard,
                                const char *set_name, const char *name)
{
    struct ids there;
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    add_ids(op, &there, heard, set_name, name);
    for (size_t i = 0; i < there.count; i++) {
        if (!is_left(remove_of(op), there.items[i])) {
            return op_not_yet(op, "AWS still lists what was removed");
        }
    }
    return TURN_NEXT;
}

static enum aws_turn prove_groups(struct aws_script *op, const struct aws_heard *heard)
{
    return prove_none(op, heard, "securityGroupInfo", "groupId");
}

static enum aws_turn prove_keys(struct aws_script *op, const struct aws_heard *heard)
{
    return prove_none(op, heard, "keySet", "keyName");
}

static enum aws_ask ask_delete_anchor(struct aws_script *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (remove_of(op)->thing_count > 0) {
        add_left(op, "launch template", op->provider->anchor,
                 STR("kept: it knows what the others belong to"));
        op->is_over = true;
        return ASK_NOTHING;
    }
    param_add_text(input, "LaunchTemplateId", op->provider->anchor, &op->arena);
    return ask_change(request, "DeleteLaunchTemplate", input);
}

static enum aws_turn hear_delete_anchor(struct aws_script *op, const struct aws_heard *heard)
{
    bool is_gone = str_starts(heard->reply->error.code, "InvalidLaunchTemplate");
    return heard->reply->is_ok || is_gone ? TURN_NEXT : op_fail(op, heard);
}

static enum aws_turn prove_anchor(struct aws_script *op, const struct aws_heard *heard)
{
    struct anchor_found found;
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    bool is_there = anchor_read(op, heard, &found) && str_eq(found.uid, op->provider->uid);
    return is_there ? op_not_yet(op, "AWS still lists the cluster's anchor") : TURN_NEXT;
}

static void remove_finish(struct aws_script *op)
{
    struct remove_op *remove = remove_of(op);
    struct aws_provider *provider = op->provider;
    if (op->answer.outcome == OUTCOME_DONE && remove->thing_count == 0) {
        provider->uid = provider->anchor = STR("");
        provider->is_new = false;
        provider->own_group = provider->own_key = provider->own_profile = STR("");
        provider->epoch = 0;
    }
    size_t count = remove->gone_count + remove->thing_count;
    struct provider_thing *all = ARENA_ARRAY(&op->arena, count, struct provider_thing);
    for (size_t i = 0; i < count; i++) {
        all[i] = i < remove->gone_count ? remove->gone[i] : remove->things[i - remove->gone_count];
    }
    remove->done(remove->context, &op->answer, all, count);
}

void aws_remove(struct provider *base, provider_things_fn *done, void *context)
{
    static const struct aws_step steps[] = {
        [FIND_ANCHOR] = {anchor_ask, hear_anchor},
        [FIND_MACHINES] = {ask_machines, hear_machines},
        [FIND_PROFILE] = {ask_profile, hear_profile},
        [EMPTY_PROFILE] = {ask_empty_profile, hear_removed},
        [DELETE_PROFILE] = {ask_delete_profile, hear_profile_gone},
        [FIND_ROLE] = {ask_role, hear_role},
        [FIND_POLICIES] = {ask_policies, hear_policies},
        [DELETE_POLICY] = {ask_delete_policy, hear_delete_policy},
        [FIND_ATTACHED] = {ask_attached, hear_attached},
        [DETACH_POLICY] = {ask_detach, hear_detach},
        [DELETE_ROLE] = {ask_delete_role, hear_role_gone},
        [FIND_GROUPS] = {ask_groups, hear_groups},
        [DELETE_GROUP] = {ask_delete_group, hear_delete_group},
        [FIND_MEMBERS] = {ask_members, hear_members},
        [FIND_KEYS] = {ask_keys, hear_keys},
        [DELETE_KEY] = {ask_delete_key, hear_delete_key},
        [FIND_VOLUMES] = {ask_volumes, hear_volumes},
        [PROVE_GROUPS] = {ask_groups, prove_groups},
        [PROVE_KEYS] = {ask_keys, prove_keys},
        [DELETE_ANCHOR] = {ask_delete_anchor, hear_delete_anchor},
        [PROVE_ANCHOR] = {anchor_ask, prove_anchor},
    };
    struct remove_op *remove = OP_NEW(aws_provider_of(base), struct remove_op, steps, REMOVE_MS,
                                      remove_finish);
    remove->done = done;
    remove->context = context;
    op_start(&remove->op);
}
