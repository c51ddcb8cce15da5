/*
 * heads.h: selects the cluster's head if there are several.
 *
 * A launch that was sent just before this machine was suspended may take effect after another
 * controller has launched a head. The head that is kept is the one named in the journal (fact
 * "head-id", also set by a handover), else one that is set up, else the youngest. The lease holder
 * terminates the others.
 */
#pragma once

#include "app/control/calls.h"
#include "app/control/controller.h"
#include "app/control/journaling.h"
#include "app/control/machine_table.h"
#include "app/control/notify.h"

struct heads {
    /* Set by the owner. */
    struct controller *controller;
    struct journaling *journaling;
    const struct controller_setup *setup;
    struct loop *loop;
    struct provider *provider;
    struct journal *journal;
    struct call_list *calls;
    struct notifier *notifier;
    const struct machine_table *machines;
    struct arena *life, *scratch; /* as those of the controller */
    /* Its own. */
    struct str head_id;     /* as recorded in the journal; empty if none */
    int64_t surplus_at;     /* when others were last reported or terminated; 0 if never */
    bool waits_to_end_head; /* terminate a second head once the lease is confirmed */
};

/* Reads the head's id from the journal. */
void heads_init(struct heads *heads);

/* Should this machine replace the head in the table? True if there is none. */
bool heads_prefer(const struct heads *heads, const struct machine *machine);

/* After a listing or a launch of the head: records the kept head and terminates the others. */
void heads_observe(struct heads *heads, const struct machine *machines, size_t count);
