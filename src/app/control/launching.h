/* launching.h: launches: journaled, sent, answered, retried. */
#pragma once

#include "app/control/calls.h"
#include "app/control/controller.h"

void launching_init(struct controller *controller);
void launching_send(struct controller *controller, const struct action *actions, size_t count);
void launching_open(struct controller *controller, uint64_t launch, int64_t unsure_until);
/* May an earlier call of the launch still take effect? */
bool launching_is_unsure(struct controller *controller, uint64_t launch);
void launching_prepare(struct controller *controller);
/* The lease is confirmed: sends the held launches. launching_decline() declines them instead. */
void launching_go_on(struct controller *controller);
void launching_decline(struct controller *controller);
void launching_clear(struct controller *controller);
/* Journals and reports the result of a launch. */
void launching_answer(struct controller *controller, const struct call *call,
                      const struct provider_answer *answer, const struct machine *machines,
                      size_t count);
