/* instance_type.h: EC2's data about the instance types in a file. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/preflight/ec2_reply.h"

#include <stdbool.h>

/* NULL if the listing does not have it. */
const struct ec2_type *instance_type_find(const struct ec2_types *types, struct str name);

/* True if it is in the listing. */
bool instance_type_is_offered(const struct ec2_offerings *offered, struct str name);

/* True if it runs images of this architecture. */
bool instance_type_runs(const struct ec2_type *type, struct str arch);

/* The architecture for choosing an image: 64 bit if possible; empty if unknown. */
struct str instance_type_arch(const struct ec2_type *type);

/*
 * Alternatives for a type that the region does not have: the closest match, or the sizes of its
 * family; may be empty.
 */
struct str instance_type_hint(struct str name, const struct ec2_offerings *offered,
                              struct arena *arena);
