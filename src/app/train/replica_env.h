/*
 * replica_env.h: the environment variables of a replica. Pure.
 *
 * torch.distributed reads the variables that torchrun sets, AdaptDL its own, and Lightning those of
 * SLURM.
 */
#pragma once

#include "app/train/script_kind.h"
#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct replica_place {
    enum script_kind kind;
    struct str job;
    int64_t generation;
    int64_t rank, world;
    int64_t local_rank, local_world; /* among the replicas of its node */
    int64_t node_rank, nodes;
    struct str master_host;
    int64_t master_port;
    struct str state_folder;
    struct str supervisor; /* URL of AdaptDL's supervisor; empty if there is none */
};

struct replica_variable {
    const char *name;
    struct str value;
};

enum { REPLICA_VARIABLES_MAX = 48 };

/* Returns their number. Texts are in `arena`. */
size_t replica_env(const struct replica_place *place, struct arena *arena,
                   struct replica_variable variables[REPLICA_VARIABLES_MAX]);
