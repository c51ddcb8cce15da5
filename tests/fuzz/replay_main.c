/*
 * replay_main.c: a fuzz target as an ordinary program, for builds without libFuzzer.
 *
 *   replay_NAME PATH...          runs the target once over each file, and each file of a folder
 *   replay_NAME --time FILE...   prints "MICROSECONDS FILE" for each: the processor time of
 *                                what the program would do with it, without the test's part
 */
#include "fuzz.h"

#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INPUT_BYTES_MAX = 16 * 1024 * 1024, REPEAT_COUNT = 3, REPEAT_BELOW_US = 2 * 1000 * 1000 };

struct names {
    struct arena *arena;
    struct str *items;
    size_t count;
    size_t capacity;
};

static void take_name(void *context, const struct file_entry *entry)
{
    struct names *names = context;
    if (entry->is_folder) {
        return;
    }
    ARENA_PUSH(names->arena, names->items, names->count, names->capacity) = arena_str(names->arena,
                                                                                      entry->name);
}

static int compare_names(const void *left, const void *right)
{
    return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

/* The file in memory of exactly its size, so that a read past its end is seen. */
static uint8_t *load(const char *path, size_t *ret_size)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, INPUT_BYTES_MAX);
    if (!file_read(path, &text, &err)) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return NULL;
    }
    uint8_t *exact = malloc(text.len ? text.len : 1);
    if (exact && text.len > 0) {
        memcpy(exact, text.ptr, text.len);
    }
    *ret_size = text.len;
    return exact;
}

static bool replay_file(const char *path)
{
    size_t size = 0;
    uint8_t *data = load(path, &size);
    if (!data) {
        return false;
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return true;
}

/* The files of a folder in the order of their names; none if it is not a folder. */
static bool replay_folder(const char *path, size_t *count)
{
    struct arena arena;
    arena_init(&arena);
    struct names names = {.arena = &arena};
    file_list(path, take_name, &names);
    if (names.count > 1) {
        qsort(names.items, names.count, sizeof(struct str), compare_names);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < names.count; i++) {
        struct str file = arena_printf(&arena, "%s/%.*s", path, STR_ARG(names.items[i]));
        ok = replay_file(file.ptr);
        ++*count;
    }
    arena_clear(&arena);
    return ok;
}

static int replay(int count, char **paths)
{
    size_t files = 0;
    for (int i = 0; i < count; i++) {
        size_t before = files;
        if (!replay_folder(paths[i], &files)) {
            return 1;
        }
        if (files == before && !replay_file(paths[i])) {
            return 1;
        }
        files += files == before;
    }
    printf("%zu inputs, nothing found\n", files);
    return 0;
}

static int64_t processor_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 * 1000 + now.tv_nsec / 1000;
}

/* The best of a few runs: what the input costs, not what the machine was busy with. */
static int64_t time_input(const uint8_t *data, size_t size)
{
    int64_t best = INT64_MAX;
    int64_t total = 0;
    for (int i = 0; i < REPEAT_COUNT && total < REPEAT_BELOW_US; i++) {
        int64_t start = processor_us();
        LLVMFuzzerTestOneInput(data, size);
        int64_t taken = processor_us() - start;
        total += taken;
        best = taken < best ? taken : best;
    }
    return best;
}

static int time_files(int count, char **paths)
{
    fuzz_is_timed = true;
    for (int i = 0; i < count; i++) {
        size_t size = 0;
        uint8_t *data = load(paths[i], &size);
        if (!data) {
            return 1;
        }
        printf("%" PRId64 " %s\n", time_input(data, size), paths[i]);
        fflush(stdout);
        free(data);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s [--time] PATH...\n", argv[0]);
        return 2;
    }
    if (strcmp(argv[1], "--time") == 0) {
        return time_files(argc - 2, argv + 2);
    }
    return replay(argc - 1, argv + 1);
}
