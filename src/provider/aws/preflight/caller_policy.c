/* caller_policy.c: the table of actions, and one statement for each kind of resource. */
#include "provider/aws/preflight/caller_policy.h"

#include "provider/aws/client/endpoint.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/role_policy.h"
#include "provider/aws/preflight/preflight_evaluate.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The resources of a statement; one statement each, in this order. */
enum scope {
    SCOPE_LOOK,     /* reads: EC2 does not restrict them to resources */
    SCOPE_ACCOUNT,  /* read calls about the account, outside the region */
    SCOPE_NEWEST,   /* public parameters with image ids */
    SCOPE_MAKE,     /* resources that a launch creates, tagged with the cluster's name */
    SCOPE_FROM,     /* resources that a launch uses */
    SCOPE_AROUND,   /* key pair, security group and lease object, also tagged */
    SCOPE_TAG_NEW,  /* tags set by the calls above */
    SCOPE_OWN,      /* everything tagged with the cluster's name */
    SCOPE_ROLE,     /* the head's role and instance profile */
    SCOPE_ROLES,    /* calls of `ls`: leftovers of other clusters */
    SCOPE_NEW_SPOT, /* the creation of the account's role for spot instances */
    SCOPE_ATTACH,   /* head_policies */
    SCOPE_KEYS,     /* KMS keys of volumes */
    SCOPE_PROFILES, /* instance profiles named in the file */
    SCOPE_COUNT
};

static const struct {
    const char *action;
    enum scope scope;
} table[] = {
    {"ec2:DescribeInstances", SCOPE_LOOK},
    {"ec2:DescribeKeyPairs", SCOPE_LOOK},
    {"ec2:DescribeLaunchTemplateVersions", SCOPE_LOOK},
    {"ec2:DescribeLaunchTemplates", SCOPE_LOOK},
    {"ec2:DescribeNetworkInterfaces", SCOPE_LOOK},
    {"ec2:DescribeSecurityGroups", SCOPE_LOOK},
    {"ec2:DescribeSpotPriceHistory", SCOPE_LOOK},
    {"ec2:DescribeTags", SCOPE_LOOK},
    {"ec2:DescribeVolumes", SCOPE_LOOK},
    {"ec2:DescribeVpcs", SCOPE_LOOK},
    {"servicequotas:GetServiceQuota", SCOPE_LOOK},
    {"ec2:DescribeRegions", SCOPE_ACCOUNT},
    {"pricing:GetProducts", SCOPE_ACCOUNT},
    {"iam:GetRole", SCOPE_ACCOUNT}, /* also of the caller's own role and of that for spot */
    {"iam:SimulatePrincipalPolicy", SCOPE_ACCOUNT},
    {"sts:GetCallerIdentity", SCOPE_ACCOUNT},
    {"ssm:GetParameter", SCOPE_NEWEST},
    {"ec2:RunInstances", SCOPE_MAKE},
    {"ec2:RunInstances", SCOPE_FROM},
    {"ec2:CreateLaunchTemplate", SCOPE_AROUND},
    {"ec2:CreateSecurityGroup", SCOPE_AROUND},
    {"ec2:ImportKeyPair", SCOPE_AROUND},
    {"ec2:CreateTags", SCOPE_TAG_NEW},
    {"ec2:AuthorizeSecurityGroupIngress", SCOPE_OWN},
    {"ec2:CreateLaunchTemplateVersion", SCOPE_OWN},
    {"ec2:CreateTags", SCOPE_OWN},
    {"ec2:DeleteKeyPair", SCOPE_OWN},
    {"ec2:DeleteLaunchTemplate", SCOPE_OWN},
    {"ec2:DeleteLaunchTemplateVersions", SCOPE_OWN},
    {"ec2:DeleteSecurityGroup", SCOPE_OWN},
    {"ec2:ModifyLaunchTemplate", SCOPE_OWN},
    {"ec2:RevokeSecurityGroupIngress", SCOPE_OWN},
    {"ec2:StartInstances", SCOPE_OWN},
    {"ec2:StopInstances", SCOPE_OWN},
    {"ec2:TerminateInstances", SCOPE_OWN},
    {"iam:AddRoleToInstanceProfile", SCOPE_ROLE},
    {"iam:CreateInstanceProfile", SCOPE_ROLE},
    {"iam:CreateRole", SCOPE_ROLE},
    {"iam:DeleteInstanceProfile", SCOPE_ROLE},
    {"iam:DeleteRole", SCOPE_ROLE},
    {"iam:DeleteRolePolicy", SCOPE_ROLE},
    {"iam:DetachRolePolicy", SCOPE_ROLE},
    {"iam:GetInstanceProfile", SCOPE_ROLE},
    {"iam:ListAttachedRolePolicies", SCOPE_ROLE},
    {"iam:ListRolePolicies", SCOPE_ROLE},
    {"iam:PassRole", SCOPE_ROLE},
    {"iam:PutRolePolicy", SCOPE_ROLE},
    {"iam:RemoveRoleFromInstanceProfile", SCOPE_ROLE},
    {"iam:TagInstanceProfile", SCOPE_ROLE},
    {"iam:TagRole", SCOPE_ROLE},
    {"iam:ListInstanceProfileTags", SCOPE_ROLES},
    {"iam:ListInstanceProfiles", SCOPE_ROLES},
    {"iam:ListRoleTags", SCOPE_ROLES},
    {"iam:ListRoles", SCOPE_ROLES},
    {"iam:CreateServiceLinkedRole", SCOPE_NEW_SPOT},
    {"iam:AttachRolePolicy", SCOPE_ATTACH},
    {"iam:GetInstanceProfile", SCOPE_PROFILES},
    {"iam:PassRole", SCOPE_PROFILES},
};

