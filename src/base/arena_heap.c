/* arena_heap.c: the arena source on the C heap. Separate from arena.c so that code that must not
 * allocate can link without it. */
#include "base/arena.h"

#include "base/panic.h"

#include <stdlib.h>

void *arena_heap_grab(size_t size)
{
    void *memory = malloc(size);
    if (!memory) {
        panic("out of memory (requested %zu bytes)", size);
    }
    return memory;
}

void arena_heap_drop(void *memory)
{
    free(memory);
}

void arena_init(struct arena *arena)
{
    *arena = (struct arena)ARENA_HEAP;
}
