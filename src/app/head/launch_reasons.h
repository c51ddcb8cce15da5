/* launch_reasons.h: why each launch was made, from the stored events. */
#pragma once

#include "app/head/events.h"

struct launch_reasons;

struct launch_reasons *launch_reasons_open(struct events *events);
void launch_reasons_close(struct launch_reasons *reasons); /* NULL is fine */

/* The reason of that launch, valid until the next call; empty if no longer known. */
struct str launch_reasons_find(struct launch_reasons *reasons, uint64_t launch);
