/* arena_secret.c: the arena source that erases memory before freeing it. Each block stores its size
 * for that. */
#include "base/arena.h"

#include "base/memzero.h"
#include "base/panic.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct head {
    alignas(max_align_t) size_t size; /* size of the whole block */
};

static void *arena_secret_grab(size_t size)
{
    struct head *head = size <= SIZE_MAX - sizeof(*head) ? malloc(sizeof(*head) + size) : NULL;
    if (!head) {
        panic("out of memory (requested %zu bytes)", size);
    }
    head->size = sizeof(*head) + size;
    return head + 1;
}

static void arena_secret_drop(void *memory)
{
    struct head *head = (struct head *)memory - 1;
    memzero(head, head->size);
    free(head);
}

void arena_init_secret(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->grab = arena_secret_grab;
    arena->drop = arena_secret_drop;
}
