/* preflight_network.c: checks the security groups in the file and the subnets to launch into. */
#include "provider/aws/preflight/preflight_internal.h"
#include "provider/aws/preflight/subnet.h"

#include "base/buf.h"

enum { SUBNETS_SHOWN = 4 };

/* ---- groups ---- */

static const struct ec2_group *find_group(const struct judge *judge, struct str id)
{
    const struct ec2_groups *groups = &judge->answers->groups;
    for (size_t i = 0; i < groups->count; i++) {
        if (str_eq(groups->items[i].id, id)) {
            return &groups->items[i];
        }
    }
    return NULL;
}

/* The node type that names the group; any type if it is set for all. */
static const struct requested_type *type_with_group(const struct judge *judge, struct str id)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        for (size_t j = 0; j < type->groups.count; j++) {
            if (id.len == 0 || str_eq(type->groups.items[j], id)) {
                return type;
            }
        }
    }
    return NULL;
}

static struct str group_path(const struct judge *judge, struct str id)
{
    const struct requested_type *type = type_with_group(judge, id);
    return type ? judge_path(judge, type, type->groups_key) : STR("");
}

/* The VPC of the security groups in the file; empty: none or unknown. */
static struct str judge_groups_vpc(const struct judge *judge)
{
    for (size_t i = 0; i < judge->request->groups.count; i++) {
        const struct ec2_group *group = find_group(judge, judge->request->groups.items[i]);
        if (group) {
            return group->vpc;
        }
    }
    return STR("");
}

static void judge_group(struct judge *judge, struct str id)
{
    const struct ec2_group *group = find_group(judge, id);
    struct str vpc = judge_groups_vpc(judge);
    if (!group) {
        judge_add(judge, FINDING_ERROR, "security group",
                  "security group %.*s does not exist in %.*s", STR_ARG(id),
                  STR_ARG(judge->answers->region))
            ->path = group_path(judge, id);
    } else if (!str_eq(group->vpc, vpc)) {
        judge_add(judge, FINDING_ERROR, "security group",
                  "security group %.*s is in %.*s, but others in the file are in %.*s", STR_ARG(id),
                  STR_ARG(group->vpc), STR_ARG(vpc))
            ->path = group_path(judge, id);
    } else {
        judge_add(judge, FINDING_FINE, "security group", "%.*s %.*s in %.*s", STR_ARG(id),
                  STR_ARG(group->name), STR_ARG(group->vpc));
    }
}

void judge_groups(struct judge *judge)
{
    bool *counts = ARENA_ARRAY(judge->arena, judge->request->type_count, bool);
    bool makes_some = false;
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        counts[i] = type->groups.count == 0 && !type->is_blind;
        makes_some = makes_some || counts[i];
        judge->facts.types[i].groups = type->groups.items;
        judge->facts.types[i].group_count = type->groups.count;
        judge->facts.types[i].makes_group = counts[i];
    }
    for (size_t i = 0; judge_knows(judge, ASK_GROUPS) && i < judge->request->groups.count; i++) {
        judge_group(judge, judge->request->groups.items[i]);
    }
    if (makes_some) {
        judge_add(judge, FINDING_FINE, "security group",
                  "the cluster's own, created by shoal up%.*s",
                  STR_ARG(judge_types(judge, counts)));
    }
}

/* ---- why a subnet was rejected ---- */

static struct finding_row refusal(const struct judge *judge, const struct requested_type *type,
                                  const struct subnet_judged *judged)
{
    struct arena *arena = judge->arena;
    const struct ec2_subnet *subnet = &judged->subnet;
    struct str region = judge->answers->region;
    struct finding_row row = {.name = subnet->id, .where = subnet_short_zone(subnet->zone, region)};
    switch (judged->verdict) {
    case SUBNET_MISSING:
        row.why = arena_printf(arena, "does not exist in %.*s", STR_ARG(region));
        break;
    case SUBNET_NOT_READY:
        row.why = arena_printf(arena, "is not ready: %.*s", STR_ARG(subnet->state));
        break;
    case SUBNET_OTHER_VPC:
        row.path = group_path(judge, STR(""));
        row.why = row.path.len > 0 ? STR("is in a different VPC than your security group")
                                   : STR("is in a different VPC than the cluster");
        break;
    case SUBNET_OTHER_ZONE:
        row.why = STR("its zone is not in the file");
        row.path = STR("provider.availability_zone");
        row.remedy = judged->is_only ? arena_printf(arena, "%.*s in provider.availability_zone",
                                                    STR_ARG(subnet->zone))
                                     : STR("");
        break;
    case SUBNET_NO_MACHINE:
        row.why = arena_printf(arena, "its zone does not offer %.*s", STR_ARG(type->machine));
        break;
    case SUBNET_FULL:
        row.why = arena_printf(arena, "full: %lld free addresses",
                               (long long)subnet->free_addresses);
        break;
    case SUBNET_PRIVATE:
        row.why = STR("assigns no public addresses");
        row.remedy = STR("provider.use_internal_ips: true");
        row.path = STR("provider.use_internal_ips");
        break;
    case SUBNET_SPLIT:
        row.why = arena_printf(arena, "is in %.*s, unlike the others", STR_ARG(subnet->vpc));
        break;
    case SUBNET_USABLE:
    default:
        break;
    }
    return row;
}

