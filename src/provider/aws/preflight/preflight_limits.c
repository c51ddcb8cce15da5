/* preflight_limits.c: checks account limits: quotas, the spot service role, and launches denied in
 * a dry run. */
#include "provider/aws/preflight/preflight_internal.h"
#include "provider/aws/preflight/quota.h"

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
    for (size_t i = 0; judge->answers->lacks_spot_role && i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        if (!type->is_spot) {
            continue;
        }
        struct finding *finding = judge_add(
            judge, FINDING_WARNING, "spot",
            "the account has never used spot instances: the role " SPOT_ROLE
            " is missing, and the head is not allowed to create it, so spot workers cannot be "
            "launched");
        finding->path = judge_path(judge, type, "InstanceMarketOptions");
        finding->remedy = STR("create it once: aws iam create-service-linked-role "
                              "--aws-service-name spot.amazonaws.com");
        return;
    }
}

/* ---- dry runs ---- */

/* Without the encoded part, which only an administrator can decode. */
static struct str said_by_aws(struct str message)
{
    size_t end = str_find(message, " Encoded authorization failure message");
    return str_sub(message, 0, end < message.len ? end : message.len);
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
        finding->remedy = STR("ask your administrator for the policy that `shoal policy` prints "
                              "for this file");
    } else {
        finding = judge_add(judge, FINDING_WARNING, "launch",
                            "a dry-run launch of node type %.*s (%.*s) was refused: %.*s (%.*s)",
                            STR_ARG(type->name), STR_ARG(type->machine), STR_ARG(words),
                            STR_ARG(run->code));
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
                ->remedy = STR("ask your administrator for the policy that `shoal policy` prints "
                               "for this file");
        }
    }
}

void judge_dry_runs(struct judge *judge)
{
    judge_makings(judge);
    for (size_t i = 0; judge->answers->dry_runs && i < judge->request->type_count; i++) {
        const struct preflight_dry_run *run = &judge->answers->dry_runs[i];
        if (run->code.len > 0 && !str_is(run->code, "DryRunOperation")) {
            judge_dry_run(judge, &judge->request->types[i], run);
        }
    }
}
