/*
 * prepare_group.c: the cluster's security group: all traffic between members, ssh only from the
 * user's address, and rules from the file.
 */
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/prepare.h"
#include "provider/cidr.h"

enum { CALLER_MS = 10 * 1000, CALLER_BYTES_MAX = 4096 };

#define CALLER_URL "https://checkip.amazonaws.com/"

/* ---- the group ---- */

static enum aws_ask prepare_group_ask_find(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    struct param *input = param_new_map(&op->arena);
    if (!prepare->wants_group) {
        return ASK_NOTHING;
    }
    prepare->group_name = aws_own_name(op->provider->cluster->name, op->provider->uid, "",
                                       &op->arena);
    if (!prepare_looks_first(op)) {
        return ASK_NOTHING;
    }
    input_filter(input, "group-name", prepare->group_name, &op->arena);
    if (prepare->scope != PREPARE_ADMIT) {
        input_filter(input, "vpc-id", op->provider->facts.vpc, &op->arena);
    }
    return ask_pages(request, "DescribeSecurityGroups", input);
}

static enum aws_next prepare_group_on_find(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "securityGroupInfo");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            if (!str_eq(xml_child_text(item, "groupName"), prepare->group_name)) {
                continue;
            }
            if (!str_eq(tag_in(item, TAG_CLUSTER_UID), op->provider->uid)) {
                return prepare_foreign(op, "security group", prepare->group_name);
            }
            prepare->group = arena_str(&op->arena, xml_child_text(item, "groupId"));
            prepare->there = (struct group_rules){0};
            group_rules_read(item, &prepare->there, &op->arena);
            for (size_t k = 0; k < prepare->there.count; k++) {
                /* Copied, because the pages are freed after this call. */
                struct group_rule *rule = &prepare->there.items[k];
                rule->protocol = arena_str(&op->arena, rule->protocol);
                rule->source = arena_str(&op->arena, rule->source);
                rule->description = arena_str(&op->arena, rule->description);
            }
            prepare_add_thing(prepare, "security group", prepare->group, "");
            return workflow_goto(op, prepare->scope == PREPARE_PERMIT ? PREPARE_FIND_WORKER_ROLES
                                     : prepare->scope == PREPARE_FIND ? PREPARE_STEP_COUNT
                                                                      : PREPARE_FIND_CALLER);
        }
    }
    return prepare->scope != PREPARE_CREATE
               ? workflow_end(op, OUTCOME_INVALID, ERR_NOT_FOUND,
                              "the cluster's security group %.*s is missing: run `shoal up` again",
                              STR_ARG(prepare->group_name))
               : NEXT_NEXT;
}

static enum aws_ask ask_make(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    struct param *input = param_new_map(&op->arena);
    if (!prepare->wants_group) {
        return ASK_NOTHING;
    }
    param_add_text(input, "GroupName", prepare->group_name, &op->arena);
    param_add_text(input, "Description", STR("Nodes of a Ray cluster launched by Shoal"),
                   &op->arena);
    param_add_text(input, "VpcId", op->provider->facts.vpc, &op->arena);
    input_own_tags(input, op->provider, "security-group", &op->arena);
    return ask_change(request, "CreateSecurityGroup", input);
}

