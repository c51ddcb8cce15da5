/* preflight_limits.c: checks what the account allows: quotas, roles and keys, and launches
 * denied in a dry run. */
#include "provider/aws/preflight/preflight_internal.h"
#include "provider/aws/preflight/quota.h"

#include "base/buf.h"
#include "provider/aws/preflight/instance_type.h"

/* ---- quotas ---- */

void preflight_plan_quotas(const struct preflight_request *request,
                           struct preflight_answers *answers, struct arena *arena)
{
    answers->quotas = ARENA_ARRAY(arena, request->type_count, struct preflight_quota);
    answers->quota_count = 0;
    for (size_t i = 0; i < request->type_count; i++) {
        const struct quota *quota = quota_of(request->types[i].machine, request->types[i].is_spot);
        bool is_known = !quota;
        for (size_t k = 0; k < answers->quota_count; k++) {
            is_known = is_known || answers->quotas[k].quota == quota;
        }
        if (!is_known) {
            answers->quotas[answers->quota_count++].quota = quota;
        }
    }
}

static void judge_quota(struct judge *judge, const struct preflight_quota *asked)
{
    const struct requested_type *first = NULL;
    int64_t least = 0;
    int64_t most = 0;
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        const struct ec2_type *machine = instance_type_find(&judge->answers->types, type->machine);
        if (machine && quota_of(type->machine, type->is_spot) == asked->quota) {
            least += machine->vcpus * type->least;
            most += machine->vcpus * type->most;
            first = first ? first : type;
        }
    }
    if (!first || !asked->is_known) {
        return;
    }
    long long limit = (long long)asked->limit;
    if (least > asked->limit) {
        struct finding *finding = judge_add(
            judge, FINDING_ERROR, "quota",
            "the account's quota is %lld vCPUs of %s in %.*s; head and min_workers need %lld",
            limit, asked->quota->words, STR_ARG(judge->answers->region), (long long)least);
        finding->path = judge_path(judge, first, "InstanceType");
        finding->remedy = arena_printf(judge->arena,
                                       "request an increase: aws service-quotas "
                                       "request-service-quota-increase --service-code ec2 "
                                       "--quota-code %s --desired-value %lld --region %.*s",
                                       asked->quota->code, (long long)most,
                                       STR_ARG(judge->answers->region));
    } else {
        judge_add(judge, FINDING_FINE, "quota", "%lld vCPUs of %s%s", limit, asked->quota->words,
                  most > asked->limit ? ", less than max_workers would need" : "");
    }
}

void judge_quotas(struct judge *judge)
{
    for (size_t i = 0; i < judge->answers->quota_count; i++) {
        judge_quota(judge, &judge->answers->quotas[i]);
    }
}

/* ---- the spot service role ---- */

void judge_spot_role(struct judge *judge)
{
    const struct preflight_answer *answer = &judge->answers->answers[ASK_SPOT_ROLE];
    if (answer->was_asked && !answer->is_ok) {
        judge->facts.spot_role = SPOT_ROLE_UNKNOWN;
    }
    for (size_t i = 0; judge->answers->lacks_spot_role && i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        if (!type->is_spot) {
            continue;
        }
        const struct preflight_rights *rights = &judge->answers->rights[RIGHT_SPOT];
        bool is_known = rights->is_known || preflight_rights_are_all(judge->facts.arn);
        judge->facts.spot_role = SPOT_ROLE_MISSING;
        struct finding *finding = judge_add(
            judge,
            rights->denied.len > 0 ? FINDING_ERROR
            : is_known             ? FINDING_FINE
                                   : FINDING_WARNING,
            "spot",
            "the account has never used spot instances: its role " SPOT_ROLE " is missing%s",
            rights->denied.len > 0 ? ", and this identity is not allowed to create it"
                                   : "; shoal up creates it");
        if (is_known && rights->denied.len == 0) {
            return;
        }
        finding->unchecked = rights->denied.len > 0 ? STR("")
                                                    : STR("the permission to create " SPOT_ROLE);
        finding->path = judge_path(judge, type, "InstanceMarketOptions");
        finding->remedy = STR("create it once: aws iam create-service-linked-role "
                              "--aws-service-name spot.amazonaws.com");
        return;
    }
}

