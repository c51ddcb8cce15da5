/* arena.c: the bump allocator. Blocks are chained newest first; heap functions are called only
 * through the arena's source, so linking this file does not pull in malloc. */
#include "base/arena.h"

#include "base/require.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 16 * 1024, LARGEST_BLOCK_BYTES = 1024 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes of data */
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

static size_t round_up(size_t size)
{
    const size_t align = alignof(max_align_t);
    require(size <= SIZE_MAX - align, "the size does not overflow");
    return (size + align - 1) & ~(align - 1);
}

void arena_init_fixed(struct arena *arena, void *memory, size_t size)
{
    memset(arena, 0, sizeof(*arena));
    require(size >= sizeof(struct arena_block), "fixed memory has room for a block");
    struct arena_block *block = memory;
    block->next = NULL;
    block->size = size - sizeof(*block);
    block->used = 0;
    arena->blocks = block;
}

static void arena_add_block(struct arena *arena, size_t need)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK_BYTES;
    if (size > LARGEST_BLOCK_BYTES) {
        size = LARGEST_BLOCK_BYTES;
    }
    if (size < need) {
        size = need;
    }
    require(arena->grab, "fixed memory is large enough");
    require(size <= SIZE_MAX - sizeof(struct arena_block), "the size does not overflow");
    struct arena_block *block = arena->grab(sizeof(*block) + size);
    block->next = arena->blocks;
    block->size = size;
    block->used = 0;
    arena->blocks = block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size = round_up(size ? size : 1);
    if (!arena->blocks || arena->blocks->size - arena->blocks->used < size) {
        arena_add_block(arena, size);
    }
    require(arena->blocks->used + size <= arena->blocks->size, "the block has room");
    void *memory = arena->blocks->data + arena->blocks->used;
    arena->blocks->used += size;
    arena->used_bytes += size;
    return memset(memory, 0, size);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    require(size == 0 || count <= SIZE_MAX / size, "the size of the array does not overflow");
    return arena_alloc(arena, count * size);
}

void arena_clear(struct arena *arena)
{
    while (arena->drop && arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        arena->drop(block);
    }
    if (arena->blocks) {
        arena->blocks->used = 0;
    }
    arena->used_bytes = 0;
}

struct str arena_str(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    return (struct str){copy, text.len};
}

struct str arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    require(len >= 0, "the format is valid");
    char *text = arena_alloc(arena, (size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return (struct str){text, (size_t)len};
}

void *arena_more(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
    require(count <= *capacity, "the elements fit into their array");
    if (count < *capacity) {
        return items;
    }
    size_t wanted = *capacity ? *capacity * 2 : 8;
    require(wanted > count, "the larger array has room");
    void *larger = arena_array(arena, wanted, size);
    if (count > 0) {
        memcpy(larger, items, count * size);
    }
    *capacity = wanted;
    return larger;
}
