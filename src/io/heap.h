/* heap.h: objects of this layer that outlive a call. No memory ends the program, as everywhere. */
#pragma once

#include "base/panic.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Zeroed. Give back with free(). */
static inline void *heap_zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        panic("out of memory (asked for %zu bytes)", size);
    }
    return memory;
}

#define HEAP_NEW(type) ((type *)heap_zeroed(sizeof(type)))
