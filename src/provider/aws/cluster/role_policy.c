/* role_policy.c: the statements of the head's policy. */
#include "provider/aws/cluster/role_policy.h"

#include "provider/aws/client/endpoint.h"
#include "provider/provider.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *const role_policy_key_actions[] = {"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey",
                                               "kms:GenerateDataKeyWithoutPlaintext", NULL};

/* ---- JSON ---- */

static json_t *role_policy_text(struct str value)
{
    return json_stringn(value.ptr ? value.ptr : "", value.len);
}

static json_t *texts(const char *const *values)
{
    json_t *list = json_array();
    for (; *values; values++) {
        json_array_append_new(list, json_string(*values));
    }
    return list;
}

static json_t *views(const struct str *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, role_policy_text(values[i]));
    }
    return list;
}

static json_t *role_policy_add(json_t *statements, const char *name, const char *effect,
                               json_t *action, json_t *resource)
{
    json_t *statement = json_object();
    json_object_set_new(statement, "Sid", json_string(name));
    json_object_set_new(statement, "Effect", json_string(effect));
    json_object_set_new(statement, "Action", action);
    json_object_set_new(statement, "Resource", resource);
    json_array_append_new(statements, statement);
    return statement;
}

static void role_policy_need(json_t *statement, const char *operator, const char * key,
                             json_t *value)
{
    json_t *conditions = json_object_get(statement, "Condition");
    if (!conditions) {
        conditions = json_object();
        json_object_set_new(statement, "Condition", conditions);
    }
    json_t *pairs = json_object_get(conditions, operator);
    if (!pairs) {
        pairs = json_object();
        json_object_set_new(conditions, operator, pairs);
    }
    json_object_set_new(pairs, key, value);
}

#define EQUALS "StringEquals"
#define REQUEST_UID "aws:RequestTag/" TAG_CLUSTER_UID
#define RESOURCE_UID "aws:ResourceTag/" TAG_CLUSTER_UID

/* Limited to the cluster's region. */
static json_t *allow(json_t *statements, const struct role_needs *needs, const char *name,
                     json_t *action, json_t *resource)
{
    json_t *statement = role_policy_add(statements, name, "Allow", action, resource);
    role_policy_need(statement, EQUALS, "aws:RequestedRegion", role_policy_text(needs->region));
    return statement;
}

/* "arn:aws:ec2:us-west-2:123456789012:instance/..." */
static json_t *ec2_arn(const struct role_needs *needs, const char *kind, struct str id)
{
    return json_sprintf("arn:%.*s:ec2:%.*s:%.*s:%s/%.*s", STR_ARG(needs->partition),
                        STR_ARG(needs->region), STR_ARG(needs->account), kind, STR_ARG(id));
}

static json_t *role_policy_all_of(const struct role_needs *needs, const char *const *kinds)
{
    json_t *list = json_array();
    for (; *kinds; kinds++) {
        json_array_append_new(list, ec2_arn(needs, *kinds, STR("*")));
    }
    return list;
}

/* ---- allowed ---- */

static void allow_looking(json_t *statements, const struct role_needs *needs)
{
    static const char *const actions[] = {
        "ec2:DescribeImages",
        "ec2:DescribeInstanceStatus",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeKeyPairs",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
        "ec2:DescribeTags",
        NULL,
    };
    (void)allow(statements, needs, "Look", texts(actions), json_string("*"));
}

static void allow_launching(json_t *statements, const struct role_needs *needs)
{
    static const char *const parts[] = {"volume", "network-interface", "spot-instances-request",
                                        NULL};
    static const char *const run[] = {"ec2:RunInstances", NULL};
    json_t *machines = allow(statements, needs, "LaunchMachines", texts(run),
                             ec2_arn(needs, "instance", STR("*")));
    role_policy_need(machines, EQUALS, REQUEST_UID, role_policy_text(needs->uid));
    /* No heads: the next `up` would give the cluster's keys to an instance tagged as head. */
    role_policy_need(machines, EQUALS, "aws:RequestTag/ray-node-type", json_string("worker"));
    role_policy_need(machines, EQUALS, "ec2:InstanceType",
                     views(needs->machines, needs->machine_count));
    if (!needs->takes_old_metadata) {
        role_policy_need(machines, EQUALS, "ec2:MetadataHttpTokens", json_string("required"));
    }
    role_policy_need(machines, "NumericLessThanEquals", "ec2:MetadataHttpPutResponseHopLimit",
                     json_sprintf("%lld", (long long)needs->hop_limit));
    json_t *around = allow(statements, needs, "LaunchParts", texts(run),
                           role_policy_all_of(needs, parts));
    role_policy_need(around, EQUALS, REQUEST_UID, role_policy_text(needs->uid));
    (void)allow(statements, needs, "LaunchFrom", texts(run),
                views(needs->launch_from, needs->launch_from_count));
}

