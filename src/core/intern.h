/*
 * intern.h: maps strings to small numbers.
 *
 * Resource names, label keys, label values and hashes are compared very often in one decision. Each
 * is added here when it is first seen; from then on it is an index, and comparing is one
 * instruction. Indexes are assigned in order of arrival, so they are the same in every replay; they
 * do not reflect the order of the strings.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_NONE UINT32_MAX

struct names {
    struct arena *arena;
    struct str *items;
    size_t count;
    size_t capacity;
    struct table index;
};

/* `arena` holds the copies of the strings and must outlive `names`. */
void intern_init(struct names *names, struct arena *arena);

/* The index of a string, which is added if it is new. */
uint32_t intern_add(struct names *names, struct str text);

/* The index of a string, or NAME_NONE if it was never added. */
uint32_t intern_find(const struct names *names, struct str text);

/* The string of an index; empty for NAME_NONE. */
struct str intern_text(const struct names *names, uint32_t name);
