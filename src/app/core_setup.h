/*
 * core_setup.h: converts a configuration into the core's settings.
 *
 * Node types with their resources, limits and labels; their offerings (zones and markets, in the
 * order in which they are tried) and prices (hourly_price.h).
 */
#pragma once

#include "app/hourly_price.h"
#include "base/err.h"
#include "config/config.h"
#include "config/workload/workload_file.h"
#include "core/core.h"
#include "provider/machine.h"

/* In metadata.shoal, and set by `up --keep-failed`. */
#define KEEP_FAILED_KEY "keep_failed_minutes"

/* Facts about a type for display, in addition to those the core uses. */
struct type_facts {
    struct str name;    /* node type */
    struct str machine; /* instance type; empty for a machine of the user's own */
    bool is_spot;
    int64_t price; /* price of the first offering */
    enum price_source source;
    bool is_share; /* the price is a fraction of the on-demand price */
};

struct core_setup {
    struct names names;
    struct core_settings settings;
    const struct type_facts *facts; /* by type */
    struct str region;              /* empty if none */
    struct price_book book;
};

/*
 * `workload` may be NULL; its prices and machines take precedence over the configuration's. The
 * strategy is PLAN_RAY and the seed 0 unless the caller changes them. Unknown names in the workload
 * add a warning to `diags`. Fails if no node type has resources, because then nothing could run.
 */
bool core_setup_make(struct arena *arena, const struct config *config,
                     const struct workload_file *workload, struct diag_list *diags,
                     struct core_setup *ret_setup, struct err *err) MUST_USE;

/* The hourly price of an instance, which may not match the file any more; or PRICE_UNKNOWN. */
int64_t core_setup_price(const struct core_setup *setup, const struct machine *machine);

/* Applies the zones found by a preflight (type_zones.h): one offering per zone of a type, in that
 * order. A type that is not listed keeps the zones of the file. Also applies setup->book. */
void core_setup_place(struct arena *arena, const struct config *config, struct str type_zones,
                      struct core_setup *setup);

/* Applies setup->book to a setup that a core uses, which is then told (controller_reprice()). */
void core_setup_reprice(const struct config *config, struct core_setup *setup);