/* ---- rights that no dry run shows ---- */

#define ASK_ADMINISTRATOR \
    "ask your administrator for the policy that `shoal policy` prints for this file"

static const struct requested_type *type_of_made_role(const struct judge *judge)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        if (judge->facts.types[i].makes_profile) {
            return &judge->request->types[i];
        }
    }
    return NULL;
}

/* Creating the role would fail, or it is not known whether it would: the file can name an existing
 * profile instead. */
static void judge_made_role(struct judge *judge, const struct requested_type *type)
{
    const struct preflight_answers *answers = judge->answers;
    const struct preflight_answer *read = &answers->answers[ASK_HEAD_ROLE];
    const struct preflight_rights *role = &answers->rights[RIGHT_ROLE];
    const struct preflight_rights *profile = &answers->rights[RIGHT_PROFILE];
    bool is_denied = read->was_asked && read->is_denied;
    struct str arn = judge->facts.arn.len > 0 ? judge->facts.arn : STR("this identity");
    struct finding *finding;
    if (!read->was_asked || preflight_rights_are_all(judge->facts.arn)) {
        return;
    }
    if (is_denied || role->denied.len > 0 || profile->denied.len > 0) {
        struct str comma = role->denied.len > 0 && profile->denied.len > 0 ? STR(", ") : STR("");
        finding = judge_add(judge, FINDING_ERROR, "role",
                            "%.*s is not allowed to create the role of the head: needs "
                            "%s%.*s%.*s%.*s",
                            STR_ARG(arn), is_denied ? "iam:GetRole and others" : "",
                            STR_ARG(is_denied ? STR("") : role->denied),
                            STR_ARG(is_denied ? STR("") : comma),
                            STR_ARG(is_denied ? STR("") : profile->denied));
    } else if (!role->is_known || !profile->is_known) {
        finding = judge_add(judge, FINDING_WARNING, "role",
                            "it is not known whether %.*s may create the role of the head, because "
                            "it may not ask for its own rights (iam:SimulatePrincipalPolicy)",
                            STR_ARG(arn));
        finding->unchecked = STR("the permission to create the head's IAM role");
    } else {
        return;
    }
    finding->path = judge_path(judge, type, "IamInstanceProfile");
    finding->remedy = STR("set an IamInstanceProfile for the head in its node_config, "
                          "or " ASK_ADMINISTRATOR);
}

/* The key's own policy may allow what IAM does not, so a denial is not certain. */
static void judge_disk_key(struct judge *judge)
{
    const struct preflight_rights *rights = &judge->answers->rights[RIGHT_KEY];
    if (judge->facts.disk_key_count == 0) {
        return;
    }
    struct str key = judge->facts.disk_keys[0];
    judge_add(judge, FINDING_FINE, "disks", "encrypted with KMS key %.*s", STR_ARG(key));
    if (!judge_knows(judge, ASK_IDENTITY) || preflight_rights_are_all(judge->facts.arn) ||
        (rights->is_known && rights->denied.len == 0)) {
        return;
    }
    struct finding *finding = judge_add(
        judge, FINDING_WARNING, "disks",
        "it is not known whether %.*s may use KMS key %.*s; EC2 ends the instances of a caller who "
        "may not",
        STR_ARG(judge->facts.arn), STR_ARG(key));
    finding->unchecked = STR("the permission to use the KMS key");
    finding->remedy = STR(ASK_ADMINISTRATOR ", or allow it in the policy of the key");
}

void judge_rights(struct judge *judge)
{
    const struct requested_type *type = type_of_made_role(judge);
    if (type) {
        judge_made_role(judge, type);
    }
    judge_disk_key(judge);
}

