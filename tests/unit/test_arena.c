/* test_arena.c: alignment, zeroing, growth, the fixed arena; impossible sizes abort. */
#include "base/arena.h"

#include "unit.h"

#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_zeroed(const unsigned char *memory, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (memory[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Does calling it abort? Runs in a child, whose stderr is discarded. */
static bool aborts(void (*call)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        call();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void memory_is_aligned_and_zeroed(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 15, 16, 17, 100, 4096, 16384, 16385, 3000000};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned char *memory = arena_alloc(&arena, sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        assert_true(is_zeroed(memory, sizes[i]));
        memset(memory, 0xA5, sizes[i]);
    }
    arena_clear(&arena);
}

static void allocations_do_not_overlap(void **state)
{
    enum { COUNT = 2000, SIZE = 100 };
    static unsigned char *all[COUNT];
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = arena_alloc(&arena, SIZE);
        memset(all[i], (int)(i % 251), SIZE);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(all[i][0], i % 251);
        assert_int_equal(all[i][SIZE - 1], i % 251);
    }
    assert_true(arena.used_bytes >= (size_t)COUNT * SIZE);
    arena_clear(&arena);
    assert_int_equal(arena.used_bytes, 0);
}

static size_t grabbed;
static size_t dropped;

static void *count_grab(size_t size)
{
    grabbed++;
    return malloc(size);
}

static void count_drop(void *memory)
{
    dropped++;
    free(memory);
}

static void clear_returns_every_block(void **state)
{
    struct arena arena = {.grab = count_grab, .drop = count_drop};
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        arena_alloc(&arena, 10000);
    }
    assert_true(grabbed > 1);
    arena_clear(&arena);
    assert_int_equal(dropped, grabbed);
    assert_null(arena.blocks);
    assert_true(is_zeroed(arena_alloc(&arena, 64), 64)); /* and it can be used again */
    arena_clear(&arena);
    assert_int_equal(dropped, grabbed);
    arena_clear(&arena); /* the empty arena too */
}

static void fixed_arena_is_zeroed_again_after_clear(void **state)
{
    static alignas(max_align_t) unsigned char memory[1024];
    struct arena arena;
    (void)state;
    memset(memory, 0xFF, sizeof(memory));
    arena_init_fixed(&arena, memory, sizeof(memory));
    unsigned char *first = arena_alloc(&arena, 512);
    assert_true(first >= memory && first + 512 <= memory + sizeof(memory));
    assert_true(is_zeroed(first, 512));
    memset(first, 0xFF, 512);
    arena_clear(&arena);
    assert_ptr_equal(arena_alloc(&arena, 512), first);
    assert_true(is_zeroed(first, 512));
}

static void overfill_fixed(void)
{
    static alignas(max_align_t) unsigned char memory[256];
    struct arena arena;
    arena_init_fixed(&arena, memory, sizeof(memory));
    arena_alloc(&arena, 128);
    arena_alloc(&arena, 128);
}

static void start_too_small(void)
{
    static alignas(max_align_t) unsigned char memory[8];
    struct arena arena;
    arena_init_fixed(&arena, memory, sizeof(memory));
}

static void overflow_array(void)
{
    struct arena arena;
    arena_init(&arena);
    arena_array(&arena, SIZE_MAX / 8 + 1, 8);
}

static void overflow_rounding(void)
{
    struct arena arena;
    arena_init(&arena);
    arena_alloc(&arena, SIZE_MAX - 1);
}

static void impossible_sizes_end_the_program(void **state)
{
    (void)state;
    assert_true(aborts(overfill_fixed));
    assert_true(aborts(start_too_small));
    assert_true(aborts(overflow_array));
    assert_true(aborts(overflow_rounding));
}

static void text_is_copied_and_terminated(void **state)
{
    char text[] = "shoal";
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str copy = arena_str(&arena, (struct str){text, 3});
    text[0] = 'X';
    assert_str(copy, "sho");
    assert_int_equal(copy.ptr[3], '\0');
    struct str empty = arena_str(&arena, (struct str){NULL, 0});
    assert_int_equal(empty.len, 0);
    assert_int_equal(empty.ptr[0], '\0');
    struct str printed = arena_printf(&arena, "%s-%03d", "n", 7);
    assert_str(printed, "n-007");
    assert_int_equal(printed.ptr[printed.len], '\0');
    assert_str(arena_printf(&arena, "%s", ""), "");
    arena_clear(&arena);
}

static void growing_array_keeps_its_items(void **state)
{
    struct arena arena;
    void *items = NULL;
    size_t capacity = 0;
    (void)state;
    arena_init(&arena);
    for (uint32_t i = 0; i < 1000; i++) {
        items = arena_more(&arena, items, i, &capacity, sizeof(uint32_t));
        assert_true(capacity > i);
        ((uint32_t *)items)[i] = i * 3;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(((uint32_t *)items)[i], i * 3);
    }
    void *before = items;
    items = arena_more(&arena, items, 5, &capacity,
                       sizeof(uint32_t)); /* enough room: nothing moves */
    assert_ptr_equal(items, before);
    arena_clear(&arena);
}

static void secret_memory_is_like_any_other(void **state)
{
    struct arena arena;
    (void)state;
    arena_init_secret(&arena);
    for (size_t size = 1; size < 3 * 1000 * 1000; size *= 3) {
        unsigned char *memory = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        assert_int_equal(memory[0] | memory[size - 1], 0);
        memset(memory, 0xaa, size);
    }
    arena_clear(&arena);
    assert_null(arena.blocks);
    assert_str(arena_str(&arena, STR("again")), "again");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_and_zeroed),
        cmocka_unit_test(allocations_do_not_overlap),
        cmocka_unit_test(clear_returns_every_block),
        cmocka_unit_test(fixed_arena_is_zeroed_again_after_clear),
        cmocka_unit_test(impossible_sizes_end_the_program),
        cmocka_unit_test(text_is_copied_and_terminated),
        cmocka_unit_test(growing_array_keeps_its_items),
        cmocka_unit_test(secret_memory_is_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
