/* machine_tags.h: reads the tags and the state of machines. */
#pragma once

#include "base/str.h"
#include "provider/provider.h"

/* Empty if the machine has no such tag, or is NULL. */
struct str machine_tag_value(const struct machine *machine, const char *key);

/* Neither terminated nor on the way there. */
bool machine_is_live(const struct machine *machine);

bool machine_is_head(const struct machine *machine);

/* The head that is running or pending. Of several, prefers one that is set up, then the youngest.
 * NULL if there is none. */
const struct machine *machine_head_among(const struct machine *machines, size_t count);
