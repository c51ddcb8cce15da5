/* ray_mirror_parts.h: what the files of the mirror share. Private to them. */
#pragma once

#include "app/head/ray/ray_mirror.h"
#include "base/table.h"
#include "io/heap.h"
#include "ray/state.h"

/* ---- ray_mirror_names.c: texts of Ray as names of the core ---- */

/*
 * Names never shrink, and Ray makes up new texts for ever: ids of placement groups and nodes,
 * addresses. So the texts of nodes become names only where somebody asks for them, and what is
 * asked for under an id has a name that is used again for the next one: a slot.
 */
enum mirror_slot_kind { SLOT_GROUP, SLOT_OTHER };

struct mirror_slot {
    char *text;
    size_t len;
    enum mirror_slot_kind kind;
    uint32_t name;    /* "group 3", as reasons call it */
    uint64_t used_in; /* the round in which the load had it last */
};

struct mirror_names {
    struct names *all;
    bool *is_wanted; /* by name: node types or the load ask for it */
    size_t wanted_count;
    size_t load_count, node_count; /* names added on their behalf */
    struct mirror_slot *slots;
    size_t slot_count, slot_capacity;
    size_t next_free[2]; /* by kind: before it none is */
    struct arena slot_memory;
    struct table slot_index; /* by text */
    uint64_t round;          /* of loads */
    uint32_t version;        /* another one: what is known of nodes must be read again */
    uint32_t empty, other, own_node, together;
};

void mirror_names_init(struct mirror_names *names, struct names *all);
void mirror_names_clear(struct mirror_names *names);

/* A load is going to be named: these texts are in it... */
void mirror_names_begin(struct mirror_names *names, const struct ray_load_read *load);
/* ...and are named one by one. An id, or whatever is different every time, goes to a slot. */
uint32_t mirror_names_of_load(struct mirror_names *names, struct str text);
uint32_t mirror_names_of_id(struct mirror_names *names, struct str text,
                            enum mirror_slot_kind kind);
bool mirror_names_is_id_key(struct str key); /* do its values identify single nodes? */
void mirror_names_end(struct mirror_names *names);

/* A text of a node: NAME_NONE when nobody asks for it. */
uint32_t mirror_names_find(const struct mirror_names *names, struct str text);
/* A resource of a node; NAME_NONE: it does not matter. */
uint32_t mirror_names_of_resource(struct mirror_names *names, struct str text);
/* A resource that exists only inside of a placement group: "CPU_group_0_<36 digits>". */
bool mirror_names_is_of_group(struct str text);

/* The text behind a name, also of a slot. */
struct str mirror_names_text(const struct mirror_names *names, uint32_t name);

/* In ten-thousandths, as Ray rounds; what cannot be counted is cut. Never negative. */
int64_t mirror_amount(double amount);

/* ---- ray_mirror_node.c: what the core is shown of a node ---- */

/* One block of memory, told and freed as a whole. */
struct mirror_facts {
    const struct label *labels; /* behind the capacities */
    uint32_t label_count;
    uint32_t capacity_count;
    struct capacity capacities[]; /* by name */
};

struct mirror_node {
    uint8_t id[RAY_ID_BYTES];
    uint32_t read_in; /* the version of names by which the facts were read */
    uint64_t mark;    /* of the glance that they are of */
    uint64_t seen_in; /* the last reply that showed it; 0: none that was understood */
    uint64_t order;   /* the larger, the later it was first seen */
    uint64_t instance;
    int64_t idle_since;         /* or NOT_IDLE */
    int64_t store_free;         /* of object_store_memory: changes too often to be told */
    struct mirror_facts *facts; /* NULL: dead */
    struct mirror_facts *fresh; /* to take their place as soon as they are told */
    char *activity;             /* or NULL */
    uint8_t status;             /* enum ray_node_status */
    bool is_head;
};

/* Reads what a new mark stands for: `fresh` is set when the core would see a difference. */
bool mirror_node_read(struct mirror_node *node, const struct ray_glance *glance,
                      struct mirror_names *names, bool is_store_asked, struct arena *scratch,
                      struct err *err) MUST_USE;
void mirror_node_free(struct mirror_node *node);

static inline bool mirror_is_alive(const struct mirror_node *node)
{
    return node->status != RAY_NODE_DEAD;
}

/* ---- ray_mirror_load.c: what waits ---- */

struct mirror_waiting {
    uint64_t key; /* the same for the same shape in every load */
    int64_t since_ms;
    enum insight_source source;
    const struct request *requests; /* of a gang all of them, else one */
    size_t request_count;
    int64_t count;
    struct str strategy; /* of a gang */
    struct str bytes;
};

struct mirror_load {
    struct arena memory;
    struct ray_load told;
    struct mirror_waiting *items; /* demands, gangs, constraint */
    size_t count;
    struct table index; /* by key */
    bool asks_store;    /* something wants object_store_memory */
};

void mirror_load_init(struct mirror_load *load);
void mirror_load_clear(struct mirror_load *load);

/* Into an empty load. `before` knows since when what waits does so. */
bool mirror_load_read(struct mirror_load *load, struct str bytes, const struct mirror_load *before,
                      struct mirror_names *names, int64_t wall_ms, struct arena *scratch,
                      struct err *err) MUST_USE;

/* ---- ray_mirror.c ---- */

/* A machine: the nodes of Ray that name it, of which one counts. */
struct mirror_seat {
    uint64_t instance;
    struct mirror_node *best;
    struct mirror_node *told; /* its facts are with the core; NULL: told as absent, or never */
    int64_t told_idle_since;
    uint8_t told_status; /* enum ray_status */
    bool is_owed;        /* is told with the next reply, whatever it is */
};

struct ray_mirror {
    struct ray_mirror_hooks hooks;
    struct mirror_names names;
    struct mirror_node **nodes;
    size_t node_count, node_capacity;
    struct mirror_seat *seats;
    size_t seat_count, seat_capacity;
    struct arena index_memory;
    struct table by_id, by_instance;
    struct mirror_load load;
    uint64_t load_mark;
    bool is_load_told;
    uint64_t replies;
    uint64_t orders;
    int64_t version;
    int64_t asked_at_ms; /* the last reply */
    size_t alive;
    uint64_t mark;
    char head[2 * RAY_ID_BYTES + 1];
    char session[100];
};

/* NULL: none. */
struct mirror_seat *mirror_seat_find(const struct ray_mirror *mirror, uint64_t instance);
