/*
 * names.h: texts as small numbers.
 *
 * Resource names, label keys, label values and hashes are compared a great many times in one
 * decision. Whoever hears such a text first adds it here; from then on it is an index, equal
 * texts have equal indexes, and comparing is one instruction. Indexes are given in the order of
 * arrival, so they are the same in every replay; they say nothing about the order of the texts.
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

/* `arena` holds the copies of the texts and must outlive the names. */
void names_init(struct names *names, struct arena *arena);

/* The number of a text; a text heard for the first time gets the next one. */
uint32_t names_add(struct names *names, struct str text);

/* The number of a text, or NAME_NONE when it was never added. */
uint32_t names_find(const struct names *names, struct str text);

/* The text behind a number; empty for NAME_NONE. */
struct str names_text(const struct names *names, uint32_t name);
