/* sim_cloud.h: a model of the cloud: instances with their history, tokens, the lease object. */
#pragma once

#include "base/rng.h"
#include "provider/provider.h"

enum {
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    CALL_TIMEOUT_MS = 30 * SECOND_MS, /* a lost call takes effect within this time or never */
    INSTANCES_MAX = 400,
    CHANGES_MAX = 12,
};

struct world;
struct sim_process;

struct sim_change {
    int64_t at_ms; /* may be in the future */
    enum machine_state state;
    uint64_t launch; /* tag */
};

struct sim_instance {
    size_t number; /* index in the cloud */
    struct str id, ip;
    size_t type; /* node type in the file */
    struct str zone, token;
    enum market market;
    struct str launch_config, node_config, uid; /* tags */
    struct str status;                          /* tag ray-node-status */
    bool is_head;
    int64_t created_ms, shows_ms;
    struct sim_change changes[CHANGES_MAX];
    size_t change_count;
    /* its setup, which runs on the machine itself */
    int64_t ssh_ms, setup_ms; /* when sshd answers; how long the steps take */
    int64_t setup_begun_ms;   /* 0: not yet */
    /* Ray on it */
    bool is_in_ray, is_draining, has_accepted_idle_drain;
    int64_t running;       /* tasks */
    int64_t idle_since_ms; /* while nothing runs */
    int64_t exits_ms;      /* a drained raylet exits then; 0 if not */
    int64_t ray_dead_ms;   /* since when Ray says it is dead; 0 if not */
    /* the last request to terminate it */
    uint8_t end_reason; /* enum reason_kind */
};

struct sim_lease {
    bool exists, is_released;
    struct str uid, holder;
    uint64_t epoch;
    int64_t until_ms;
    int64_t disturbed_ms; /* when the object was last deleted; 0 if never */
    uint64_t highest;     /* epoch ever granted */
};

/* A launch that had an effect. */
struct sim_token {
    struct str token, call;
    size_t first, count; /* instances */
};

struct sim_cloud {
    struct sim_instance instances[INSTANCES_MAX];
    size_t count;
    struct sim_token tokens[INSTANCES_MAX];
    size_t token_count;
    struct sim_lease lease;
    struct rng rng;
};

struct sim_instance *sim_cloud_add(struct world *world, size_t type, bool is_head);
struct sim_instance *sim_cloud_find(struct world *world, struct str id);
enum machine_state sim_instance_state(const struct sim_instance *instance, int64_t at_ms);
/* Pending or running: billed. */
bool sim_instance_is_live(const struct world *world, const struct sim_instance *instance);
bool sim_instance_is_stopped(const struct world *world, const struct sim_instance *instance);
void sim_instance_end(struct world *world, struct sim_instance *instance);
void sim_instance_stop(struct world *world, struct sim_instance *instance);
void sim_instance_start(struct world *world, struct sim_instance *instance);
void sim_instance_tag_launch(struct world *world, struct sim_instance *instance, uint64_t launch);
/* The instances of the cluster as a listing shows them now, in `arena`. */
size_t sim_cloud_list(struct world *world, struct arena *arena, struct machine **ret_machines);
struct machine sim_cloud_machine(struct world *world, const struct sim_instance *instance,
                                 int64_t as_of_ms, struct arena *arena);

/* ---- sim_provider.c ---- */

struct provider *sim_provider_new(struct sim_process *process);
void sim_provider_free_calls(struct world *world);
