/* node_gpu.c: waits until the NVIDIA driver shows the GPUs of this node. */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "app/test_times.h"
#include "io/clock.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 10 * 60 * 1000, /* Deep Learning images install the driver at their first boot */
    PAUSE_MS = 2000,
    CALL_MS = 60 * 1000, /* a broken driver can block nvidia-smi */
    DEVICES_MAX = 64,
    SAID_BYTES_MAX = 64 * 1024,
};

/* One line for each GPU, and one for each part of a divided GPU. */
static int64_t node_gpu_count_lines(struct str text)
{
    int64_t count = 0;
    while (text.len > 0) {
        struct str line = str_trim(str_cut(&text, '\n'));
        count += str_starts(line, "GPU ") || str_starts(line, "MIG ");
    }
    return count;
}

/* Some drivers and containers come without nvidia-smi. */
static int64_t node_gpu_count_devices(void)
{
    int64_t count = 0;
    char path[32];
    for (int i = 0; i < DEVICES_MAX; i++) {
        snprintf(path, sizeof(path), "/dev/nvidia%d", i);
        count += access(path, F_OK) == 0;
    }
    return count;
}

static int64_t node_gpu_count(struct arena *arena)
{
    static const char *const argv[] = {"nvidia-smi", "-L", NULL};
    AUTO_BUF struct buf said;
    struct str path;
    struct err err;
    int status;
    buf_init(&said, SAID_BYTES_MAX);
    if (!tools_find(arena, argv[0], NULL, &path)) {
        return node_gpu_count_devices();
    }
    return tools_run(argv, CALL_MS, &said, &status, &err) ? node_gpu_count_lines(buf_str(&said))
                                                          : 0;
}

/* Prints why: nvidia-smi's own words. */
static void node_gpu_fail(const struct node_gpu_setup *setup, int64_t found)
{
    static const char *const argv[] = {"nvidia-smi", NULL};
    struct err err;
    int status;
    fflush(stdout);
    if (!tools_run(argv, CALL_MS, NULL, &status, &err) && status < 0) {
        fprintf(stderr, "%s\n", err.text);
    }
    fprintf(stderr, "error: nvidia-smi -L shows %lld of the %lld GPUs of this %s\n",
            (long long)found, (long long)setup->count,
            setup->is_container ? "container" : "machine");
}

/* Drivers of AMD and of Gaudi: they have no tool that every image has. */
static bool node_gpu_is_other(void)
{
    static const char *const devices[] = {"/dev/kfd", "/dev/accel", "/dev/hl0"};
    bool is_other = false;
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        is_other = is_other || access(devices[i], F_OK) == 0;
    }
    return is_other;
}

/* A container gets its GPUs at its start or never. */
int node_gpu(const struct node_gpu_setup *setup)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct timespec pause = {PAUSE_MS / 1000, 0};
    int64_t limit_ms = WAIT_MS;
    test_times_read(&(struct test_time){"gpu", &limit_ms}, 1);
    int64_t until = clock_monotonic_ms(&clock_of_machine) + (setup->is_container ? 0 : limit_ms);
    int64_t found = node_gpu_count(&arena);
    for (bool is_first = true; found < setup->count && !node_gpu_is_other(); is_first = false) {
        if (clock_monotonic_ms(&clock_of_machine) >= until) {
            node_gpu_fail(setup, found);
            return 1;
        }
        if (is_first) {
            printf("waiting for the NVIDIA driver: nvidia-smi shows %lld of %lld GPUs\n",
                   (long long)found, (long long)setup->count);
            fflush(stdout);
        }
        nanosleep(&pause, NULL);
        found = node_gpu_count(&arena);
    }
    printf("%lld GPU%s\n", (long long)found, found == 1 ? "" : "s");
    return 0;
}
