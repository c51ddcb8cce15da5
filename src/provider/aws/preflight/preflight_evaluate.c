/* preflight_evaluate.c: evaluates the identity and failed calls, and orders the findings. */
#include "provider/aws/preflight/preflight_evaluate.h"

#include "base/buf.h"
#include "provider/aws/preflight/preflight_internal.h"

#include <stdarg.h>

/* ---- findings ---- */

struct finding *judge_add(struct judge *judge, enum finding_level level, const char *subject,
                          const char *fmt, ...)
{
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, (size_t)64 * 1024);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    struct finding *finding = &ARENA_PUSH(judge->arena, judge->items, judge->count,
                                          judge->capacity);
    *finding = (struct finding){.level = level,
                                .subject = str_from(subject),
                                .text = arena_str(judge->arena, buf_str(&text))};
    judge->has_errors = judge->has_errors || level == FINDING_ERROR;
    return finding;
}

struct str judge_path(const struct judge *judge, const struct requested_type *type, const char *key)
{
    if (type->has_template && !param_find(type->own, key)) {
        key = "LaunchTemplate"; /* the setting comes from the template, not from the file */
    }
    return arena_printf(judge->arena, "%.*s.%s", STR_ARG(type->path), key);
}

struct str judge_types(const struct judge *judge, const bool *counts)
{
    AUTO_BUF struct buf out;
    size_t count = 0;
    buf_init(&out, 4096);
    for (size_t i = 0; i < judge->request->type_count; i++) {
        if (counts[i]) {
            buf_addf(&out, "%s%.*s", count++ > 0 ? ", " : " (",
                     STR_ARG(judge->request->types[i].name));
        }
    }
    buf_add_char(&out, ')');
    return count == judge->request->type_count ? STR("") : arena_str(judge->arena, buf_str(&out));
}

void judge_row(struct judge *judge, struct judge_rows *rows, struct finding_row row)
{
    ARENA_PUSH(judge->arena, rows->items, rows->count, rows->capacity) = row;
}

void judge_set_rows(struct finding *finding, const struct judge_rows *rows)
{
    finding->rows = rows->items;
    finding->row_count = rows->count;
}

/* ---- identity ---- */

/* One row per line such as "  environment: AWS_ACCESS_KEY_ID is not set". */
static void preflight_evaluate_add_sources(struct judge *judge, struct judge_rows *rows)
{
    struct str rest = judge->answers->sources;
    while (rest.len > 0) {
        struct str why = str_trim(str_cut(&rest, '\n'));
        struct str name = str_cut(&why, ':');
        if (name.len > 0) {
            judge_row(judge, rows, (struct finding_row){.name = name, .why = str_trim(why)});
        }
    }
}

static struct str preflight_evaluate_source_of(const struct judge *judge)
{
    return judge->request->has_keys ? STR("the cluster file") : judge->answers->source;
}

/* How to renew the credentials, depending on their source. */
static struct str renewal(const struct judge *judge)
{
    struct str rest = judge->answers->source; /* "profile work: sso" */
    bool is_sso = str_find(rest, "sso") != SIZE_MAX;
    if (is_sso && str_starts(rest, "profile ")) {
        str_cut(&rest, ' ');
        struct str profile = str_cut(&rest, ':');
        return arena_printf(judge->arena, "log in again: aws sso login --profile %.*s",
                            STR_ARG(profile));
    }
    if (str_is(rest, "environment") && !judge->request->has_keys) {
        return STR("set new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN");
    }
    return STR("get new credentials from the source named above");
}

/* No credentials at all, or a configured source that does not work. */
static void refuse_sources(struct judge *judge, const struct preflight_answer *answer)
{
    struct judge_rows rows = {0};
    preflight_evaluate_add_sources(judge, &rows);
    struct finding *none = judge_add(judge, FINDING_ERROR, "credentials", "%.*s",
                                     STR_ARG(answer->message));
    none->remedy = STR("select a profile (--profile NAME, AWS_PROFILE, provider.aws_profile), or "
                       "create one: aws configure");
    judge_set_rows(none, &rows);
}

/* STS accepts the keys but EC2 does not: typical for a region that must be enabled first. */
static void refuse_region(struct judge *judge, const struct preflight_answer *answer)
{
    const struct preflight_answers *answers = judge->answers;
    struct finding *closed = judge_add(judge, FINDING_ERROR, "credentials",
                                       "region %.*s does not accept the credentials of %.*s (%.*s)",
                                       STR_ARG(answers->region), STR_ARG(answers->identity.arn),
                                       STR_ARG(answer->code));
    closed->path = STR("provider.region");
    closed->remedy = STR("check that the region is enabled for the account");
}

