/*
 * world.h: a simulated cloud, Ray and the processes whose production controllers act on them.
 *
 * The cloud and Ray are models; the controllers, their journals on SQLite and the handover between
 * laptop and head are the production code. Times are milliseconds since the start of the world,
 * unless a process sees them through its own clocks.
 */
#pragma once

#include "base/buf.h"
#include "control_faults.h"
#include "sim_cloud.h"
#include "sim_process.h"
#include "sim_ray.h"
#include "virtual_loop.h"
#include "world_checks.h"

enum {
    PROCESSES = 2,
    TYPES_MAX = 4,
    FOLDERS_MAX = 16, /* journals in one run */
};

struct sim_call;

struct world_setup {
    uint64_t seed;
    bool without[CONTROL_FAULT_COUNT];
    const char *folder; /* for journals */
    void *context;      /* the trace; NULL for none */
    void (*on_line)(void *context, const char *line);
};

struct world_file {
    const struct config *config;
    struct core_setup core;
};

struct world {
    const struct world_setup *setup;
    struct arena memory;
    struct virtual_time time;
    struct loop *loop; /* of the world itself; never suspended */
    struct rng rng;
    struct control_faults faults;
    const struct config *config;
    struct core_setup core;
    struct sim_cloud cloud;
    struct sim_ray ray;
    struct sim_process processes[PROCESSES];
    struct sim_call *calls;    /* in flight */
    struct sim_instance *head; /* the one in use; NULL until launched */
    struct loop_timer *tick;
    enum goal goal;
    bool keeps_stopped;
    bool is_healing;
    int64_t heals_ms;
    int64_t next_fault_ms[CONTROL_FAULT_COUNT];
    int64_t next_up_ms, next_head_ms; /* when a dead process starts again */
    int64_t down_ms, up_ms;           /* when the goal changes; 0 for never */
    int64_t handovers;
    int64_t quiet_since_ms; /* since when the goal has been reached */
    bool wants_up;          /* a user runs `up` although the service runs */
    bool is_over;
    uint32_t folder_count;
    struct sim_journal *kept[FOLDERS_MAX];
    uint64_t hash, steps, minute_steps; /* steps until the beginning of this minute */
    int64_t minute;
    const char *invariant; /* violated; NULL if none */
    int64_t violated_ms;
    char violation[512];
};

void world_files_open(void); /* once per program */
void world_run(struct world *world, const struct world_setup *setup);

static inline int64_t world_now(const struct world *world)
{
    return world->time.now_ms;
}

/* A line of the trace. */
void world_say(struct world *world, const char *who, const char *fmt, ...) PRINTF_LIKE(3, 4);
void world_mix(struct world *world, uint64_t value);
bool world_is_traced(const struct world *world);
