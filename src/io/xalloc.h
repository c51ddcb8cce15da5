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
