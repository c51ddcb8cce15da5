/* control_tally.h: the nodes of a controller, counted by their state. */
#pragma once

#include "control_scene.h"

struct role_counts {
    size_t by_state[NODE_STATE_COUNT];
    size_t heads;
};

static inline void count_one(void *context, const struct managed_node *managed_node)
{
    struct role_counts *tally = context;
    if (managed_node->node && !managed_node->is_head) {
        tally->by_state[managed_node->node->state]++;
    }
    tally->heads += managed_node->is_head;
}

static inline struct role_counts counter_of(const struct scene *scene)
{
    struct role_counts tally = {0};
    controller_each(scene->controller, count_one, &tally);
    return tally;
}

static inline bool are_booting(struct scene *scene)
{
    struct role_counts tally = counter_of(scene);
    return tally.by_state[NODE_BOOTING] + tally.by_state[NODE_SETTING_UP] == 3;
}

static inline bool is_empty(struct scene *scene)
{
    return controller_is_empty(scene->controller);
}
