/*
 * reuse.h: launches use stopped machines before new ones.
 *
 * A launch that reuses machines is still one launch. Its journal record names the machines to start
 * and contains the call for the rest, so a retry starts the same ones and requests the same number.
 * Each machine is tagged with the launch number before it is started, so a listing that shows it
 * first binds it to that launch, as the reply would.
 */
#pragma once

#include "app/control/calls.h"
#include "app/control/controller.h"
#include "app/control/machine_table.h"
#include "app/control/notify.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/action.h"
#include "provider/provider.h"
#include "store/journal.h"

#include <stddef.h>
#include <stdint.h>

struct reuse {
    const struct str *ids;
    size_t count;
    struct str call; /* launch call for the rest; empty if there is none */
};

/* The launch as journaled; if no machine is reused, this is the call itself. */
struct str reuse_write(const struct reuse *reuse, struct arena *arena);
/* Texts are views of `written`; the list is in `arena`. */
struct reuse reuse_read(struct str written, struct arena *arena);

/* A machine that a launch will start; no other launch may use it. */
struct reuse_claim {
    uint64_t launch;
    struct str id;
    bool is_over;    /* the launch has its result */
    bool is_refused; /* the cloud refused to start it; not used again */
    bool may_run;    /* an earlier try of the launch may have started it */
};

struct reuser {
    /* Set by the owner. */
    const struct controller_setup *setup;
    struct provider *provider;
    const struct offering *offerings;
    struct call_list *calls;
    struct notifier *notifier;
    const struct machine_table *machines;
    struct arena *life, *scratch; /* as those of the controller */
    /* Its own. */
    struct reuse_claim *claims;
    size_t claim_count, claim_capacity;
};

/* Claims stopped machines for a launch, at most action->count. */
size_t reuse_pick(struct reuser *reuser, const struct action *action, const struct str **ret_ids);
/* Restores the claims of an earlier process. */
void reuse_claim_written(struct reuser *reuser, const struct journal_intent *intent);
/* Did that launch start this machine? */
bool reuse_was_started(const struct reuser *reuser, uint64_t launch, struct str id);
void reuse_close(struct reuser *reuser, uint64_t launch);

/* Tags and starts the machines, then launches the rest; the result goes to launching_answer(). */
void reuse_send(struct reuser *reuser, uint64_t launch, struct str written);
