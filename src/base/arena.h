/*
 * arena.h: allocates memory with one common lifetime.
 *
 * An arena returns zeroed memory and frees all of it at once; single objects are not freed. It
 * grows through a source set at initialization, so that code that must not use the heap (the core)
 * can use an arena over its caller's memory. If an arena cannot grow, the program aborts: running
 * out of memory is not handled.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used_bytes;          /* total ever allocated, for tests and statistics */
    void *(*grab)(size_t size); /* NULL: fixed memory, cannot grow */
    void (*drop)(void *memory);
};

/* Over the caller's memory; never grows. `memory` must outlive the arena. */
void arena_init_fixed(struct arena *arena, void *memory, size_t size);

/* Over the heap (arena_heap.c). Release with arena_clear(). */
void arena_init(struct arena *arena);

/* The same as an initializer; AUTO_ARENA clears it at the end of the scope:
 * `AUTO_ARENA struct arena arena = ARENA_HEAP;` */
#define ARENA_HEAP                                       \
    {                                                    \
        .grab = arena_heap_grab, .drop = arena_heap_drop \
    }
#define AUTO_ARENA __attribute__((cleanup(arena_clear)))
void *arena_heap_grab(size_t size);
void arena_heap_drop(void *memory);

/* The same (arena_secret.c), for keys and tokens: erased when cleared. */
void arena_init_secret(struct arena *arena);

/* Returns all memory to the source. The arena may be used again if it can grow. */
void arena_clear(struct arena *arena);

/* Zeroed and aligned for any object. Never NULL, even for size 0. */
void *arena_alloc(struct arena *arena, size_t size);

/* An array of `count` elements; aborts if the size overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, count, type) ((type *)arena_array((arena), (count), sizeof(type)))

/* A NUL-terminated copy. */
struct str arena_str(struct arena *arena, struct str text);

struct str arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Makes room for one more element in an array in the arena: returns `items`, or an array of twice
 * the size with the same elements if `count` has reached `*capacity`. The old array is not freed
 * until the arena is cleared.
 */
void *arena_more(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size);

/* The same for an array that is an lvalue: ARENA_GROW(arena, list->items, list->count, ...). */
#define ARENA_GROW(arena, items, count, capacity) \
    ((items) = arena_more((arena), (items), (count), &(capacity), sizeof(*(items))))

/* The new last element: ARENA_PUSH(arena, list->items, list->count, list->capacity) = item; the
 * right side must not use the array or its count. */
#define ARENA_PUSH(arena, items, count, capacity) \
    (*(ARENA_GROW(arena, items, count, capacity), &(items)[(count)++]))
