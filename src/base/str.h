/*
 * str.h: a view of a string owned elsewhere.
 *
 * Passed by value. Not NUL-terminated unless a function says so; may contain any byte.
 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})

/* For "%.*s". Truncates text longer than 1,000,000 bytes. */
#define STR_ARG(s) ((s).len > 1000000 ? 1000000 : (int)(s).len), ((s).ptr ? (s).ptr : "")

struct str str_from(const char *text); /* NULL gives the empty view */

bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
int str_cmp(struct str a, struct str b); /* byte order, which is code point order in UTF-8 */
bool str_starts(struct str text, const char *prefix);
bool str_ends(struct str text, const char *suffix);

/* Index of the first occurrence, or SIZE_MAX. */
size_t str_find(struct str text, const char *needle);
size_t str_find_char(struct str text, char c);

struct str str_sub(struct str text, size_t from, size_t to); /* bounds are clamped */
struct str str_trim(struct str text);                        /* blanks, tabs, line ends */

/*
 * Splits `*rest` at the first `separator`: returns the part before it and leaves the part after it.
 * Without a separator, returns everything and leaves the empty view.
 */
struct str str_cut(struct str *rest, char separator);

/* Strict: the whole text must be a number, without blanks, with a sign only if signed, and in
 * range. */
bool str_to_i64(struct str text, int64_t *ret_value) MUST_USE;
bool str_to_u32(struct str text, uint32_t *ret_value) MUST_USE;

uint64_t str_hash(struct str text); /* FNV-1a: the same on every machine */

/* With another start value: for hash tables whose collisions must not be predictable. */
uint64_t str_hash_from(uint64_t start, struct str text);
