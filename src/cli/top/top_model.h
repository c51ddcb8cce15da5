/*
 * top_model.h: what the head's service has told so far, as `shoal top` shows it.
 *
 * Heard line by line (app/head/channel/ctl.h); everything is copied. Knows no terminal.
 */
#pragma once

#include "app/head/channel/ctl.h"
#include "base/arena.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_EVENTS_KEPT = 500, TOP_GONE_SHOWN_MS = 20 * 1000 };

struct top_node {
    struct node_view view;
    struct arena texts;
};

struct top_demand {
    struct insight_demand demand;
    struct arena texts;
};

struct top_event {
    struct insight_event event;
    struct arena texts;
};

struct top_model {
    struct str cluster, where; /* the owner's */
    struct ctl_status status;
    struct arena status_texts;
    struct top_node *nodes; /* on the heap, as those below */
    size_t node_count, node_capacity;
    struct arena index_memory;
    struct table index; /* of the nodes' names */
    struct top_demand *demands;
    size_t demand_count, demand_capacity;
    struct top_event *events; /* the newest last */
    size_t event_count;
    int64_t ahead_ms;     /* the head's clock is so much later than ours */
    char trouble[300];    /* with the connection; empty: none */
    bool is_told;         /* a status has come */
    double gone_spending; /* micro-dollars, of nodes that are gone */
};

void top_model_init(struct top_model *model);
void top_model_clear(struct top_model *model);

/* A line that is not of the cluster (a log) is nothing to it. `now_ms` is our wall clock. */
void top_model_hear(struct top_model *model, const struct ctl_line *line, int64_t now_ms);

/* Before everything is told anew, by another connection; events stay. */
void top_model_forget(struct top_model *model);

/* Nodes that have been gone for a while. */
void top_model_prune(struct top_model *model, int64_t now_ms);

/* The number of the newest event; 0: none. */
int64_t top_model_newest(const struct top_model *model);

/* What the nodes that were seen have cost, in micro-dollars; false: some have no known price. */
bool top_model_spent(const struct top_model *model, int64_t now_ms, double *ret_spent);
/* And what they cost per hour. */
bool top_model_price(const struct top_model *model, int64_t *ret_price);
