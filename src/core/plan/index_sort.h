/*
 * index_sort.h: a stable sort of indexes.
 *
 * libc's sort keeps no promise about equal elements and may allocate; Ray's decisions depend on
 * the order of equals, so the core brings its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Negative: `a` before `b`; 0: as they stood. */
typedef int index_compare_fn(const void *context, uint32_t a, uint32_t b);

/* `spare` is as long as `items` and comes back with anything in it. */
void index_sort(uint32_t *items, uint32_t *spare, size_t count, index_compare_fn *compare,
                const void *context);