static enum aws_next on_make(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    if (result_has_code(result, "InvalidGroup.Duplicate")) {
        return prepare_look(op, result, PREPARE_FIND_GROUP);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    prepare->group = xml_child_text(result->root, "groupId");
    if (prepare->group.len == 0) {
        return prepare_look(op, result, PREPARE_FIND_GROUP);
    }
    prepare_add_thing(prepare, "security group", prepare->group, "new");
    return NEXT_NEXT;
}

/* ---- source range for ssh ---- */

/* Adds provider.ssh_from, the ranges named by the user; false if one is invalid. */
static bool add_named_places(struct prepare_op *prepare, struct str *ret_wrong)
{
    const struct param *given = prepare->op.provider->cluster->provider
                                    ? param_find(prepare->op.provider->cluster->provider,
                                                 "ssh_from")
                                    : NULL;
    const struct param *item = given && given->kind == PARAM_LIST ? given->first : given;
    while (item) {
        struct str cidr;
        if (item->kind != PARAM_TEXT || !cidr_read(item->text, &prepare->op.arena, &cidr)) {
            *ret_wrong = item->text;
            return false;
        }
        group_rules_add_caller(&prepare->wanted, cidr, &prepare->op.arena);
        prepare->has_place = true;
        item = given->kind == PARAM_LIST ? item->next : NULL;
    }
    return true;
}

/* Our address could not be determined: keeps the ranges of an earlier run, if any. */
static enum aws_next keep_places(struct prepare_op *prepare, const char *url, const char *why)
{
    struct aws_workflow *op = &prepare->op;
    for (size_t i = 0; i < prepare->there.count; i++) {
        if (str_starts(prepare->there.items[i].description, RULE_MARK)) {
            group_rules_add_caller(&prepare->wanted, prepare->there.items[i].source, &op->arena);
            prepare->has_place = true;
        }
    }
    if (!prepare->has_place) {
        return workflow_end(op, OUTCOME_INVALID, ERR_UNAVAILABLE,
                            "cannot get this machine's public address from %s (%s); set it: "
                            "metadata.shoal.ssh_from: [\"198.51.100.7/32\"]",
                            url, why);
    }
    log_write(op->provider->log, LOG_LEVEL_WARNING,
              "keeping the existing ssh rules, because this machine's public address is unknown "
              "url=%s error=%s",
              url, why);
    return NEXT_NEXT;
}

static const char *caller_url(const struct aws_workflow *op)
{
    const char *url = variable_get(op->provider->environ, "SHOAL_CALLER_URL");
    return url && *url ? url : CALLER_URL;
}

static void on_caller(void *context, const struct http_reply *reply)
{
    struct aws_workflow *op = context;
    struct prepare_op *prepare = prepare_of(op);
    struct str cidr;
    op->http = NULL;
    if (reply->outcome != HTTP_REPLIED) {
        workflow_resume(op, keep_places(prepare, caller_url(op), reply->err.text));
        return;
    }
    if (reply->status != 200 || str_find_char(reply->body, '/') != SIZE_MAX ||
        !cidr_read(reply->body, &op->arena, &cidr)) {
        workflow_resume(op, keep_places(prepare, caller_url(op),
                                        "the response is not an IP "
                                        "address"));
        return;
    }
    group_rules_add_caller(&prepare->wanted, cidr, &op->arena);
    prepare->has_place = true;
    workflow_resume(op, NEXT_NEXT);
}

static enum aws_ask ask_caller(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    const struct aws_provider *provider = op->provider;
    struct str wrong = STR("");
    (void)request;
    if (!prepare->wants_group) {
        return ASK_NOTHING;
    }
    prepare->wanted = (struct group_rules){0};
    if (prepare_uses_sessions(prepare)) {
        return ASK_NOTHING;
    }
    if (!add_named_places(prepare, &wrong)) {
        workflow_end(op, OUTCOME_INVALID, ERR_CONFIG,
                     "ssh_from: \"%.*s\" is not an IP address or CIDR range", STR_ARG(wrong));
        return ASK_NOTHING;
    }
    if (prepare->has_place || provider->facts.uses_private) {
        return ASK_NOTHING;
    }
    op->http = http_start(provider->http, &(struct http_request){.url = caller_url(op),
                                                                 .total_ms = CALLER_MS,
                                                                 .body_max = CALLER_BYTES_MAX,
                                                                 .done = on_caller,
                                                                 .context = op});
    return ASK_ELSEWHERE;
}

/* With use_internal_ips, the user connects from inside the VPC. */
static enum aws_ask ask_vpc(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    struct param *input = param_new_map(&op->arena);
    if (!prepare->wants_group || prepare->has_place || prepare_uses_sessions(prepare)) {
        return ASK_NOTHING;
    }
    input_filter(input, "vpc-id", op->provider->facts.vpc, &op->arena);
    return ask_pages(request, "DescribeVpcs", input);
}

static void add_vpc_places(struct prepare_op *prepare, const struct xml_element *vpc)
{
    const struct xml_element *set = xml_child(vpc, "cidrBlockAssociationSet");
    struct str cidr;
    for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
        if (cidr_read(xml_child_text(item, "cidrBlock"), &prepare->op.arena, &cidr)) {
            group_rules_add_caller(&prepare->wanted, cidr, &prepare->op.arena);
            prepare->has_place = true;
        }
    }
    if (!prepare->has_place &&
        cidr_read(xml_child_text(vpc, "cidrBlock"), &prepare->op.arena, &cidr)) {
        group_rules_add_caller(&prepare->wanted, cidr, &prepare->op.arena);
        prepare->has_place = true;
    }
}

