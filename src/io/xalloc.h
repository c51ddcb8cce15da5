/* xalloc.h: heap objects that outlive a call. Running out of memory aborts the program. */
#pragma once

#include "base/panic.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Zeroed. Release with free(). */
static inline void *heap_zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        panic("out of memory (requested %zu bytes)", size);
    }
    return memory;
}

#define HEAP_NEW(type) ((type *)heap_zeroed(sizeof(type)))

/* See HEAP_ROOM(). */
static inline void *heap_room(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return items;
    }
    size_t more = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = heap_zeroed(more * size);
    if (count > 0) {
        memcpy(grown, items, count * size);
    }
    free(items);
    *capacity = more;
    return grown;
}

/* Makes room for one more item in a heap array. */
#define HEAP_ROOM(items, count, capacity) \
    ((items) = heap_room((items), (count), &(capacity), sizeof(*(items))))
