/* replica_env.c: what torchrun, SLURM and AdaptDL's controller would set. */
#include "app/train/replica_env.h"

#include "base/require.h"

#include <inttypes.h>

struct variables {
    struct arena *arena;
    struct replica_variable *items;
    size_t count;
};

static void add_text(struct variables *list, const char *name, struct str value)
{
    require(list->count < REPLICA_VARIABLES_MAX, "the table has room for every variable");
    list->items[list->count++] = (struct replica_variable){name, value};
}

static void add_number(struct variables *list, const char *name, int64_t value)
{
    add_text(list, name, arena_printf(list->arena, "%" PRId64, value));
}

static void add_torch(struct variables *list, const struct replica_place *place)
{
    add_number(list, "RANK", place->rank);
    add_number(list, "WORLD_SIZE", place->world);
    add_number(list, "LOCAL_RANK", place->local_rank);
    add_number(list, "LOCAL_WORLD_SIZE", place->local_world);
    add_number(list, "GROUP_RANK", place->node_rank);
    add_number(list, "GROUP_WORLD_SIZE", place->nodes);
    add_number(list, "NODE_RANK", place->node_rank);
    add_text(list, "ROLE_NAME", STR("default"));
    add_number(list, "ROLE_RANK", place->rank);
    add_number(list, "ROLE_WORLD_SIZE", place->world);
    add_text(list, "MASTER_ADDR", place->master_host);
    add_number(list, "MASTER_PORT", place->master_port);
}

/* Accelerate and others recognize torchrun by these. With them, Lightning would ignore SLURM. */
static void add_torchelastic(struct variables *list, const struct replica_place *place)
{
    add_text(list, "TORCHELASTIC_RUN_ID", place->job);
    add_number(list, "TORCHELASTIC_RESTART_COUNT", place->generation - 1);
    add_number(list, "TORCHELASTIC_MAX_RESTARTS", place->generation);
    add_text(list, "TORCHELASTIC_USE_AGENT_STORE", STR("False"));
}

static void add_slurm(struct variables *list, const struct replica_place *place)
{
    add_number(list, "SLURM_NTASKS", place->world);
    add_number(list, "SLURM_NTASKS_PER_NODE", place->local_world);
    add_number(list, "SLURM_NNODES", place->nodes);
    add_number(list, "SLURM_PROCID", place->rank);
    add_number(list, "SLURM_LOCALID", place->local_rank);
    add_number(list, "SLURM_NODEID", place->node_rank);
    add_text(list, "SLURM_NODELIST", place->master_host);
    add_number(list, "SLURM_JOB_ID", 1);
    add_text(list, "SLURM_JOB_NAME", STR("shoal-train"));
}

static void add_adaptdl(struct variables *list, const struct replica_place *place)
{
    add_text(list, "ADAPTDL_CHECKPOINT_PATH", place->state_folder);
    add_text(list, "ADAPTDL_JOB_ID", arena_printf(list->arena, "shoal/%.*s", STR_ARG(place->job)));
    add_text(list, "ADAPTDL_MASTER_ADDR", place->master_host);
    add_number(list, "ADAPTDL_MASTER_PORT", place->master_port);
    add_number(list, "ADAPTDL_REPLICA_RANK", place->rank);
    add_number(list, "ADAPTDL_NUM_REPLICAS", place->world);
    add_number(list, "ADAPTDL_NUM_NODES", place->nodes);
    add_number(list, "ADAPTDL_NUM_RESTARTS", place->generation - 1);
    if (place->supervisor.len > 0) {
        add_text(list, "ADAPTDL_SUPERVISOR_URL", place->supervisor);
        add_text(list, "ADAPTDL_SCHED_VERSION", STR("0.0.0"));
    }
}

size_t replica_env(const struct replica_place *place, struct arena *arena,
                   struct replica_variable variables[REPLICA_VARIABLES_MAX])
{
    struct variables list = {.arena = arena, .items = variables};
    require(place->rank >= 0 && place->rank < place->world, "a rank is below the world size");
    require(place->generation > 0, "generations are numbered from 1");
    add_torch(&list, place);
    if (place->kind == SCRIPT_LIGHTNING) {
        add_slurm(&list, place);
    } else {
        add_torchelastic(&list, place);
    }
    if (place->kind == SCRIPT_ADAPTDL) {
        add_adaptdl(&list, place);
    }
    add_text(&list, "SHOAL_JOB", place->job);
    add_number(&list, "SHOAL_GENERATION", place->generation);
    add_text(&list, "SHOAL_CHECKPOINT_DIR", place->state_folder);
    return list.count;
}