static enum aws_next on_vpc(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "vpcSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            add_vpc_places(prepare, item);
        }
    }
    return prepare->has_place
               ? NEXT_NEXT
               : workflow_end(op, OUTCOME_INVALID, ERR_NOT_FOUND, "the VPC %.*s has no CIDR block",
                              STR_ARG(op->provider->facts.vpc));
}

/* ---- the rules ---- */

static void find_differences(struct prepare_op *prepare)
{
    const struct param *settings = prepare->op.provider->cluster->provider;
    const struct param *group = settings ? param_find(settings, "security_group") : NULL;
    struct arena *arena = &prepare->op.arena;
    if (prepare->scope == PREPARE_ADMIT) { /* other machines keep their rules */
        prepare->missing = group_rules_missing(&prepare->wanted, &prepare->there, arena);
        return;
    }
    group_rules_add_members(&prepare->wanted, prepare->group, arena);
    if (group && group->kind == PARAM_MAP) {
        group_rules_from_file(param_find(group, "IpPermissions"), &prepare->wanted, arena);
    }
    prepare->missing = group_rules_missing(&prepare->wanted, &prepare->there, arena);
    prepare->stale = group_rules_stale(&prepare->there, &prepare->wanted, arena);
}

/* From where ssh may come: for a message, if it does not get through. */
static void prepare_group_tell_callers(struct prepare_op *prepare)
{
    for (size_t i = 0; prepare->scope == PREPARE_CREATE && i < prepare->wanted.count; i++) {
        if (str_starts(prepare->wanted.items[i].description, RULE_MARK)) {
            prepare_add_thing(prepare, "address", prepare->wanted.items[i].source, "");
        }
    }
}

static enum aws_ask ask_add(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    if (!prepare->wants_group) {
        return ASK_NOTHING;
    }
    if (!prepare->missing.items && prepare->rule_at == 0) {
        find_differences(prepare);
    }
    if (prepare->rule_at == prepare->missing.count) {
        prepare_group_tell_callers(prepare);
        prepare->rule_at = 0;
        return ASK_NOTHING;
    }
    request->needs_no_lease = prepare->scope == PREPARE_ADMIT;
    return ask_change(
        request, "AuthorizeSecurityGroupIngress",
        group_rule_input(&prepare->missing.items[prepare->rule_at], prepare->group, &op->arena));
}

static enum aws_next on_add(struct aws_workflow *op, const struct aws_result *result)
{
    if (result->reply->is_ok || result_has_code(result, "InvalidPermission.Duplicate")) {
        struct prepare_op *prepare = prepare_of(op);
        struct str source = prepare->missing.items[prepare->rule_at++].source;
        if (prepare->scope == PREPARE_ADMIT && result->reply->is_ok) {
            prepare_add_thing(prepare, "address", source, "new");
        }
        return NEXT_REPEAT;
    }
    if (result_has_code(result, "InvalidGroup.NotFound") ||
        result_has_code(result, "InvalidSecurityGroupID.NotFound")) {
        return workflow_wait(op, result); /* the group was created a moment ago */
    }
    return workflow_fail(op, result);
}

/* The new range was added before this, so that ssh is never locked out. */
static enum aws_ask prepare_group_ask_take(struct aws_workflow *op, struct aws_request *request)
{
    struct prepare_op *prepare = prepare_of(op);
    if (prepare->rule_at >= prepare->stale.count) {
        return ASK_NOTHING;
    }
    struct group_rule rule = prepare->stale.items[prepare->rule_at];
    return ask_change(request, "RevokeSecurityGroupIngress",
                      group_rule_input(&rule, prepare->group, &op->arena));
}

static enum aws_next prepare_group_on_take(struct aws_workflow *op, const struct aws_result *result)
{
    if (result->reply->is_ok || result_has_code(result, "InvalidPermission.NotFound")) {
        prepare_of(op)->rule_at++;
        return NEXT_REPEAT;
    }
    return workflow_fail(op, result);
}

const struct aws_step prepare_find_group = {prepare_group_ask_find, prepare_group_on_find};
const struct aws_step prepare_make_group = {ask_make, on_make};
const struct aws_step prepare_find_caller = {ask_caller, NULL};
const struct aws_step prepare_find_vpc = {ask_vpc, on_vpc};
const struct aws_step prepare_add_rules = {ask_add, on_add};
const struct aws_step prepare_take_rules = {prepare_group_ask_take, prepare_group_on_take};
