/*
 * reuse.h: machines that were stopped come before new ones.
 *
 * A launch that uses some again is still one launch: its note in the journal names the machines to
 * be started and has the bytes of the call for the rest, so that whoever repeats it starts the same
 * ones and asks for as many as before. Each is tagged with the launch's number before it is
 * started: a listing that shows it first binds it to that launch, as the answer would.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "core/action.h"
#include "provider/provider.h"
#include "store/journal.h"

#include <stddef.h>
#include <stdint.h>

struct controller;
struct call;

struct reuse {
    const struct str *ids;
    size_t count;
    struct str call; /* for the rest; empty: nothing is left to be launched */
};

/* As the journal keeps it; without machines it is the call itself. */
struct str reuse_write(const struct reuse *reuse, struct arena *arena);
/* The texts are views of what is read; the list lives in `arena`. */
struct reuse reuse_read(struct str written, struct arena *arena);

/* A machine that a launch is to start: no other launch may take it. */
struct reuse_claim {
    uint64_t launch;
    struct str id;
    bool is_over;    /* the launch has its answer */
    bool is_refused; /* the cloud would not start it: it is left alone from now on */
};

/* Stopped machines for a launch of that offering, at most so many; they are claimed for it. */
size_t reuse_pick(struct controller *controller, const struct action *action,
                  const struct str **ret_ids);
/* What an earlier process has claimed. */
void reuse_claim_written(struct controller *controller, const struct journal_intent *intent);
/* Did that launch start it? */
bool reuse_was_started(const struct controller *controller, uint64_t launch, struct str id);
void reuse_close(struct controller *controller, uint64_t launch);

/* Tags and starts them, then makes the call for the rest; launching_answer() hears the end. */
void reuse_send(struct controller *controller, uint64_t launch, struct str written);

/* Of a call that is over. NULL is fine. */
struct reuse_run;
void reuse_run_free(struct reuse_run *run);

/* ---- what it needs of its neighbours ---- */

/* launching.c: what became of a launch, to be written down and told. */
void launching_answer(struct controller *controller, const struct call *call,
                      const struct provider_answer *answer, const struct machine *machines,
                      size_t count);
/* look.c: the node type by its tag, or by the cloud's type; UINT32_MAX: the file has none. */
uint32_t look_type_of(const struct controller *controller, const struct machine *machine);
