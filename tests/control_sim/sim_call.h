/* sim_call.h: a provider of one process and its calls, shared by the files of the provider. */
#pragma once

#include "world.h"

struct sim_provider {
    struct provider base;
    struct sim_process *process;
    struct world *world;
    struct sim_call *calls;
    uint64_t epoch;
    int64_t lease_ends_ms; /* 0: not held */
    int64_t confirmed_ms;  /* start of the last call that confirmed the lease */
};

struct sim_call {
    struct sim_provider *provider; /* NULL once its process is gone */
    struct world *world;
    struct sim_call *next;          /* of the provider */
    struct sim_call *newer, *older; /* of the world */
    enum sim_verb verb;
    struct arena memory;
    struct loop_timer *effect, *reply; /* NULL once done */
    int64_t asked_ms;
    bool is_sent;
    bool is_lost; /* the reply is */
    bool acts;    /* has an effect */
    struct provider_answer answer;
    void *context;
    provider_done_fn *done;
    provider_machines_fn *done_machines;
    provider_lease_fn *done_lease;
    provider_preflight_fn *done_preflight;
    provider_resources_fn *done_things;
    /* inputs */
    struct take_request request;
    uint64_t epoch;
    bool has_lease; /* when it was sent */
    struct str call;
    struct str *ids;
    size_t id_count;
    uint64_t launch;   /* tag */
    struct str status; /* tag */
    /* results */
    struct machine *machines;
    size_t machine_count;
    bool tells_lease;
    struct cluster_lease lease;
};

static inline void sim_call_refuse(struct sim_call *call, enum outcome outcome, enum err_kind kind,
                                   const char *text)
{
    call->answer.outcome = outcome;
    (void)err_set(&call->answer.err, kind, "%s", text);
}

/* sim_lease.c: take, renew and release, as of now. */
void sim_lease_effect(struct sim_call *call);

/* sim_launch.c: the bytes of a launch, and its effect. */
struct sim_launch {
    struct str token, zone, launch_config, node_config;
    uint64_t launch;
    int64_t count;
    size_t type;
    enum market market;
};

struct sim_launch sim_launch_read(struct str call);
bool sim_launch_draft(struct provider *base, const struct launch_request *request,
                      struct arena *arena, struct str *ret_call, struct err *err);
void sim_launch_effect(struct sim_call *call);
