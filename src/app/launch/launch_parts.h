/* launch_parts.h: what `up`, `down` and the verbs that reach the head have in common. */
#pragma once

#include "app/cluster_state.h"
#include "app/control/controller.h"
#include "app/core_setup.h"
#include "app/launch/launcher.h"
#include "app/machine_tags.h"
#include "store/journal.h"

struct head_wanted; /* head_plan.c */

/* One `up` or `down`: everything that is open while it lasts. */
struct launch {
    const struct launcher_setup *setup;
    struct launcher_result *result;
    struct arena *arena;
    struct cloud_session *session;
    const struct config *config;
    struct provider *provider;
    struct cluster_state state;
    struct journal *journal;
    struct diag_list diags;
    struct core_setup core;
    struct str type_zones; /* where machines can be had, as last surveyed (app/type_zones.h) */
    struct controller *controller;
    const struct head_wanted *wanted; /* once it was worked out */
    int64_t began_ms;
    struct err err; /* why it ended, unless fine */
    bool is_ok;
};

/* The provider, the state folder, the journal and what the core is told. ERR_EXISTS: somebody is at
 * the journal; "down" asks an `up` to stop, which takes a moment. Close it in any case. */
bool launch_open(struct launch *launch, const char *verb, bool makes_state,
                 struct err *err) MUST_USE;
void launch_close(struct launch *launch);
/* After a survey: where machines can be had is asked, counted from now on, and written down. */
bool launch_place(struct launch *launch, struct err *err) MUST_USE;

/* Ends the session's run; `err` NULL: it went well. The first end counts. */
void launch_end(struct launch *launch, const struct err *err);

void launch_note(const struct launch *launch, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "shoal up, pid 4711 of me@laptop": who holds the lease. */
struct str launch_holder(const char *verb, struct arena *arena);

/* The view of a machine: name, type, place, price and what the cloud says of it. Texts live in
 * `arena`. */
void launch_view(const struct launch *launch, const struct controlled *controlled,
                 struct arena *arena, struct node_view *ret_view);

/* How ssh gets to the head from here. */
bool launch_head_place(const struct launch *launch, struct str id, struct str address,
                       struct ssh_place *ret_place);

/* The address of a machine that this laptop uses; empty: it has none yet. */
struct str launch_address(const struct config *config, const struct machine *machine, bool is_head);

/* A place where a test may end the program as a crash would: SHOAL_FAILPOINT=NAME. */
void failpoint(const char *name);
