/*
 * driver_messages.h: messages about a decision for drivers, in the wording of Ray's own autoscaler.
 * Pure.
 *
 * "Adding 2 node(s) of type cpu.", "Removing 1 nodes of type cpu (idle).", "Resized to 8 CPUs."
 */
#pragma once

#include "app/core_setup.h"
#include "app/model/cluster_status.h"

struct driver_scene {
    const struct core_settings *settings;
    const struct type_facts *facts; /* by type */
    /* Was the termination already reported? The core may repeat the action. */
    bool (*is_told)(void *context, uint64_t instance);
    void (*take)(void *context, struct str line);
    void *context;
};

/* A new launch, not a retry. */
static inline bool driver_is_addition(const struct action *action)
{
    return action->kind == ACTION_LAUNCH && action->reason.kind == REASON_NEEDED;
}

/* One message for the launches of each type and for its terminations of each reason; false if
 * none. */
bool driver_lines(const struct driver_scene *scene, const struct core_answer *answer,
                  struct arena *arena);

enum { DRIVER_SIZES = 3 }; /* CPUs, GPUs, TPUs */

/* The cluster's size after all pending launches and terminations. */
struct driver_size {
    const struct core_settings *settings;
    uint32_t names[DRIVER_SIZES];
    int64_t sums[DRIVER_SIZES];
    bool has[DRIVER_SIZES];
};

void driver_size_begin(struct driver_size *size, const struct core_settings *settings);
void driver_size_add(struct driver_size *size, const struct node *node, bool is_head);
struct str driver_size_line(const struct driver_size *size, struct arena *arena);

struct str driver_infeasible_line(const struct pending_demand *demand, struct arena *arena);