static const char *const names[SCOPE_COUNT] = {
    [SCOPE_LOOK] = "Look",
    [SCOPE_ACCOUNT] = "LookAtAccount",
    [SCOPE_NEWEST] = "FindNewestImage",
    [SCOPE_MAKE] = "Launch",
    [SCOPE_FROM] = "LaunchFrom",
    [SCOPE_AROUND] = "MakeKeyGroupAndLease",
    [SCOPE_TAG_NEW] = "TagWhatIsMade",
    [SCOPE_OWN] = "ChangeOwn",
    [SCOPE_ROLE] = "HeadRole",
    [SCOPE_ROLES] = "ListRoles",
    [SCOPE_NEW_SPOT] = "MakeSpotRole",
    [SCOPE_ATTACH] = "AttachHeadPolicies",
    [SCOPE_KEYS] = "EncryptDisks",
    [SCOPE_PROFILES] = "NamedProfiles",
};

struct caller_policy_writer {
    struct preflight_request request;
    struct str cluster, region;
    const char *partition;
    const struct param *head_policies; /* NULL: none */
    struct str role_pattern;           /* "shoal-NAME-*" */
    json_t *statements;
    struct arena *arena;
};

/* ---- statements that a file needs ---- */

static bool is_needed(const struct caller_policy_writer *writer, enum scope scope)
{
    bool has_spot = false;
    bool makes_role = false;
    for (size_t i = 0; i < writer->request.type_count; i++) {
        const struct requested_type *type = &writer->request.types[i];
        has_spot = has_spot || type->is_spot;
        makes_role = makes_role || (type->is_head && type->profile.len == 0);
    }
    switch (scope) {
    case SCOPE_ROLE:
        return makes_role;
    case SCOPE_NEW_SPOT:
        return has_spot;
    case SCOPE_ATTACH:
        return makes_role && writer->head_policies;
    case SCOPE_PROFILES:
        return writer->request.profiles.count > 0;
    case SCOPE_LOOK:
    case SCOPE_ACCOUNT:
    case SCOPE_NEWEST:
    case SCOPE_MAKE:
    case SCOPE_FROM:
    case SCOPE_AROUND:
    case SCOPE_TAG_NEW:
    case SCOPE_OWN:
    case SCOPE_ROLES:
    case SCOPE_KEYS:
    case SCOPE_COUNT:
        break;
    }
    return true;
}

/* ---- actions ---- */

static void add_once(json_t *list, const char *action)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), action) == 0) {
            return;
        }
    }
    json_array_append_new(list, json_string(action));
}

