/* arena_heap.c: the arena source that is the C heap. Apart from arena.c so that code which must
 * not allocate can link the one without the other. */
#include "base/arena.h"

#include "base/panic.h"

#include <stdlib.h>
#include <string.h>

static void *grab(size_t size)
{
    void *memory = malloc(size);
    if (!memory) {
        panic("out of memory (asked for %zu bytes)", size);
    }
    return memory;
}

static void drop(void *memory)
{
    free(memory);
}

void arena_init(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->grab = grab;
    arena->drop = drop;
}
