/*
 * subnet.h: selects and orders the subnets of a node type, and says why others are rejected. Pure.
 *
 * Ray's rules: the subnets in the file, or all; in the VPC of the security groups; available; with
 * public addresses unless only private ones are used; in the file's zones, in their order,
 * otherwise from the last zone to the first; all in the VPC of the first. In addition, the zone
 * must offer the instance type, and there must be a free address. Unlike in Ray, the default VPC is
 * preferred if the file names neither a subnet nor a VPC.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/preflight/ec2_reply.h"

#include <stdbool.h>
#include <stddef.h>

enum subnet_verdict {
    SUBNET_USABLE,
    SUBNET_MISSING,    /* the file names it, but it does not exist */
    SUBNET_NOT_READY,  /* the subnet's state is not "available" */
    SUBNET_OTHER_VPC,  /* the subnet is not in the required VPC */
    SUBNET_OTHER_ZONE, /* the subnet is not in a zone of the file */
    SUBNET_NO_MACHINE, /* zone does not offer the instance type */
    SUBNET_FULL,
    SUBNET_PRIVATE, /* the only problem: no public addresses */
    SUBNET_SPLIT,   /* usable, but in another VPC than earlier ones */
};

struct subnet_question {
    const struct ec2_subnets *all; /* all subnets of the region */
    const struct str *named;       /* restricts the choice; empty: any */
    size_t named_count;
    const struct str *zones; /* zones in order of preference; empty: any */
    size_t zone_count;
    const struct ec2_offerings *offered; /* by zone; NULL: unknown */
    struct str machine;
    struct str vpc; /* required VPC; empty: any */
    bool allows_private;
};

struct subnet_judged {
    struct ec2_subnet subnet; /* only its id if it does not exist */
    enum subnet_verdict verdict;
    bool is_only; /* the only reason against it */
};

struct subnet_choice {
    const struct subnet_judged *judged; /* all subnets; usable ones first, in order */
    size_t count;
    size_t usable_count;
    struct str vpc; /* VPC of the usable subnets */
};

void subnet_choose(const struct subnet_question *question, struct arena *arena,
                   struct subnet_choice *ret_choice);

/* "us-west-2a" in us-west-2 gives "2a", for display; other zones are unchanged. */
struct str subnet_short_zone(struct str zone, struct str region);