/* The EC2 calls of a preflight have their own table. */
static json_t *actions_of(enum scope scope)
{
    json_t *list = json_array();
    for (size_t i = 0; scope == SCOPE_LOOK && i < ASK_COUNT; i++) {
        const char *action = preflight_action((enum preflight_ask)i);
        if (strncmp(action, "ec2:Describe", strlen("ec2:Describe")) == 0 ||
            strncmp(action, "ec2:Get", strlen("ec2:Get")) == 0) {
            add_once(list, action);
        }
    }
    for (size_t i = 0; scope == SCOPE_KEYS && role_policy_key_actions[i]; i++) {
        add_once(list, role_policy_key_actions[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].scope == scope) {
            add_once(list, table[i].action);
        }
    }
    return list;
}

/* ---- resources ---- */

static void add_ec2(const struct caller_policy_writer *writer, json_t *list, const char *kind)
{
    json_array_append_new(list, json_sprintf("arn:%s:ec2:%.*s:*:%s/*", writer->partition,
                                             STR_ARG(writer->region), kind));
}

static json_t *kinds(const struct caller_policy_writer *writer, const char *const *all)
{
    json_t *list = json_array();
    for (; *all; all++) {
        add_ec2(writer, list, *all);
    }
    return list;
}

/* What a launch may name. */
static json_t *launch_arns(const struct caller_policy_writer *writer)
{
    static const char *const from[] = {
        "image",           "subnet",   "security-group",       "key-pair",
        "launch-template", "snapshot", "capacity-reservation", "dedicated-host",
        "placement-group", NULL};
    json_t *list = kinds(writer, from);
    json_array_append_new(list,
                          json_sprintf("arn:%s:license-manager:%.*s:*:license-configuration:*",
                                       writer->partition, STR_ARG(writer->region)));
    return list;
}

static json_t *role_arns(const struct caller_policy_writer *writer)
{
    /* IAM checks a role that does not exist yet without its path. */
    static const char *const places[] = {"role" ROLE_PATH, "instance-profile" ROLE_PATH, "role/",
                                         "instance-profile/"};
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        json_array_append_new(list, json_sprintf("arn:%s:iam::*:%s%.*s", writer->partition,
                                                 places[i], STR_ARG(writer->role_pattern)));
    }
    return list;
}

static json_t *caller_policy_resources_of(const struct caller_policy_writer *writer,
                                          enum scope scope)
{
    static const char *const made[] = {"instance", "volume", "network-interface",
                                       "spot-instances-request", NULL};
    static const char *const around[] = {"launch-template", "security-group", "key-pair", "vpc",
                                         NULL};
    switch (scope) {
    case SCOPE_MAKE:
        return kinds(writer, made);
    case SCOPE_FROM:
        return launch_arns(writer);
    case SCOPE_AROUND:
        return kinds(writer, around);
    case SCOPE_ROLE:
    case SCOPE_ATTACH:
        return role_arns(writer);
    case SCOPE_NEWEST:
        return json_sprintf("arn:%s:ssm:%.*s::parameter/aws/service/*", writer->partition,
                            STR_ARG(writer->region));
    case SCOPE_NEW_SPOT:
        return json_sprintf("arn:%s:iam::*:role/aws-service-role/spot.amazonaws.com/" SPOT_ROLE,
                            writer->partition);
    case SCOPE_LOOK:
    case SCOPE_ACCOUNT:
    case SCOPE_TAG_NEW:
    case SCOPE_OWN:
    case SCOPE_ROLES:
    case SCOPE_PROFILES:
    case SCOPE_KEYS:
    case SCOPE_COUNT:
        break;
    }
    return json_string("*");
}

/* ---- conditions ---- */

static json_t *texts_of(const struct param *list)
{
    json_t *texts = json_array();
    for (const struct param *item = list->first; item; item = item->next) {
        json_array_append_new(texts, json_stringn(item->text.ptr, item->text.len));
    }
    return texts;
}

