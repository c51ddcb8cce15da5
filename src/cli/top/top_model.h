/*
 * top_model.h: the state received from the head's service, for `shoal top`.
 *
 * Updated line by line (app/head/ctl/ctl.h); everything is copied. Independent of the terminal.
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "base/arena.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_EVENTS_KEPT = 500, TOP_GONE_SHOWN_MS = 20 * 1000 };

struct top_node {
    struct node_view view;
    struct arena texts;
    bool is_settled; /* its cost is in `gone_spending` */
};

struct top_demand {
    struct pending_demand demand;
    struct arena texts;
};

struct top_event {
    struct cluster_event event;
    struct arena texts;
};

struct top_model {
    struct str cluster, where; /* owned by the caller */
    struct ctl_status status;
    struct arena status_texts;
    struct top_node *nodes; /* on the heap, like those below */
    size_t node_count, node_capacity;
    struct arena index_memory;
    struct table index; /* by node name */
    struct top_demand *demands;
    size_t demand_count, demand_capacity;
    struct top_event *events; /* newest last */
    size_t event_count;
    int64_t ahead_ms;     /* the head's clock minus ours */
    char trouble[300];    /* connection error; empty: none */
    bool is_told;         /* a status was received */
    double gone_spending; /* micro-dollars, of terminated nodes */
};

void top_model_init(struct top_model *model);
void top_model_clear(struct top_model *model);

/* Ignores lines that are not about the cluster, such as log lines. `now_ms` is our wall clock. */
void top_model_apply(struct top_model *model, const struct ctl_line *line, int64_t now_ms);

/* Call before another connection sends everything again; events are kept. */
void top_model_forget(struct top_model *model);

/* Drops nodes that terminated some time ago. */
void top_model_prune(struct top_model *model, int64_t now_ms);

/* The number of the newest event; 0: none. */
int64_t top_model_newest(const struct top_model *model);

/* The cost so far of all nodes seen, in micro-dollars; false if a price is unknown. */
bool top_model_spent(const struct top_model *model, int64_t now_ms, double *ret_spent);
/* The cost per hour as `shoal status` shows it: failed instances are billed until the cloud has
 * terminated them. */
bool top_model_price(const struct top_model *model, int64_t *ret_price);
