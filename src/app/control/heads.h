/*
 * heads.h: selects the cluster's head if there are several.
 *
 * A launch that was sent just before this machine was suspended may take effect after another
 * controller has launched a head. The head that is kept is the one named in the journal (fact
 * "head-id", also set by a handover), else one that is set up, else the youngest. The lease holder
 * terminates the others.
 */
#pragma once

#include "app/control/controller.h"

/* Reads the head's id from the journal. */
void heads_init(struct controller *controller);

/* Should this machine replace the head in the table? True if there is none. */
bool heads_prefer(const struct controller *controller, const struct machine *machine);

/* After a listing or a launch of the head: records the kept head and terminates the others. */
void heads_hear(struct controller *controller, const struct machine *machines, size_t count);
