/* machines.h: EC2's instances as machines of the provider's interface. */
#pragma once

#include "base/arena.h"
#include "provider/aws/machines/instance_reply.h"
#include "provider/provider.h"

/* Tags that are kept: those of Ray and of Shoal. */
extern const char *const machine_tag_prefixes[];

/* Texts are shared with the records. */
struct machine machine_from_record(const struct instance_record *record, struct arena *arena);