static void add_refusals(struct judge *judge, const struct requested_type *type,
                         const struct subnet_choice *choice, struct judge_rows *rows)
{
    for (size_t i = choice->usable_count; i < choice->count; i++) {
        judge_row(judge, rows, refusal(judge, type, &choice->judged[i]));
    }
}

/* ---- subnets of one type ---- */

static void refuse_all(struct judge *judge, const struct requested_type *type,
                       const struct subnet_choice *choice, struct str types)
{
    struct judge_rows rows = {0};
    struct str region = judge->answers->region;
    add_refusals(judge, type, choice, &rows);
    struct finding *finding = judge_add(
        judge, FINDING_ERROR, "subnets",
        type->subnets.count > 0 ? "none of the subnets in the file can be used in %.*s%.*s"
        : choice->count > 0     ? "no subnet in %.*s can be used%.*s"
                                : "no subnet exists in %.*s%.*s",
        STR_ARG(region), STR_ARG(types));
    judge_set_rows(finding, &rows);
    if (choice->count == 0) {
        finding->remedy = arena_printf(judge->arena,
                                       "create the default subnets: aws ec2 create-default-vpc "
                                       "--region %.*s",
                                       STR_ARG(region));
    }
    if (type->subnets.count > 0) {
        finding->path = judge_path(judge, type, type->subnets_key);
    }
}

/* Ray rejects a file if one of its named subnets cannot be used. A subnet that is full, or whose
 * zone lacks the instance type, is noticed by Ray only later, and it continues with the others. */
static void judge_named(struct judge *judge, const struct requested_type *type,
                        const struct subnet_choice *choice)
{
    struct judge_rows rows = {0};
    enum finding_level level = FINDING_WARNING;
    add_refusals(judge, type, choice, &rows);
    for (size_t i = choice->usable_count; i < choice->count; i++) {
        enum subnet_verdict verdict = choice->judged[i].verdict;
        bool is_passing = verdict == SUBNET_FULL || verdict == SUBNET_NO_MACHINE;
        level = is_passing ? level : FINDING_ERROR;
    }
    if (rows.count > 0) {
        struct finding *finding = judge_add(judge, level, "subnets",
                                            "%zu of %zu subnets in the file cannot be used",
                                            rows.count, choice->count);
        finding->path = judge_path(judge, type, type->subnets_key);
        judge_set_rows(finding, &rows);
    }
}

static void preflight_network_describe(struct judge *judge, const struct subnet_choice *choice,
                                       struct str types)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    if (choice->usable_count < choice->count) {
        buf_addf(&out, "%zu of %zu: ", choice->usable_count, choice->count);
    }
    for (size_t i = 0; i < choice->usable_count && i < SUBNETS_SHOWN; i++) {
        const struct ec2_subnet *subnet = &choice->judged[i].subnet;
        buf_addf(&out, "%s%.*s %.*s", i > 0 ? ", " : "", STR_ARG(subnet->id),
                 STR_ARG(subnet_short_zone(subnet->zone, judge->answers->region)));
    }
    if (choice->usable_count > SUBNETS_SHOWN) {
        buf_addf(&out, " and %zu more", choice->usable_count - SUBNETS_SHOWN);
    }
    judge_add(judge, FINDING_FINE, "subnets", "%.*s in %.*s%.*s", STR_ARG(buf_str(&out)),
              STR_ARG(choice->vpc), STR_ARG(types));
}

