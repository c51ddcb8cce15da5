/*
 * machine_table.h: the machines that a controller knows, by number and cloud id.
 *
 * Data of a listing or launch is copied, and kept until it is replaced.
 */
#pragma once

#include "base/arena.h"
#include "base/table.h"
#include "core/event.h"
#include "provider/machine_tags.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known {
    uint64_t instance;
    struct machine *machine; /* owned */
    int64_t since;           /* first seen */
    uint32_t seen_in;        /* the last listing that showed it */
    enum ray_status ray;     /* last reported status */
    bool is_head;
    bool has_change;   /* a change notification is queued */
    bool needs_set_up; /* setup was requested, but it has no address yet */
};

/* All zero: empty. */
struct machine_table {
    struct known *items;
    size_t count, capacity;
    struct arena index_memory;
    struct table by_id, by_instance;
};

void machine_table_init(struct machine_table *machine_table);
void machine_table_clear(struct machine_table *machine_table);

/* NULL if unknown. Valid until the next put or drop. */
struct known *machine_table_find(const struct machine_table *machine_table, uint64_t instance);
struct known *machine_table_find_id(const struct machine_table *machine_table, struct str id);

/* Keeps a copy. True if the machine is new or its id, state or address changed. */
bool machine_table_put(struct machine_table *machine_table, uint64_t instance,
                       const struct machine *machine, bool is_head, int64_t now);

/* Drops the machines for which `is_over` returns true. */
typedef bool machine_entry_fn(void *context, const struct known *known);
void machine_table_drop(struct machine_table *machine_table, machine_entry_fn *is_over,
                        void *context);
