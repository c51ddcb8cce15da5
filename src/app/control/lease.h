/* lease.h: acquires, renews and releases the lease, and notices its loss. */
#pragma once

#include "app/control/controller.h"

void lease_init(struct controller *controller);
void lease_start(struct controller *controller);
/* Was the lease confirmed within CONFIRM_MS? A process that breaks it acts immediately, before the
 * old holder notices. */
bool lease_is_confirmed(const struct controller *controller);
/* Discards the confirmation and renews now: another process may be acting. */
void lease_recheck(struct controller *controller);
/* It was lost, released or handed over: nothing is done any more. */
bool lease_is_over(const struct controller *controller);
