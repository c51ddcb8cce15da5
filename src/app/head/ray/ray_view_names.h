/*
 * ray_view_names.h: Ray's texts as names of the core.
 *
 * Names are never freed, but Ray keeps generating texts: ids of placement groups and nodes,
 * addresses. So a text of a node becomes a name only if it is requested somewhere, and ids get
 * names that are reused: slots.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"
#include "core/intern.h"
#include "ray/state.h"

enum ray_view_slot_kind { SLOT_GROUP, SLOT_OTHER };

struct ray_view_slot {
    char *text;
    size_t len;
    enum ray_view_slot_kind kind;
    uint32_t name;    /* "group 3", as in reasons */
    uint64_t used_in; /* last round whose load used it */
};

struct ray_view_names {
    struct names *all;
    bool *is_wanted; /* by name: is it used by node types or the load? */
    size_t wanted_count;
    size_t load_count, node_count; /* names added for them */
    struct ray_view_slot *slots;
    size_t slot_count, slot_capacity;
    size_t next_free[2]; /* by kind: first slot that may be free */
    struct arena slot_memory;
    struct table slot_index; /* by text */
    uint64_t round;          /* incremented with every load */
    uint32_t version;        /* if it changes, nodes must be read again */
    uint32_t empty, other, own_node, together;
};

void ray_view_names_init(struct ray_view_names *names, struct names *all);
void ray_view_names_clear(struct ray_view_names *names);

/* Starts naming the texts of a load. */
void ray_view_names_begin(struct ray_view_names *names, const struct ray_load_read *load);
/* Ids and other unique texts get a slot. */
uint32_t ray_view_names_of_load(struct ray_view_names *names, struct str text);
uint32_t ray_view_names_of_id(struct ray_view_names *names, struct str text,
                              enum ray_view_slot_kind kind);
bool ray_view_names_is_id_key(struct str key); /* do its values identify single nodes? */
void ray_view_names_end(struct ray_view_names *names);

/* A text of a node; NAME_NONE if not requested anywhere. */
uint32_t ray_view_names_find(const struct ray_view_names *names, struct str text);
/* A resource of a node; NAME_NONE if irrelevant. */
uint32_t ray_view_names_of_resource(struct ray_view_names *names, struct str text);
/* A resource that exists only inside a placement group: "CPU_group_0_<36 digits>". */
bool ray_view_names_is_of_group(struct str text);

/* The text of a name or slot. */
struct str ray_view_names_text(const struct ray_view_names *names, uint32_t name);

/* In ten-thousandths, rounded as Ray does; capped, never negative. */
int64_t ray_view_amount(double amount);
