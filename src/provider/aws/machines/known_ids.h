/*
 * known_ids.h: machines of which we know for certain that they are the cluster's, because a listing
 * by its uid or the answer to one of its launches has named them. Whoever is not in here is asked
 * about before it is touched.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

struct known_id {
    struct str id;
    int64_t since; /* when it was learnt from a launch, on the loop's clock; 0: from a listing */
};

struct known_ids {
    struct arena arena;
    struct table table;
    struct known_id *items;
    size_t count, capacity;
};

void known_ids_add(struct known_ids *known, struct str id, int64_t since);
bool known_ids_has(const struct known_ids *known, struct str id);

/* Forgets what is older than a listing, which will be added next: else it would only ever grow.
 * What was launched since `from` stays, for the listing may not show it yet. */
void known_ids_renew(struct known_ids *known, int64_t from);
