/*
 * group_rules.h: who may reach the machines: the rules of a security group as single statements,
 * those that are there against those that are wanted.
 *
 * A rule that we made for a caller says so in its description, and only such a rule is ever taken
 * back. What somebody else has added stays.
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
    struct str protocol; /* "tcp", "-1": any */
    int64_t from, to;    /* ports; -1 where there are none */
    enum rule_source source_kind;
    struct str source;       /* "198.51.100.7/32", "sg-..."; empty: only `raw` knows */
    struct str description;  /* may be empty */
    const struct param *raw; /* the file's own words for the source, or NULL */
};

struct group_rules {
    struct group_rule *items;
    size_t count, capacity;
};

/* What a description begins with by which we know a caller's rule of ours. */
#define RULE_MARK "shoal caller"

/* Of an <item> of DescribeSecurityGroups. */
void group_rules_read(const struct xml_element *group, struct group_rules *rules,
                      struct arena *arena);

/* Of provider.security_group.IpPermissions. */
void group_rules_from_file(const struct param *permissions, struct group_rules *rules,
                           struct arena *arena);

/* ssh from that place. */
void group_rules_add_caller(struct group_rules *rules, struct str cidr, struct arena *arena);

/* Everything among the members. */
void group_rules_add_members(struct group_rules *rules, struct str group, struct arena *arena);

/* Those of `wanted` that are not in `there`. */
struct group_rules group_rules_missing(const struct group_rules *wanted,
                                       const struct group_rules *there, struct arena *arena);

/* Callers' rules of ours in `there` that are not wanted any more. */
struct group_rules group_rules_stale(const struct group_rules *there,
                                     const struct group_rules *wanted, struct arena *arena);

/* {"GroupId": group, "IpPermissions": [the rule]}: input of Authorize- and of
 * RevokeSecurityGroupIngress. */
struct param *group_rule_input(const struct group_rule *rule, struct str group,
                               struct arena *arena);

/*
 * "198.51.100.7" or "198.51.100.0/24", IPv6 likewise, with the length of its prefix. False for
 * anything else.
 */
bool cidr_read(struct str text, struct arena *arena, struct str *ret_cidr) MUST_USE;
