/*
 * index_sort.h: a stable sort of indexes.
 *
 * libc's qsort() is not stable and may allocate. Ray's decisions depend on the order of equal
 * elements, so the core needs its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Negative if `a` comes before `b`; 0 to keep their order. */
typedef int index_compare_fn(const void *context, uint32_t a, uint32_t b);

/* `spare` is as long as `items`; its contents are undefined afterwards. */
void index_sort(uint32_t *items, uint32_t *spare, size_t count, index_compare_fn *compare,
                const void *context);
