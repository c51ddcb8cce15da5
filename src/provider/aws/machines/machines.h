/* machines.h: converts EC2 instances to machines of provider.h. */
#pragma once

#include "base/arena.h"
#include "provider/aws/machines/instance_reply.h"
#include "provider/provider.h"

/* Tags that are kept: Ray's and Shoal's. */
extern const char *const machine_tag_prefixes[];

/* Strings are shared with the record. */
struct machine machine_from_record(const struct instance_record *record, struct arena *arena);
