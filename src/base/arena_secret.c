/* arena_secret.c: the arena source whose memory is wiped before it goes back to the heap. Its
 * blocks know their size, so that all of it can be wiped. */
#include "base/arena.h"

#include "base/panic.h"
#include "base/wipe.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct head {
    alignas(max_align_t) size_t size; /* of all of it */
};

static void *grab(size_t size)
{
    struct head *head = size <= SIZE_MAX - sizeof(*head) ? malloc(sizeof(*head) + size) : NULL;
    if (!head) {
        panic("out of memory (asked for %zu bytes)", size);
    }
    head->size = sizeof(*head) + size;
    return head + 1;
}

static void drop(void *memory)
{
    struct head *head = (struct head *)memory - 1;
    wipe(head, head->size);
    free(head);
}

void arena_init_secret(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->grab = grab;
    arena->drop = drop;
}