/* ---- dry runs ---- */

bool preflight_is_free_plan(const struct preflight_dry_run *run)
{
    return str_find(run->message, "Free Tier") != SIZE_MAX;
}

/* Without the encoded part, which only an administrator can decode. */
static struct str said_by_aws(struct str message)
{
    size_t end = str_find(message, " Encoded authorization failure message");
    return str_sub(message, 0, end < message.len ? end : message.len);
}

/* ": m7i-flex.large, t3.micro" */
static struct str free_types(const struct judge *judge)
{
    const struct ec2_types *types = &judge->answers->free_types;
    AUTO_BUF struct buf out;
    buf_init(&out, 1024);
    for (size_t i = 0; i < types->count; i++) {
        buf_addf(&out, "%s%.*s",
                 i > 0 ? ", "
                       : "use an InstanceType that the account's plan "
                         "allows: ",
                 STR_ARG(types->items[i].name));
    }
    return arena_str(judge->arena, buf_str(&out));
}

static void judge_dry_run(struct judge *judge, const struct requested_type *type,
                          const struct preflight_dry_run *run)
{
    struct finding *finding;
    struct str words = said_by_aws(run->message);
    if (run->is_denied) {
        finding = judge_add(judge, FINDING_ERROR, "permissions",
                            "launching node type %.*s (%.*s%s) is not allowed: %.*s",
                            STR_ARG(type->name), STR_ARG(type->machine),
                            type->is_spot ? ", spot" : "", STR_ARG(words));
        finding->remedy = STR(ASK_ADMINISTRATOR);
    } else {
        finding = judge_add(judge, run->is_vague ? FINDING_WARNING : FINDING_ERROR, "launch",
                            "a dry-run launch of node type %.*s (%.*s) was refused: %.*s (%.*s)",
                            STR_ARG(type->name), STR_ARG(type->machine), STR_ARG(words),
                            STR_ARG(run->code.len > 0 ? run->code : STR("no reply")));
        finding->remedy = preflight_is_free_plan(run) ? free_types(judge) : STR("");
        finding->unchecked = run->is_vague && !run->is_full
                                 ? arena_printf(judge->arena, "the launch of node type %.*s",
                                                STR_ARG(type->name))
                                 : STR("");
    }
    finding->path = judge_path(judge, type, "InstanceType");
}

static const struct {
    const char *action, *what;
} makings[MAKING_COUNT] = {
    [MAKING_LEASE] = {"CreateLaunchTemplate", "the launch template that holds the cluster's lease"},
    [MAKING_GROUP] = {"CreateSecurityGroup", "the cluster's security group"},
    [MAKING_KEY] = {"ImportKeyPair", "the cluster's key pair"},
};

const char *preflight_making_action(enum preflight_making making)
{
    return makings[making].action;
}

/* Denials only: these dry runs have fewer parameters than the calls of `up` and may fail for other
 * reasons. */
static void judge_makings(struct judge *judge)
{
    for (size_t i = 0; i < MAKING_COUNT; i++) {
        const struct preflight_dry_run *run = &judge->answers->makings[i];
        if (run->is_denied) {
            judge_add(judge, FINDING_ERROR, "permissions", "creating %s is not allowed: %.*s",
                      makings[i].what, STR_ARG(said_by_aws(run->message)))
                ->remedy = STR(ASK_ADMINISTRATOR);
        }
    }
}

void judge_dry_runs(struct judge *judge)
{
    judge_makings(judge);
    for (size_t i = 0; judge->answers->dry_runs && i < judge->request->type_count; i++) {
        const struct preflight_dry_run *run = &judge->answers->dry_runs[i];
        if ((run->code.len > 0 || run->is_vague) && !str_is(run->code, "DryRunOperation")) {
            judge_dry_run(judge, &judge->request->types[i], run);
        }
    }
}