/* Identity and owner are set at launch; later only the state may change. */
static void allow_tagging(json_t *statements, const struct role_needs *needs)
{
    static const char *const kinds[] = {"instance", "volume", "network-interface",
                                        "spot-instances-request", NULL};
    static const char *const tag[] = {"ec2:CreateTags", NULL};
    static const char *const later[] = {"Name",
                                        "ray-file-mounts-contents",
                                        "ray-launch-config",
                                        "ray-node-status",
                                        "ray-runtime-config",
                                        TAG_EPOCH,
                                        TAG_LAUNCH,  /* tag of a restarted worker */
                                        TAG_STOPPED, /* of a head that idle_stop stops */
                                        NULL};
    json_t *born = allow(statements, needs, "TagAtLaunch", texts(tag),
                         role_policy_all_of(needs, kinds));
    role_policy_need(born, EQUALS, "ec2:CreateAction", json_string("RunInstances"));
    role_policy_need(born, EQUALS, REQUEST_UID, role_policy_text(needs->uid));
    json_t *status = allow(statements, needs, "TagLater", texts(tag),
                           ec2_arn(needs, "instance", STR("*")));
    role_policy_need(status, EQUALS, RESOURCE_UID, role_policy_text(needs->uid));
    role_policy_need(status, "ForAllValues:StringEquals", "aws:TagKeys", texts(later));
}

static void allow_ending(json_t *statements, const struct role_needs *needs)
{
    static const char *const actions[] = {"ec2:StartInstances", "ec2:StopInstances",
                                          "ec2:TerminateInstances", NULL};
    static const char *const terminate[] = {"ec2:TerminateInstances", NULL};
    json_t *workers = allow(statements, needs, "EndWorkers", texts(actions),
                            ec2_arn(needs, "instance", STR("*")));
    role_policy_need(workers, EQUALS, RESOURCE_UID, role_policy_text(needs->uid));
    role_policy_need(workers, EQUALS, "aws:ResourceTag/ray-node-type", json_string("worker"));
    /* A second head from a delayed launch of a suspended laptop: it was never set up. */
    json_t *heads = allow(statements, needs, "EndHeads", texts(terminate),
                          ec2_arn(needs, "instance", STR("*")));
    role_policy_need(heads, EQUALS, RESOURCE_UID, role_policy_text(needs->uid));
    role_policy_need(heads, EQUALS, "aws:ResourceTag/ray-node-type", json_string("head"));
    role_policy_need(heads, "Null", "aws:ResourceTag/" TAG_HEAD, json_string("true"));
}

/* By tag: a lease object that was deleted and recreated has another id. */
static void allow_leading(json_t *statements, const struct role_needs *needs)
{
    static const char *const actions[] = {"ec2:CreateLaunchTemplateVersion",
                                          "ec2:DeleteLaunchTemplateVersions",
                                          "ec2:ModifyLaunchTemplate", NULL};
    static const char *const tag[] = {"ec2:CreateTags", NULL};
    static const char *const keys[] = {"shoal-lease-until", NULL};
    json_t *lease = allow(statements, needs, "Lease", texts(actions),
                          ec2_arn(needs, "launch-template", STR("*")));
    role_policy_need(lease, EQUALS, RESOURCE_UID, role_policy_text(needs->uid));
    json_t *renewal = allow(statements, needs, "LeaseEnd", texts(tag),
                            ec2_arn(needs, "launch-template", STR("*")));
    role_policy_need(renewal, EQUALS, RESOURCE_UID, role_policy_text(needs->uid));
    role_policy_need(renewal, "ForAllValues:StringEquals", "aws:TagKeys", texts(keys));
    if (needs->worker_role_count > 0) {
        /* IAM is not regional, so there is no region condition. */
        json_t *pass = role_policy_add(statements, "GiveWorkersTheirRole", "Allow",
                                       json_string("iam:PassRole"),
                                       views(needs->worker_roles, needs->worker_role_count));
        role_policy_need(pass, EQUALS, "iam:PassedToService",
                         json_string(aws_ec2_principal(needs->region)));
    }
}

/*
 * What the SSM agent needs for sessions, of AWS's policy AmazonSSMManagedInstanceCore. The rest of
 * that policy lets an instance read every parameter of the account, which may be a password.
 */
