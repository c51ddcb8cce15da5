/*
 * driver_lines.h: what drivers are told of a decision, in the words of Ray's own autoscaler. Pure.
 *
 * "Adding 2 node(s) of type cpu.", "Removing 1 nodes of type cpu (idle).", "Resized to 8 CPUs."
 */
#pragma once

#include "app/core_setup.h"
#include "app/head/insight.h"

struct driver_scene {
    const struct core_settings *settings;
    const struct type_facts *facts; /* by type */
    /* The end of that node was told before; the core may ask for it again and again. */
    bool (*is_told)(void *context, uint64_t instance);
    void (*take)(void *context, struct str line);
    void *context;
};

/* A launch that is new, not one that is asked for again. */
static inline bool driver_is_addition(const struct action *action)
{
    return action->kind == ACTION_LAUNCH && action->reason.kind == REASON_NEEDED;
}

/* One line for the launches of each type, one for its ends of each reason. False: none. */
bool driver_lines(const struct driver_scene *scene, const struct core_answer *answer,
                  struct arena *arena);

enum { DRIVER_SIZES = 3 }; /* CPUs, GPUs, TPUs */

/* What there is once everything on its way has come, and what ends has gone. */
struct driver_size {
    const struct core_settings *settings;
    uint32_t names[DRIVER_SIZES];
    int64_t sums[DRIVER_SIZES];
    bool has[DRIVER_SIZES];
};

void driver_size_begin(struct driver_size *size, const struct core_settings *settings);
void driver_size_add(struct driver_size *size, const struct node *node, bool is_head);
struct str driver_size_line(const struct driver_size *size, struct arena *arena);

struct str driver_infeasible_line(const struct insight_demand *demand, struct arena *arena);