static void refuse_credentials(struct judge *judge, const struct preflight_answer *answer)
{
    struct str source = preflight_evaluate_source_of(judge);
    struct str from = source.len > 0 ? arena_printf(judge->arena, " from %.*s", STR_ARG(source))
                                     : STR("");
    if (str_is(answer->code, "NoCredentials")) {
        refuse_sources(judge, answer);
    } else if (str_find(answer->code, "Expired") != SIZE_MAX) {
        judge_add(judge, FINDING_ERROR, "credentials",
                  "the AWS credentials%.*s have expired (%.*s)", STR_ARG(from),
                  STR_ARG(answer->code))
            ->remedy = renewal(judge);
    } else if (judge_knows(judge, ASK_IDENTITY)) {
        refuse_region(judge, answer);
    } else {
        judge_add(judge, FINDING_ERROR, "credentials",
                  "AWS does not accept the credentials%.*s (%.*s)", STR_ARG(from),
                  STR_ARG(answer->code))
            ->remedy = STR("check that they are the right ones and still active");
    }
}

static void judge_identity(struct judge *judge)
{
    const struct preflight_answers *answers = judge->answers;
    struct str source = preflight_evaluate_source_of(judge);
    if (!judge_knows(judge, ASK_IDENTITY)) {
        return;
    }
    judge->facts.account = answers->identity.account;
    judge->facts.arn = answers->identity.arn;
    judge_add(judge, FINDING_FINE, "identity", "%.*s%s%.*s%s", STR_ARG(answers->identity.arn),
              source.len > 0 ? " (" : "", STR_ARG(source), source.len > 0 ? ")" : "");
}

/* ---- failed calls ---- */

static const struct {
    const char *action;
    const char *purpose;
    bool is_needed; /* a launch depends on it */
    bool is_quiet;  /* preflight_rights.c evaluates it */
} asks[ASK_COUNT] = {
    [ASK_IDENTITY] = {"sts:GetCallerIdentity", "to identify the caller", false},
    [ASK_SUBNETS] = {"ec2:DescribeSubnets", "to choose subnets", true},
    [ASK_GROUPS] = {"ec2:DescribeSecurityGroups", "to find the security groups", true},
    [ASK_IMAGES] = {"ec2:DescribeImages", "to find the image", true},
    [ASK_TYPES] = {"ec2:DescribeInstanceTypes", "to match instance type and image", true},
    [ASK_ZONES] = {"ec2:DescribeInstanceTypeOfferings",
                   "to find the zones that offer the instance type", false},
    [ASK_KEYS] = {"ec2:DescribeKeyPairs", "to find the key pair", true},
    [ASK_PROFILES] = {"iam:GetInstanceProfile", "to find the instance profile", false},
    [ASK_TEMPLATES] = {"ec2:DescribeLaunchTemplateVersions", "to read the launch template", true},
    [ASK_REGION] = {"ec2:DescribeInstanceTypeOfferings", "to list the instances", false},
    [ASK_PARAMETERS] = {"ssm:GetParameter", "to find the newest image", true},
    [ASK_NEW_IMAGES] = {"ec2:DescribeImages", "to read the newest image", true},
    [ASK_QUOTAS] = {"servicequotas:GetServiceQuota",
                    "to compare the cluster with the account's quotas", false},
    [ASK_SPOT_ROLE] = {"iam:GetRole", "to check for the spot service-linked role", false},
    [ASK_DRY_RUNS] = {"ec2:RunInstances", "to launch", false},
    [ASK_NAMED] = {"ec2:DescribeInstances", "to check whether another launcher uses this name",
                   true},
    [ASK_HEAD_ROLE] = {"iam:GetRole", "to create the role of the head", false, true},
    [ASK_CALLER_ROLE] = {"iam:GetRole", "to find the caller's role", false, true},
    [ASK_RIGHTS] = {"iam:SimulatePrincipalPolicy", "to check the caller's rights", false, true},
    [ASK_ENCRYPTION] = {"ec2:GetEbsEncryptionByDefault", "to check the encryption of volumes",
                        false},
    [ASK_DISK_KEY] = {"ec2:GetEbsDefaultKmsKeyId", "to find the key of encrypted volumes", false},
    [ASK_FREE_TYPES] = {"ec2:DescribeInstanceTypes", "to list the types of the free plan", false},
};

