/* instance_type.h: what EC2 says of the machines that a file names. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/survey/ec2_reply.h"

#include <stdbool.h>

/* NULL when the listing does not have it. */
const struct ec2_type *instance_type_find(const struct ec2_types *types, struct str name);

/* Is it offered anywhere in the listing? */
bool instance_type_is_offered(const struct ec2_offerings *offered, struct str name);

/* Can it run an image of that architecture? */
bool instance_type_runs(const struct ec2_type *type, struct str arch);

/* The architecture to look for images in: 64 bit where it can; empty: EC2 did not say. */
struct str instance_type_arch(const struct ec2_type *type);

/*
 * What the region has instead of a machine that it does not have: "the nearest there is m5.large",
 * or the sizes of that family; empty when nothing is near.
 */
struct str instance_type_hint(struct str name, const struct ec2_offerings *offered,
                              struct arena *arena);
