/* cluster_session.h: state shared by `up`, `down` and the commands that connect to the head. */
#pragma once

#include "app/cluster_state.h"
#include "app/control/controller.h"
#include "app/core_setup.h"
#include "app/launch/launcher.h"
#include "provider/machine_tags.h"
#include "store/journal.h"

struct head_wanted; /* head_plan.c */

/* One run of `up` or `down` and everything it holds open. */
struct cluster_session {
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
    /* Availability of instance types by zone, from the last preflight (app/type_zones.h). */
    struct str type_zones;
    struct str type_images;       /* what the same preflight chose */
    struct str ssh_rule;          /* "sg-1 allows ssh from 198.51.100.7/32"; empty: unknown */
    struct launch_prices *prices; /* being looked up (launch_prices.h); NULL: not */
    struct controller *controller;
    const struct head_wanted *wanted; /* NULL until computed */
    bool restarts_ray;                /* Ray on the head died: start it although nothing changed */
    int64_t began_ms;
    struct err err; /* why the run failed; ERR_NONE on success */
    bool is_ok;
};

/* Opens the provider and the state folder as it is, and builds the core's settings. Call
 * launch_close() even after a failure. */
bool launch_open(struct cluster_session *launch, struct err *err) MUST_USE;
/* For `up`, once the owner is known (adopt.h): creates the state folder and opens its journal.
 * ERR_EXISTS: another process holds the journal's lock. */
bool launch_open_records(struct cluster_session *launch, struct err *err) MUST_USE;
void launch_close(struct cluster_session *launch);
/* Call after the preflight: queries which zones offer the instance types, applies the result to the
 * core's settings and stores it in the journal. */
bool launch_place(struct cluster_session *launch, struct err *err) MUST_USE;
/* For commands that run no preflight: zones, disks and prices as the last `up` stored them. */
bool launch_place_as_before(struct cluster_session *launch, struct err *err) MUST_USE;
/* Applies launch->core.book after prices have arrived, and stores them in the journal. */
bool launch_note_prices(struct cluster_session *launch, struct err *err) MUST_USE;

/* Passes the findings of preflight_run() to the hooks; false if one of them is an error. */
bool launch_is_fit(struct cluster_session *launch, const struct finding *findings, size_t count,
                   struct err *err) MUST_USE;
/* A cluster that was launched from this machine before needs only the checks for a launch. */
enum preflight_scope launch_scope(const struct cluster_session *launch);

/* Ends the run. `err` is NULL on success. Only the first call has an effect. */
void launch_end(struct cluster_session *launch, const struct err *err);

void launch_note(const struct cluster_session *launch, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The lease holder, for example "shoal up, pid 4711 of me@laptop". */
struct str launch_holder(const char *verb, struct arena *arena);

/* Fills in the view of a machine: name, type, location, price and cloud state. Strings live in
 * `arena`. */
void launch_view(const struct cluster_session *launch, const struct managed_node *managed_node,
                 struct arena *arena, struct node_view *ret_view);

/* Sets the error for a machine without the cluster's key; `from` names the one that has it, and may
 * be empty. Always returns false. */
bool launch_refuse_keyless(const struct cluster_session *launch, struct str from, struct err *err);

/* "user@host" of this machine. */
struct str launch_here(struct arena *arena);

/* The ssh target of the head. */
bool launch_head_place(const struct cluster_session *launch, struct str id, struct str address,
                       struct ssh_target *ret_place);

/* auth.ssh_proxy_use_node_id, or metadata.shoal.access: ssm: ssh gets the instance id instead of an
 * address, for a proxy command that finds instances by it. */
bool launch_reaches_by_id(const struct config *config);

/* The address at which this machine reaches `machine`; empty if it has none yet. */
struct str launch_address(const struct config *config, const struct machine *machine, bool is_head);
