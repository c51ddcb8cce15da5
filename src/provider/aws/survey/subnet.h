/*
 * subnet.h: which subnets machines of one node type can be launched into, in which order, and why
 * not into the others. Pure.
 *
 * Ray's rules: those that the file names, or all; in the VPC of the security groups; available;
 * with public addresses unless only private ones are used; in the zones that the file asks for, in
 * their order, else from the last zone to the first; all in one VPC, that of the first. Beside
 * them: the zone must offer the machine, and there must be a free address.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/survey/ec2_reply.h"

#include <stdbool.h>
#include <stddef.h>

enum subnet_verdict {
    SUBNET_USABLE,
    SUBNET_MISSING,    /* named, and not there */
    SUBNET_NOT_READY,  /* its state is not "available" */
    SUBNET_OTHER_VPC,  /* than the one that it must be in */
    SUBNET_OTHER_ZONE, /* not one of those that the file asks for */
    SUBNET_NO_MACHINE, /* its zone does not offer the machine */
    SUBNET_FULL,
    SUBNET_PRIVATE, /* nothing but this: machines would get no public address */
    SUBNET_SPLIT,   /* usable, but in another VPC than those before it */
};

struct subnet_question {
    const struct ec2_subnets *all; /* of the region */
    const struct str *named;       /* the only ones allowed; none: any */
    size_t named_count;
    const struct str *zones; /* asked for, the best first; none: any */
    size_t zone_count;
    const struct ec2_offerings *offered; /* in zones; NULL: not known */
    struct str machine;
    struct str vpc; /* that it must be in; empty: any */
    bool allows_private;
};

struct subnet_judged {
    struct ec2_subnet subnet; /* of a missing one only the id */
    enum subnet_verdict verdict;
    bool is_only; /* nothing else stands against it */
};

struct subnet_choice {
    const struct subnet_judged *judged; /* each that was looked at; usable ones first, in order */
    size_t count;
    size_t usable_count;
    struct str vpc; /* of the usable ones */
};

void subnet_choose(const struct subnet_question *question, struct arena *arena,
                   struct subnet_choice *ret_choice);

/* "us-west-2a" in us-west-2 is "2a" for people; any other zone stays whole. */
struct str subnet_short_zone(struct str zone, struct str region);
