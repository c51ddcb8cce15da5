/* subnet.c: evaluates each subnet, sorts them and keeps one VPC. */
#include "provider/aws/preflight/subnet.h"

#include <string.h>

static bool subnet_has(const struct str *texts, size_t count, struct str text)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(texts[i], text)) {
            return true;
        }
    }
    return false;
}

static bool offers(const struct subnet_question *question, struct str zone)
{
    const struct ec2_offerings *offered = question->offered;
    for (size_t i = 0; offered && i < offered->count; i++) {
        if (str_eq(offered->items[i].type, question->machine) &&
            str_eq(offered->items[i].location, zone)) {
            return true;
        }
    }
    return !offered || question->machine.len == 0;
}

/* Public addresses are checked last, because a setting in the file can make them unnecessary. */
static enum subnet_verdict subnet_evaluate(const struct subnet_question *question,
                                           const struct ec2_subnet *subnet)
{
    if (!str_is(subnet->state, "available")) {
        return SUBNET_NOT_READY;
    }
    if (question->vpc.len > 0 && !str_eq(subnet->vpc, question->vpc)) {
        return SUBNET_OTHER_VPC;
    }
    if (question->zone_count > 0 &&
        !subnet_has(question->zones, question->zone_count, subnet->zone)) {
        return SUBNET_OTHER_ZONE;
    }
    if (!offers(question, subnet->zone)) {
        return SUBNET_NO_MACHINE;
    }
    if (subnet->free_addresses <= 0) {
        return SUBNET_FULL;
    }
    return subnet->maps_public || question->allows_private ? SUBNET_USABLE : SUBNET_PRIVATE;
}

/* ---- order ---- */

static size_t zone_rank(const struct subnet_question *question, struct str zone)
{
    size_t rank = 0;
    while (rank < question->zone_count && !str_eq(question->zones[rank], zone)) {
        rank++;
    }
    return rank;
}

static bool comes_before(const struct subnet_question *question, const struct subnet_judged *a,
                         const struct subnet_judged *b)
{
    bool a_is_usable = a->verdict == SUBNET_USABLE;
    bool b_is_usable = b->verdict == SUBNET_USABLE;
    size_t a_rank = zone_rank(question, a->subnet.zone);
    size_t b_rank = zone_rank(question, b->subnet.zone);
    if (a_is_usable != b_is_usable) {
        return a_is_usable;
    }
    if (!a_is_usable && a->is_only != b->is_only) {
        return a->is_only; /* for display: fixable ones first, then by name */
    }
    if (!a_is_usable) {
        return str_cmp(a->subnet.zone, b->subnet.zone) < 0;
    }
    return a_rank != b_rank ? a_rank < b_rank : str_cmp(a->subnet.zone, b->subnet.zone) > 0;
}

/* Stable: equal ones keep the reply's order. There are tens, rarely hundreds. */
static void subnet_sort(const struct subnet_question *question, struct subnet_judged *judged,
                        size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct subnet_judged moved = judged[i];
        size_t at = i;
        while (at > 0 && comes_before(question, &moved, &judged[at - 1])) {
            judged[at] = judged[at - 1];
            at--;
        }
        judged[at] = moved;
    }
}

/* ---- the choice ---- */

static const struct ec2_subnet *subnet_find(const struct ec2_subnets *all, struct str id)
{
    for (size_t i = 0; i < all->count; i++) {
        if (str_eq(all->items[i].id, id)) {
            return &all->items[i];
        }
    }
    return NULL;
}

static struct subnet_judged judge_one(const struct subnet_question *question,
                                      const struct ec2_subnet *subnet)
{
    struct subnet_judged judged = {*subnet, subnet_evaluate(question, subnet), false};
    struct subnet_question anywhere = *question;
    anywhere.zone_count = 0;
    judged.is_only = judged.verdict == SUBNET_PRIVATE ||
                     (judged.verdict == SUBNET_OTHER_ZONE &&
                      subnet_evaluate(&anywhere, subnet) == SUBNET_USABLE);
    return judged;
}

static size_t judge_all(const struct subnet_question *question, struct subnet_judged *judged)
{
    const struct ec2_subnets *all = question->all;
    size_t count = 0;
    for (size_t i = 0; i < question->named_count; i++) {
        struct str id = question->named[i];
        const struct ec2_subnet *subnet = subnet_find(all, id);
        if (subnet_has(question->named, i, id)) {
            continue; /* two interfaces in the same subnet */
        }
        judged[count++] = subnet ? judge_one(question, subnet)
                                 : (struct subnet_judged){{.id = id}, SUBNET_MISSING, false};
    }
    for (size_t i = 0; question->named_count == 0 && i < all->count; i++) {
        judged[count++] = judge_one(question, &all->items[i]);
    }
    return count;
}

/* The default VPC if one of its subnets can be used and the file names none; otherwise that of the
 * first subnet. */
static struct str subnet_vpc_of(const struct subnet_question *question,
                                const struct subnet_judged *judged, size_t count)
{
    struct str by_default = STR("");
    for (size_t i = 0; question->named_count == 0 && i < question->all->count; i++) {
        by_default = question->all->items[i].is_default ? question->all->items[i].vpc : by_default;
    }
    for (size_t i = 0; i < count && judged[i].verdict == SUBNET_USABLE; i++) {
        if (str_eq(judged[i].subnet.vpc, by_default)) {
            return by_default;
        }
    }
    return count > 0 ? judged[0].subnet.vpc : STR("");
}

/* Moves usable subnets of other VPCs behind the others; the order is otherwise kept. */
static size_t keep_one_vpc(struct subnet_judged *judged, size_t count, struct str vpc,
                           struct arena *arena)
{
    struct subnet_judged *others = ARENA_ARRAY(arena, count, struct subnet_judged);
    size_t kept = 0;
    size_t split = 0;
    size_t at = 0;
    for (; at < count && judged[at].verdict == SUBNET_USABLE; at++) {
        if (str_eq(judged[at].subnet.vpc, vpc)) {
            judged[kept++] = judged[at];
        } else {
            others[split] = judged[at];
            others[split++].verdict = SUBNET_SPLIT;
        }
    }
    memcpy(judged + kept, others, split * sizeof(*others));
    return kept;
}

void subnet_choose(const struct subnet_question *question, struct arena *arena,
                   struct subnet_choice *ret_choice)
{
    size_t most = question->named_count > 0 ? question->named_count : question->all->count;
    struct subnet_judged *judged = ARENA_ARRAY(arena, most, struct subnet_judged);
    size_t count = judge_all(question, judged);
    subnet_sort(question, judged, count);
    size_t usable = keep_one_vpc(judged, count, subnet_vpc_of(question, judged, count), arena);
    *ret_choice = (struct subnet_choice){judged, count, usable,
                                         usable > 0 ? judged[0].subnet.vpc : STR("")};
}

struct str subnet_short_zone(struct str zone, struct str region)
{
    size_t from = region.len;
    if (zone.len != region.len + 1 || !str_eq(str_sub(zone, 0, region.len), region)) {
        return zone;
    }
    while (from > 0 && region.ptr[from - 1] != '-') {
        from--;
    }
    return str_sub(zone, from, zone.len);
}
