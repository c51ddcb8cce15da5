/*
 * group_rules.h: the rules of a security group as single statements: compares the existing ones
 * with the wanted ones.
 *
 * A rule that we created for a caller is marked in its description, and only such rules are ever
 * revoked. Rules added by others stay.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/wire/xml_tree.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rule_source { RULE_FROM_CIDR, RULE_FROM_CIDR6, RULE_FROM_GROUP, RULE_FROM_PREFIXES };

struct group_rule {
    struct str protocol; /* "tcp"; "-1": any */
    int64_t from, to;    /* ports; -1 if not applicable */
    enum rule_source source_kind;
    struct str source;       /* "198.51.100.7/32", "sg-..."; empty: see `raw` */
    struct str description;  /* may be empty */
    const struct param *raw; /* the source as written in the file, or NULL */
};

struct group_rules {
    struct group_rule *items;
    size_t count, capacity;
};

/* Prefix of the description of a caller's rule that we created. */
#define RULE_MARK "shoal caller"

/* Reads an <item> of DescribeSecurityGroups. */
void group_rules_read(const struct xml_element *group, struct group_rules *rules,
                      struct arena *arena);

/* Reads provider.security_group.IpPermissions. */
void group_rules_from_file(const struct param *permissions, struct group_rules *rules,
                           struct arena *arena);

/* Allows ssh from this range. */
void group_rules_add_caller(struct group_rules *rules, struct str cidr, struct arena *arena);

/* Allows all traffic between members. */
void group_rules_add_members(struct group_rules *rules, struct str group, struct arena *arena);

/* The rules in `wanted` that are not in `there`. */
struct group_rules group_rules_missing(const struct group_rules *wanted,
                                       const struct group_rules *there, struct arena *arena);

/* The rules in `there` that we created for callers and that are not in `wanted`. */
struct group_rules group_rules_stale(const struct group_rules *there,
                                     const struct group_rules *wanted, struct arena *arena);

/* {"GroupId": group, "IpPermissions": [the rule]}, the input of AuthorizeSecurityGroupIngress and
 * RevokeSecurityGroupIngress. */
struct param *group_rule_input(const struct group_rule *rule, struct str group,
                               struct arena *arena);
