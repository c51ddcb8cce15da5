/* explain_internal.h: shared by the files that write explanations. */
#pragma once

#include "app/head/explain/service_explain.h"
#include "core/format.h"

enum { EXPLAIN_LINES_MAX = 12 };

/* An answer being written. */
struct explain_sheet {
    const struct explain_scene *scene;
    struct arena *arena;
    explain_fn *take;
    void *context;
    struct str lines[EXPLAIN_LINES_MAX];
    size_t line_count;
};

/* ---- explain_sheet.c ---- */

void explain_line(struct explain_sheet *sheet, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Delivers the lines so far and clears them. `fix` may be empty. */
void explain_give(struct explain_sheet *sheet, struct str question, struct str fix);

/* "3 min 10 s" since then; "0 s" for a time in the future. */
struct str explain_age(const struct explain_sheet *sheet, int64_t since_ms);

/* The last event of one of these kinds (bits) about `node`, or about no node if that is empty; NULL
 * if none is known. */
const struct cluster_event *explain_event(const struct explain_scene *scene, unsigned kinds,
                                          struct str node);

/* NULL if it is not in the file. */
const struct config_node_type *explain_type(const struct explain_scene *scene, struct str name);

/* Is it pending, so that it can run pending requests? */
bool explain_is_coming(const struct node_view *view);

/* If nothing can be launched at all, adds a line that says why, sets the fix and returns true. */
bool explain_block(struct explain_sheet *sheet, struct str *ret_fix);

/* ---- explain_demand.c ---- */

void explain_demand(struct explain_sheet *sheet, const struct pending_demand *demand);
/* Does `about` refer to it? */
bool explain_is_demand(const struct pending_demand *demand, struct str about);

/* Says which run of Ray's libraries may have called request_resources(). True if there is one. */
bool explain_requester(struct explain_sheet *sheet);

/* ---- explain_node.c ---- */

void explain_node(struct explain_sheet *sheet, const struct node_view *view);
/* For a node that no longer exists; false if nothing is known about it. */
bool explain_past_node(struct explain_sheet *sheet, struct str name);
/* Explains only why it failed. `also` names others that failed in the same way, or is empty. */
void explain_failure(struct explain_sheet *sheet, const struct node_view *view, struct str also);