static json_t *condition_of(const struct caller_policy_writer *writer, enum scope scope)
{
    json_t *name = json_stringn(writer->cluster.ptr, writer->cluster.len);
    json_t *condition = NULL;
    if (scope == SCOPE_LOOK) {
        condition = json_pack("{s:{s:s#}}", "StringEquals", "aws:RequestedRegion",
                              writer->region.ptr, writer->region.len);
    } else if (scope == SCOPE_MAKE) {
        condition = json_pack("{s:{s:O}}", "StringEquals", "aws:RequestTag/ray-cluster-name", name);
    } else if (scope == SCOPE_AROUND) {
        /* A VPC does not have our tag; it is only used. */
        condition = json_pack("{s:{s:O}}", "StringEqualsIfExists",
                              "aws:RequestTag/ray-cluster-name", name);
    } else if (scope == SCOPE_OWN) {
        condition = json_pack("{s:{s:O}}", "StringEquals", "aws:ResourceTag/ray-cluster-name",
                              name);
    } else if (scope == SCOPE_TAG_NEW) {
        condition = json_pack("{s:{s:[s,s,s,s]}}", "StringEquals", "ec2:CreateAction",
                              "CreateLaunchTemplate", "CreateSecurityGroup", "ImportKeyPair",
                              "RunInstances");
    } else if (scope == SCOPE_PROFILES) {
        condition = json_pack("{s:{s:s}}", "StringEqualsIfExists", "iam:PassedToService",
                              aws_ec2_principal(writer->region));
    } else if (scope == SCOPE_NEW_SPOT) {
        condition = json_pack("{s:{s:s}}", "StringEquals", "iam:AWSServiceName",
                              "spot.amazonaws.com");
    } else if (scope == SCOPE_ATTACH) {
        condition = json_pack("{s:{s:o}}", "ArnEquals", "iam:PolicyARN",
                              texts_of(writer->head_policies));
    } else if (scope == SCOPE_KEYS) {
        condition = json_pack("{s:{s:o},s:{s:s}}", "StringLike", "kms:ViaService",
                              json_sprintf("ec2.%.*s.amazonaws.com*", STR_ARG(writer->region)),
                              "BoolIfExists", "kms:GrantIsForAWSResource", "true");
    }
    json_decref(name);
    return condition;
}

/* ---- the policy ---- */

static void add_statement(struct caller_policy_writer *writer, enum scope scope)
{
    json_t *statement = json_object();
    json_t *condition = condition_of(writer, scope);
    json_object_set_new(statement, "Sid", json_string(names[scope]));
    json_object_set_new(statement, "Effect", json_string("Allow"));
    json_object_set_new(statement, "Action", actions_of(scope));
    json_object_set_new(statement, "Resource", caller_policy_resources_of(writer, scope));
    if (condition) {
        json_object_set_new(statement, "Condition", condition);
    }
    json_array_append_new(writer->statements, statement);
}

/* The prefix of aws_own_name(), with a wildcard. */
static struct str role_pattern(struct str cluster, struct arena *arena)
{
    struct str name = aws_own_name(cluster, STR("*"), "", arena);
    return str_ends(name, "-*") ? name : arena_printf(arena, "%.*s*", STR_ARG(name));
}

bool caller_policy_write(const struct provider_cluster *cluster, struct arena *arena,
                         struct str *ret_policy, struct err *err)
{
    struct caller_policy_writer writer = {
        .cluster = cluster->name, .statements = json_array(), .arena = arena};
    preflight_request_read(cluster, NULL, arena, &writer.request);
    writer.region = writer.request.region;
    writer.partition = aws_partition(writer.region);
    writer.head_policies = param_get(cluster->provider, PARAM_LIST, "head_policies");
    writer.role_pattern = role_pattern(cluster->name, arena);
    for (size_t i = 0; i < SCOPE_COUNT; i++) {
        if (is_needed(&writer, (enum scope)i)) {
            add_statement(&writer, (enum scope)i);
        }
    }
    json_t *root = json_pack("{s:s,s:o}", "Version", "2012-10-17", "Statement", writer.statements);
    char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    if (!text) {
        return err_set(err, ERR_CONFIG, "cluster_name is not valid UTF-8");
    }
    *ret_policy = arena_str(arena, str_from(text));
    free(text);
    return true;
}
