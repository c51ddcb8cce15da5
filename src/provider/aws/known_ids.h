/*
 * known_ids.h: instances known to belong to the cluster, because a listing by its uid or the reply
 * to one of its launches contained them. All others are looked up before they are changed.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

struct known_id {
    struct str id;
    int64_t since; /* when a launch returned it, on the loop's clock; 0: from a listing */
};

struct known_ids {
    struct arena arena;
    struct table table;
    struct known_id *items;
    size_t count, capacity;
};

void known_ids_add(struct known_ids *known, struct str id, int64_t since);
bool known_ids_has(const struct known_ids *known, struct str id);

/* Drops ids before a new listing is added; otherwise the set would only grow. Keeps instances
 * launched since `from`, which the listing may not show yet. */
void known_ids_renew(struct known_ids *known, int64_t from);
