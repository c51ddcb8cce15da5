/* ray_view_internal.h: struct ray_view, shared by the files that implement it. */
#pragma once

#include "app/head/ray/ray_view.h"
#include "app/head/ray/ray_view_names.h"
#include "base/table.h"
#include "io/xalloc.h"
#include "ray/state.h"

/* ---- ray_view_node.c: nodes for the core ---- */

/* One block of memory, reported and freed as a whole. */
struct ray_view_facts {
    const struct label *labels; /* stored after the capacities */
    uint32_t label_count;
    uint32_t capacity_count;
    struct capacity capacities[]; /* sorted by name */
};

struct ray_view_node {
    uint8_t id[RAY_ID_BYTES];
    uint32_t read_in;  /* version of names used to read the facts */
    uint64_t mark;     /* mark of the summary from which the facts were read */
    uint64_t seen_in;  /* last reply that contained it; 0 if none was applied */
    uint64_t noted_in; /* last update that read it, whether or not it was applied */
    uint64_t order;    /* increases with the time of first sight */
    uint64_t instance;
    int64_t idle_since;           /* or NOT_IDLE */
    int64_t store_free;           /* free object_store_memory; changes too often to be reported */
    struct ray_view_facts *facts; /* NULL if dead */
    struct ray_view_facts *fresh; /* replaces `facts` once reported */
    char *activity;               /* or NULL */
    uint8_t status;               /* enum ray_node_status */
    bool is_head;
};

/* Reads a node whose mark changed; sets `fresh` if the core would see a difference. */
bool ray_view_node_read(struct ray_view_node *node, const struct ray_node_summary *glance,
                        struct ray_view_names *names, bool is_store_asked, struct arena *scratch,
                        struct err *err) MUST_USE;
void ray_view_node_free(struct ray_view_node *node);

static inline bool ray_view_is_alive(const struct ray_view_node *node)
{
    return node->status != RAY_NODE_DEAD;
}

/* ---- ray_view_load.c: pending demand ---- */

struct ray_view_waiting {
    uint64_t key; /* equal for the same shape in every load */
    int64_t since_ms;
    enum demand_source source;
    const struct request *requests; /* all of a gang, otherwise one */
    size_t request_count;
    int64_t count;
    struct str strategy; /* strategy of a gang */
    struct str job;      /* of a training job */
    struct str bytes;
};

struct ray_view_load {
    struct arena memory;
    struct ray_load told;
    struct ray_view_waiting *items; /* demands, gangs, constraint */
    size_t count;
    struct table index;                       /* by key */
    bool asks_store;                          /* object_store_memory is requested */
    const struct ray_view_training *training; /* input of ray_view_load_read() */
    size_t training_count;
};

void ray_view_load_init(struct ray_view_load *load);
void ray_view_load_clear(struct ray_view_load *load);

/* Reads into a load that has only `training`. `before` provides the times of requests that were
 * already pending. */
bool ray_view_load_read(struct ray_view_load *load, struct str bytes,
                        const struct ray_view_load *before, struct ray_view_names *names,
                        int64_t wall_ms, struct arena *scratch, struct err *err) MUST_USE;

/* ---- ray_view.c ---- */

/* A machine and the Ray node that represents it. */
struct ray_view_machine {
    uint64_t instance;
    struct ray_view_node *best;
    struct ray_view_node *told; /* the core points to its facts; NULL if reported absent or never */
    int64_t told_idle_since;
    uint8_t told_status; /* enum ray_status */
    bool is_owed;        /* reported with the next reply in any case */
};

struct ray_view {
    struct ray_view_hooks hooks;
    struct ray_view_names names;
    struct ray_view_node **nodes;
    size_t node_count, node_capacity;
    struct ray_view_machine *seats;
    size_t seat_count, seat_capacity;
    struct arena index_memory;
    struct table by_id, by_instance;
    struct ray_view_load load;
    uint64_t load_mark;
    bool is_load_told;
    bool is_load_owed; /* reported with the next reply in any case */
    uint64_t replies;  /* applied ones */
    uint64_t updates;  /* begun ones */
    uint64_t orders;
    int64_t version;
    int64_t asked_at_ms; /* request time of the last reply */
    size_t alive;
    uint64_t mark;
    char head[2 * RAY_ID_BYTES + 1];
    char session[100];
};

/* NULL if none. */
struct ray_view_machine *ray_view_machine_find(const struct ray_view *mirror, uint64_t instance);
