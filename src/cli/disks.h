/* disks.h: what the disks of stopped instances cost. */
#pragma once

#include "cli/target.h"

/* A note for each node type whose disks the file describes. */
void disks_say(const struct target *target);
