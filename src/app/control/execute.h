/* execute.h: executes the core's actions. */
#pragma once

#include "app/control/calls.h"
#include "app/control/controller.h"
#include "app/control/journaling.h"
#include "app/control/machine_table.h"
#include "app/control/notify.h"

/* What it works with; it has no state of its own. */
struct executor {
    struct controller *controller;
    struct journaling *journaling;
    const struct controller_setup *setup;
    struct loop *loop;
    struct provider *provider;
    struct call_list *calls;
    struct notifier *notifier;
    const struct machine_table *machines;
    struct arena *scratch;
};

/* Journals the actions, then executes them. */
void execute_actions(const struct executor *executor, const struct action *actions, size_t count);
