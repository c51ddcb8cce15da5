/* top_view.h: the user's view of the model: filter, order, selection, open log. */
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
    char **lines;            /* ring buffer on the heap; the oldest line is at `first` */
    size_t first, count;
    char trouble[300];
};

struct top_view {
    size_t columns, lines; /* size of the screen; 0 lines: unlimited, without key help */
    bool colour;
    int64_t now_ms; /* our wall clock */
    enum top_pane pane;
    enum top_sort sort;
    bool is_reversed;
    char filter[TOP_FILTER_MAX + 1];
    bool is_typing; /* editing the filter */
    char chosen[TOP_NAME_MAX];
    size_t first;  /* index of the topmost visible node */
    size_t page;   /* number of nodes visible last time */
    size_t behind; /* lines that the log is scrolled back */
    struct top_log log;
};

/* The nodes that match the filter, sorted; in `arena`. */
const struct node_view **top_list(const struct top_model *model, const struct top_view *look,
                                  struct arena *arena, size_t *ret_count);
/* The index of the selected node; 0 if it is not in the list. */
size_t top_list_chosen(const struct top_view *look, const struct node_view *const *list,
                       size_t count);

const char *top_sort_name(enum top_sort sort);

/* "CPU", "GPU", "memory" of a node; zero if Ray does not report it. */
struct resource_usage top_use(const struct node_view *view, const char *name);
/* A short state: "idle", "setup 3/5". */
struct str top_state(const struct node_view *view, struct arena *arena);

void top_log_add(struct top_log *log, struct str line);
void top_log_clear(struct top_log *log);
