/*
 * top_look.h: what of it is looked at, and how: the choices of whoever sits in front of it.
 */
#pragma once

#include "cli/top/top_model.h"

enum top_sort {
    TOP_BY_NAME,
    TOP_BY_STATE,
    TOP_BY_CPU,
    TOP_BY_MEMORY,
    TOP_BY_AGE,
    TOP_BY_IDLE,
    TOP_BY_PRICE,
    TOP_SORT_COUNT,
};

enum top_pane { TOP_NODES, TOP_LOG, TOP_HELP };

enum { TOP_FILTER_MAX = 60, TOP_NAME_MAX = 80, TOP_LOG_KEPT = 5000 };

/* The end of a log. */
struct top_log {
    char name[TOP_NAME_MAX]; /* "worker-2"; "service" */
    char **lines;            /* a ring, on the heap; the oldest at `first` */
    size_t first, count;
    char trouble[300];
};

struct top_look {
    size_t columns, lines; /* of the screen; 0 lines: as many as there are, and nothing to press */
    bool colour;
    int64_t now_ms; /* wall clock, ours */
    enum top_pane pane;
    enum top_sort sort;
    bool is_reversed;
    char filter[TOP_FILTER_MAX + 1];
    bool is_typing; /* the filter */
    char chosen[TOP_NAME_MAX];
    size_t first;  /* the node at the top, when they do not all fit */
    size_t page;   /* how many fitted last time */
    size_t behind; /* lines that the log was scrolled back */
    struct top_log log;
};

/* The nodes that the filter lets through, in their order; in `arena`. */
const struct node_view **top_list(const struct top_model *model, const struct top_look *look,
                                  struct arena *arena, size_t *ret_count);
/* Which of them is chosen; 0 when it is none of them. */
size_t top_list_chosen(const struct top_look *look, const struct node_view *const *list,
                       size_t count);

const char *top_sort_name(enum top_sort sort);

/* "CPU", "GPU", "memory" of a node; zeroes when Ray says nothing of it. */
struct insight_use top_use(const struct node_view *view, const char *name);
/* What it does, in a word or two: "idle", "set-up 3/5". */
struct str top_state(const struct node_view *view, struct arena *arena);

void top_log_add(struct top_log *log, struct str line);
void top_log_clear(struct top_log *log);
