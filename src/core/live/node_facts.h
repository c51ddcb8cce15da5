/* node_facts.h: derived properties of nodes and types. Private to core/live. */
#pragma once

#include "core/live/core_internal.h"

/* The node's type; the type count represents all types that are no longer in the file. */
static inline uint32_t node_type(const struct core *core, const struct node *node)
{
    const struct core_settings *settings = core->settings;
    if (node->is_head) {
        return settings->head_type;
    }
    return node->offering < settings->offering_count ? settings->offerings[node->offering].type
                                                     : (uint32_t)settings->type_count;
}

static inline bool node_is_spot(const struct core *core, const struct node *node)
{
    return node->offering < core->settings->offering_count &&
           core->settings->offerings[node->offering].market == MARKET_SPOT;
}

static inline int64_t node_price(const struct core *core, const struct node *node)
{
    bool is_listed = node->is_outdated || node->offering >= core->settings->offering_count;
    return is_listed ? node->price : core->settings->offerings[node->offering].price;
}

static inline int64_t idle_timeout_of(const struct core *core, uint32_t type)
{
    int64_t own = core->types[type].idle_timeout_ms;
    return own != PLAN_NO_LIMIT ? own : core->settings->idle_timeout;
}

/* The time before which the node is not considered idle: it has just joined and waits for its first
 * work, or has just refused a drain. */
static inline int64_t idle_counts_from(const struct core *core, const struct node *node)
{
    int64_t settled_at = node->has_worked ? 0 : node->joined_at + core->settings->times.settle;
    return settled_at > node->until ? settled_at : node->until;
}

static inline bool outdated_is_drained(const struct node *node)
{
    return node->state == NODE_DRAINING && node->reason.kind == REASON_OUTDATED;
}

/*
 * If nodes of a type have joined before, three failed setups in a row delay the next launch. If
 * none has ever joined, the type is disabled: its settings do not work, and every further instance
 * would only cost money.
 */
enum { STRIKES = 3 };
static inline bool type_is_stopped(const struct core *core, uint32_t type)
{
    return !core->type_works[type] && core->type_breakers[type].refusals >= STRIKES;
}

static inline bool type_is_paused(const struct core *core, uint32_t type)
{
    return type_is_stopped(core, type) || breaker_is_open(&core->type_breakers[type], core->now) ||
           breaker_is_open(&core->type_deaths[type], core->now);
}
