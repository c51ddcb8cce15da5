/*
 * core_setup.h: from a configuration to what the core works with.
 *
 * Node types with their resources, limits and labels; where each can be had (zones and markets, in
 * the order in which they are tried) and what it costs there. No price is ever guessed: what
 * nobody said and the catalogue does not have is PRICE_UNKNOWN.
 */
#pragma once

#include "app/price_source.h"
#include "base/err.h"
#include "config/config.h"
#include "config/workload/workload_file.h"
#include "core/core.h"

/* What people want to know of a type, beside what the core does. */
struct type_facts {
    struct str name;    /* of the node type */
    struct str machine; /* instance type; empty: a machine of one's own */
    bool is_spot;
    int64_t price; /* where it is tried first */
    enum price_source source;
    bool is_share; /* the price is a share of the on-demand price */
};

struct core_setup {
    struct names names;
    struct core_settings settings;
    const struct type_facts *facts; /* by type */
    struct str region;              /* empty: none */
};

/*
 * `workload` may be NULL; its prices and machines count before the configuration's. The strategy is
 * PLAN_RAY and the seed 0 until the caller says otherwise. Names in the workload that fit nothing
 * are warned of in `diags`. False when no node type has any resources, so that nothing could run.
 */
bool core_setup_make(struct arena *arena, const struct config *config,
                     const struct workload_file *workload, struct diag_list *diags,
                     struct core_setup *ret_setup, struct err *err) MUST_USE;

/* What a survey has found out (type_zones.h): one offering for each zone of a type, in that order.
 * A type of which it says nothing keeps the zones that the file names. */
void core_setup_place(struct arena *arena, const struct config *config, struct str type_zones,
                      struct core_setup *setup);