static void take_subnets(struct judge *judge, size_t at, const struct subnet_choice *choice)
{
    struct aws_subnet *subnets = ARENA_ARRAY(judge->arena, choice->usable_count, struct aws_subnet);
    for (size_t i = 0; i < choice->usable_count; i++) {
        const struct ec2_subnet *found = &choice->judged[i].subnet;
        subnets[i] = (struct aws_subnet){found->id,          found->zone,
                                         found->vpc,         found->free_addresses,
                                         found->maps_public, found->arn};
    }
    judge->facts.types[at].subnets = subnets;
    judge->facts.types[at].subnet_count = choice->usable_count;
    judge->facts.vpc = judge->facts.vpc.len > 0 ? judge->facts.vpc : choice->vpc;
}

/* ---- subnets of all types ---- */

static void preflight_network_choose(const struct judge *judge, const struct requested_type *type,
                                     struct str vpc, struct subnet_choice *ret_choice)
{
    const struct preflight_request *request = judge->request;
    /* A type that the region does not have is reported once, not for every subnet. */
    bool knows_zones = judge_knows(judge, ASK_ZONES) &&
                       preflight_has_machine(judge->answers, type->machine);
    struct subnet_question question = {
        .all = &judge->answers->subnets,
        .named = type->subnets.items,
        .named_count = type->subnets.count,
        .zones = request->zones.items,
        .zone_count = request->zones.count,
        .offered = knows_zones ? &judge->answers->zones : NULL,
        .machine = type->machine,
        .vpc = vpc,
        .allows_private = request->uses_private || type->asks_public,
    };
    subnet_choose(&question, judge->arena, ret_choice);
}

/* Types with named subnets decide the VPC for the others; without any, the instances that exist do,
 * then the first type. */
static void choose_all(const struct judge *judge, struct subnet_choice *choices)
{
    struct str vpc = judge_groups_vpc(judge);
    for (int round = 0; round < 2; round++) {
        struct str found = STR("");
        for (size_t i = 0; i < judge->request->type_count; i++) {
            const struct requested_type *type = &judge->request->types[i];
            if ((type->subnets.count > 0) == (round == 0)) {
                preflight_network_choose(judge, type, vpc, &choices[i]);
                found = choices[i].vpc.len > 0 ? choices[i].vpc : found;
                vpc = round == 1 && vpc.len == 0 ? found : vpc;
            }
        }
        vpc = vpc.len > 0 ? vpc : found.len > 0 ? found : judge->answers->named.vpc;
    }
}

static bool preflight_network_is_same(const struct judge *judge,
                                      const struct subnet_choice *choices, size_t a, size_t b)
{
    bool is_alike = choices[a].count == choices[b].count &&
                    (judge->request->types[a].subnets.count > 0) ==
                        (judge->request->types[b].subnets.count > 0);
    for (size_t i = 0; is_alike && i < choices[a].count; i++) {
        const struct subnet_judged *one = &choices[a].judged[i];
        const struct subnet_judged *other = &choices[b].judged[i];
        is_alike = one->verdict == other->verdict && str_eq(one->subnet.id, other->subnet.id);
    }
    return is_alike;
}

void judge_subnets(struct judge *judge)
{
    size_t count = judge->request->type_count;
    struct subnet_choice *choices = ARENA_ARRAY(judge->arena, count, struct subnet_choice);
    bool *counts = ARENA_ARRAY(judge->arena, count, bool);
    if (!judge_knows(judge, ASK_SUBNETS)) {
        return;
    }
    choose_all(judge, choices);
    for (size_t i = 0; i < count; i++) {
        bool is_first = true;
        for (size_t j = 0; j < count; j++) {
            counts[j] = preflight_network_is_same(judge, choices, i, j);
            is_first = is_first && (j >= i || !counts[j]);
        }
        take_subnets(judge, i, &choices[i]);
        if (!is_first) {
            continue;
        }
        struct str types = judge_types(judge, counts);
        if (choices[i].usable_count == 0) {
            refuse_all(judge, &judge->request->types[i], &choices[i], types);
            continue;
        }
        if (judge->request->types[i].subnets.count > 0) {
            judge_named(judge, &judge->request->types[i], &choices[i]);
        }
        preflight_network_describe(judge, &choices[i], types);
    }
}