const char *preflight_action(enum preflight_ask ask)
{
    return asks[ask].action;
}

/* Error texts start with the call, which the row already names. */
static struct str preflight_evaluate_reason_of(const struct preflight_answer *answer,
                                               struct arena *arena)
{
    return arena_str(arena, str_from(answer->err.text));
}

static void judge_failures(struct judge *judge, bool is_denied)
{
    struct judge_rows rows = {0};
    bool is_needed = false;
    for (size_t i = 0; i < ASK_COUNT; i++) {
        const struct preflight_answer *answer = &judge->answers->answers[i];
        if (answer->was_asked && !answer->is_ok && answer->is_denied == is_denied &&
            !asks[i].is_quiet) {
            is_needed = is_needed || asks[i].is_needed;
            judge_row(judge, &rows,
                      (struct finding_row){
                          .name = str_from(asks[i].action),
                          .why = is_denied ? str_from(asks[i].purpose)
                                           : preflight_evaluate_reason_of(answer, judge->arena)});
        }
    }
    if (rows.count == 0) {
        return;
    }
    struct str arn = judge->facts.arn;
    enum finding_level level = is_needed ? FINDING_ERROR : FINDING_WARNING;
    struct finding *finding = is_denied
                                  ? judge_add(judge, level, "permissions",
                                              "%.*s lacks permissions that a launch needs",
                                              STR_ARG(arn.len > 0 ? arn : STR("this identity")))
                                  : judge_add(judge, level, "aws", "%zu API call%s failed",
                                              rows.count, rows.count == 1 ? "" : "s");
    finding->remedy = is_denied ? STR("allow these actions in the IAM policy of this identity")
                                : STR("");
    judge_set_rows(finding, &rows);
}

/* ---- all findings ---- */

/* The first answer that says that the credentials are missing or invalid, or NULL. Every call fails
 * then, so one finding replaces the others. */
static const struct preflight_answer *refused_identity(const struct preflight_answers *answers)
{
    for (size_t i = 0; i < ASK_COUNT; i++) {
        if (answers->answers[i].is_unknown) {
            return &answers->answers[i];
        }
    }
    return NULL;
}

static void judge_template(struct judge *judge, const struct requested_type *type)
{
    struct finding *finding = NULL;
    if (type->is_blind && judge_knows(judge, ASK_TEMPLATES)) {
        finding = judge_add(judge, FINDING_ERROR, "launch template",
                            "launch template %.*s, or the requested version of it, does not exist "
                            "in %.*s",
                            STR_ARG(type->template), STR_ARG(judge->answers->region));
    } else if (type->has_template_interfaces) {
        finding = judge_add(judge, FINDING_ERROR, "launch template",
                            "network interfaces of a launch template (%.*s) are not supported yet",
                            STR_ARG(type->template));
        finding->remedy = STR("put them into the node_config");
    }
    if (finding) {
        finding->path = judge_path(judge, type, "LaunchTemplate");
    }
}

static void judge_templates(struct judge *judge)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        if (judge->request->types[i].has_template) {
            judge_template(judge, &judge->request->types[i]);
        }
    }
}

void preflight_evaluate(const struct preflight_request *request,
                        const struct preflight_answers *answers, struct arena *arena,
                        struct preflight_result *ret_result)
{
    struct judge judge = {.request = request, .answers = answers, .arena = arena};
    const struct preflight_answer *refused = refused_identity(answers);
    judge.facts = (struct aws_facts){
        .region = answers->region,
        .uses_private = request->uses_private,
        .types = ARENA_ARRAY(arena, request->type_count, struct aws_type_facts),
    };
    if (refused) {
        refuse_credentials(&judge, refused);
    } else {
        judge_identity(&judge);
        judge_machines(&judge);
        judge_images(&judge);
        judge_groups(&judge);
        judge_subnets(&judge);
        judge_disks(&judge);
        judge_keys(&judge);
        judge_profiles(&judge);
        judge_disk_keys(&judge);
        judge_rights(&judge);
        judge_quotas(&judge);
        judge_spot_role(&judge);
        judge_dry_runs(&judge);
        judge_foreign(&judge);
        judge_templates(&judge);
        judge_failures(&judge, true);
        judge_failures(&judge, false);
    }
    *ret_result = (struct preflight_result){judge.items, judge.count, judge.has_errors,
                                            judge.facts};
}
