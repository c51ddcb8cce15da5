/* inventory.h: lists the machines, and converts listings to events for the core. */
#pragma once

#include "app/control/controller.h"

void inventory_init(struct controller *controller);
void inventory_refresh(struct controller *controller);
/* Resets the listing interval to its shortest: machines are starting or terminating. */
void inventory_expedite(struct controller *controller);
/* Schedules the next listing; called after every turn. */
void inventory_schedule(struct controller *controller);
/* Numbers new machines, updates the table and notifies changes. If `launch` is not 0, the machines
 * are its result and it is settled in the same transaction. */
bool inventory_ingest(struct controller *controller, const struct machine *machines, size_t count,
                      uint64_t launch, uint64_t *ret_instances) MUST_USE;
/* The node type by its tag, or by the cloud's type; UINT32_MAX if not in the file. */
uint32_t inventory_type_of(const struct core_setup *setup, const struct machine *machine);
