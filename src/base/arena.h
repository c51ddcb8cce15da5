/*
 * arena.h: memory with one lifetime.
 *
 * An arena hands out zeroed memory and takes it all back at once; nothing in it is freed singly.
 * It grows through a source given at birth, so that code which must not touch the heap (the core)
 * can use an arena over memory of its caller. An arena that may not grow further ends the program:
 * out of memory is not a condition this program tries to survive.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used_bytes;          /* handed out over the arena's life, for tests and statistics */
    void *(*grab)(size_t size); /* NULL: fixed memory, no growth */
    void (*drop)(void *memory);
};

/* Over the caller's memory; never grows. `memory` must outlive the arena. */
void arena_init_fixed(struct arena *arena, void *memory, size_t size);

/* Over the heap (arena_heap.c). Release with arena_clear(). */
void arena_init(struct arena *arena);

/* The same (arena_secret.c), for keys and tokens: wiped when it is cleared. */
void arena_init_secret(struct arena *arena);

/* Returns everything to the source. The arena may be used again if it can grow. */
void arena_clear(struct arena *arena);

/* Zeroed, aligned for any object. Never NULL, even for size 0. */
void *arena_alloc(struct arena *arena, size_t size);

/* An array of `count` elements; ends the program when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, count, type) ((type *)arena_array((arena), (count), sizeof(type)))

/* A copy with a terminating zero byte behind it. */
struct str arena_str(struct arena *arena, struct str text);

struct str arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Room for one more element in an array that lives in the arena: doubles `*items` when `count`
 * has reached `*capacity`. The old array stays behind until the arena is cleared.
 */
void arena_grow(struct arena *arena, void **items, size_t count, size_t *capacity, size_t size);
