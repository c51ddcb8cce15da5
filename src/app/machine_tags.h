/* machine_tags.h: what the tags of a machine say. */
#pragma once

#include "base/str.h"
#include "provider/provider.h"

/* Empty: it has none of that name, or there is no machine (NULL). */
struct str machine_tag_value(const struct machine *machine, const char *key);

bool machine_is_head(const struct machine *machine);
