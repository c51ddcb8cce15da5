/*
 * roster.h: the machines that a controller knows, each under its number and its id.
 *
 * What a listing or a launch told is copied and stays until it is told anew; nothing of a listing
 * is looked at after its callback.
 */
#pragma once

#include "app/machine_tags.h"
#include "base/arena.h"
#include "base/table.h"
#include "core/event.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known {
    uint64_t instance;
    struct machine *machine; /* a copy of its own */
    int64_t since;           /* heard of first */
    uint32_t seen_in;        /* the last listing that showed it */
    enum ray_status ray;     /* as it was last told */
    bool is_head;
    bool has_news;     /* its change waits to be told */
    bool needs_set_up; /* asked for, and it has no address yet */
};

/* All zero: none are known. */
struct roster {
    struct known *items;
    size_t count, capacity;
    struct arena index_memory;
    struct table by_id, by_instance;
};

void roster_init(struct roster *roster);
void roster_clear(struct roster *roster);

/* NULL: not known. Valid until the next put or drop. */
struct known *roster_find(const struct roster *roster, uint64_t instance);
struct known *roster_find_id(const struct roster *roster, struct str id);

/* Keeps a copy. True when its state or an address is another than before, or when it is new. */
bool roster_put(struct roster *roster, uint64_t instance, const struct machine *machine,
                bool is_head, int64_t now);

/* Forgets those of which `is_over` says so. */
typedef bool known_fn(void *context, const struct known *known);
void roster_drop(struct roster *roster, known_fn *is_over, void *context);
