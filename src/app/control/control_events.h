/* control_events.h: how the modules of the controller pass results to the core. */
#pragma once

#include "app/control/notify.h"
#include "core/core.h"

/* An event of now. */
struct event controller_event(const struct controller *controller, enum event_kind kind);

/* Passes the event to the core and schedules a turn. */
void controller_apply(struct controller *controller, const struct event *event);
/* The same in the next turn, for results that are known immediately. */
void controller_apply_later(struct controller *controller, const struct event *event);
/* Reports to the core that the action was not done: it is too late or not possible. */
void controller_decline(struct controller *controller, const struct action *action);

/* For replies to calls, which only have the controller. */
struct notifier *controller_notifier(struct controller *controller);
