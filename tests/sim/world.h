/*
 * world.h: a small random world from a seed: types, offerings, limits, work, faults.
 *
 * Everything that is requested is available once the faults stop, so that the simulator can require
 * that the cluster settles.
 */
#pragma once

#include "sim/simulation.h"

struct world {
    struct simulation_setup setup;
    struct core_settings settings;
    struct workload workload;
    struct names names;
};

/* `without` switches classes of faults off again, by number. */
void world_make(struct world *world, uint64_t seed, const bool *without, struct arena *arena);
