/* explain_parts.h: explanations from inside; shared by the files that make them up. */
#pragma once

#include "app/head/explain/service_explain.h"
#include "core/words.h"

enum { EXPLAIN_LINES_MAX = 12 };

/* An answer that is being written. */
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
/* Hands over the lines so far, and begins anew. `fix` may be empty. */
void explain_give(struct explain_sheet *sheet, struct str question, struct str fix);

/* "3 min 10 s" since then; what is in the future is "0 s". */
struct str explain_age(const struct explain_sheet *sheet, int64_t since_ms);

/* The last event of one of these kinds (as bits) that is about `node`, or about none in particular
 * when that is empty; NULL: none is known. */
const struct insight_event *explain_event(const struct explain_scene *scene, unsigned kinds,
                                          struct str node);

/* NULL: the file has no such type. */
const struct config_node_type *explain_type(const struct explain_scene *scene, struct str name);

/* Is it on its way, so that it will take what waits? */
bool explain_is_coming(const struct node_view *view);

/* What keeps everything from happening; said below whatever depends on it. True: something does. */
bool explain_block(struct explain_sheet *sheet, struct str *ret_fix);

/* ---- explain_demand.c ---- */

void explain_demand(struct explain_sheet *sheet, const struct insight_demand *demand);
/* Is it meant by that? */
bool explain_is_demand(const struct insight_demand *demand, struct str about);

/* ---- explain_node.c ---- */

void explain_node(struct explain_sheet *sheet, const struct node_view *view);
/* It is not there any more, and something is known of it; else false. */
bool explain_past_node(struct explain_sheet *sheet, struct str name);
/* Its last question only: what went wrong. */
void explain_failure(struct explain_sheet *sheet, const struct node_view *view);