static void allow_sessions(json_t *statements, const struct role_needs *needs)
{
    static const char *const actions[] = {
        "ec2messages:AcknowledgeMessage", "ec2messages:DeleteMessage",
        "ec2messages:FailMessage",        "ec2messages:GetEndpoint",
        "ec2messages:GetMessages",        "ec2messages:SendReply",
        "ssm:UpdateInstanceInformation",  "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",  "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",    NULL};
    if (needs->has_sessions) {
        (void)allow(statements, needs, "SessionManager", texts(actions), json_string("*"));
    }
}

/* EC2 uses the rights of who launches or starts an instance whose volumes have such a key. */
static void allow_disks(json_t *statements, const struct role_needs *needs)
{
    json_t *keys = json_array();
    for (size_t i = 0; i < needs->disk_key_count; i++) {
        struct str key = needs->disk_keys[i];
        bool is_key = str_starts(key, "arn:") && str_find(key, ":key/") != SIZE_MAX;
        json_array_append_new(keys, is_key ? role_policy_text(key)
                                           : json_sprintf("arn:%.*s:kms:%.*s:*:key/*",
                                                          STR_ARG(needs->partition),
                                                          STR_ARG(needs->region)));
    }
    if (needs->disk_key_count == 0) {
        json_decref(keys);
        return;
    }
    json_t *use = allow(statements, needs, "EncryptDisks", texts(role_policy_key_actions), keys);
    role_policy_need(use, "StringLike", "kms:ViaService",
                     json_sprintf("ec2.%.*s.amazonaws.com*", STR_ARG(needs->region)));
    role_policy_need(use, "BoolIfExists", "kms:GrantIsForAWSResource", json_string("true"));
}

/* ---- always denied ---- */

static void deny(json_t *statements, const struct role_needs *needs)
{
    static const char *const opening[] = {
        "ec2:ModifyInstanceAttribute", "ec2:ModifyInstanceMetadataOptions", "ec2:DeleteTags", NULL};
    static const char *const identity[] = {TAG_CLUSTER_UID, "ray-node-type", TAG_HEAD, NULL};
    json_t *iam = role_policy_add(statements, "NeverIdentities", "Deny", json_string("iam:*"),
                                  json_string("*"));
    if (needs->worker_role_count > 0) {
        json_object_del(iam, "Resource");
        json_object_set_new(iam, "NotResource",
                            views(needs->worker_roles, needs->worker_role_count));
    }
    (void)role_policy_add(statements, "NeverOpenMachines", "Deny", texts(opening),
                          json_string("*"));
    json_t *relabel = role_policy_add(statements, "NeverRelabel", "Deny",
                                      json_string("ec2:CreateTags"), json_string("*"));
    role_policy_need(relabel, "ForAnyValue:StringEquals", "aws:TagKeys", texts(identity));
    role_policy_need(relabel, "StringNotEquals", "ec2:CreateAction", json_string("RunInstances"));
    /* Credentials obtained through IMDSv1, which a server-side request forgery could read. */
    json_t *old = role_policy_add(statements, "NeverByOldMetadata", "Deny", json_string("*"),
                                  json_string("*"));
    role_policy_need(old, "NumericLessThan", "ec2:RoleDelivery", json_string("2.0"));
}

/* ---- the policy ---- */

static struct str dump(json_t *root, struct arena *arena)
{
    char *bytes = json_dumps(root, JSON_COMPACT);
    struct str copy = arena_str(arena, str_from(bytes));
    free(bytes);
    json_decref(root);
    return copy;
}

bool role_policy_write(const struct role_needs *needs, struct arena *arena, struct str *ret_policy,
                       struct err *err)
{
    json_t *root = json_object();
    json_t *statements = json_array();
    json_object_set_new(root, "Version", json_string("2012-10-17"));
    json_object_set_new(root, "Statement", statements);
    allow_looking(statements, needs);
    allow_launching(statements, needs);
    allow_tagging(statements, needs);
    allow_ending(statements, needs);
    allow_leading(statements, needs);
    allow_sessions(statements, needs);
    allow_disks(statements, needs);
    deny(statements, needs);
    struct str policy = dump(root, arena);
    if (policy.len > ROLE_POLICY_BYTES_MAX) {
        return err_set(err, ERR_CONFIG,
                       "the policy of the head's role has %zu bytes, and AWS accepts %d: use "
                       "fewer node types, or set an IamInstanceProfile for the head",
                       policy.len, ROLE_POLICY_BYTES_MAX);
    }
    *ret_policy = policy;
    return true;
}

struct str role_trust_policy(struct str region, struct arena *arena)
{
    return arena_printf(
        arena,
        "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{"
        "\"Service\":\"%s\"},\"Action\":\"sts:AssumeRole\"}]}",
        aws_ec2_principal(region));
}
