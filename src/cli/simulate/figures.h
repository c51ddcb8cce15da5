/* figures.h: the results of a run as numbers and text; used by the text, JSON and HTML output. */
#pragma once

#include "cli/simulate/run.h"

struct wait_figures {
    int64_t p50, p90, p99, longest; /* milliseconds */
};

struct class_row {
    struct str name;
    int64_t arrived, started, finished, lost;
    struct wait_figures wait;
};

/* Money is in micro-dollars, or PRICE_UNKNOWN. */
struct type_row {
    const struct type_facts *facts;
    int64_t node_ms;
    int64_t cost;
};

struct figures {
    const char *planner;
    const struct measure *measure;
    struct wait_figures wait;
    int64_t arrived, started, finished, lost; /* over all classes */
    int64_t node_ms;
    int64_t cost;                 /* cost of priced machines; PRICE_UNKNOWN if there are none */
    bool is_cost_partial;         /* machines with unknown price were used */
    int64_t busy_permille;        /* share of the time that workers were in Ray; -1: no workers */
    const struct type_row *types; /* all types of the cluster file, in its order */
    size_t type_count;
    const struct class_row *classes;
    size_t class_count;
};

struct figures figures_of(struct arena *arena, const struct result *result,
                          const struct simulate_run *run);

/* One line of the table; `is_part` is indented below the line it belongs to. */
struct figure_row {
    struct str label;
    struct str note; /* note next to the label: "m5.large, spot"; may be empty */
    bool is_part;
    struct str values[PLANNERS_MAX];
};

struct figure_table {
    struct figure_row *rows;
    size_t count;
    size_t capacity;
};

void figures_table(struct arena *arena, const struct figures *figures, size_t count,
                   struct figure_table *ret_table);

/* The additional cost and wait of the second planner. */
struct comparison {
    bool has_cost;
    int64_t cost;          /* micro-dollars; negative: less */
    int64_t cost_permille; /* relative to the first */
    int64_t wait_p90;      /* milliseconds */
    struct str text;       /* "price would cost $12.40 less (18 %) and wait 4s longer at p90." */
};

/* The same text without the period. */
struct str figures_difference(struct arena *arena, const char *planner,
                              const struct comparison *comparison);

struct comparison figures_compare(struct arena *arena, const struct figures *first,
                                  const struct figures *second);

/* "2m 10s", "$12.40", "3.5": for display. */
struct str format_time(struct arena *arena, int64_t ms);
struct str format_money(struct arena *arena, int64_t micro);
struct str format_hours(struct arena *arena, int64_t ms);

/* The source of the prices, and which are missing: one or more sentences. */
struct str format_prices(struct arena *arena, const struct result *result);

/* "mixed on aws us-east-1" */
struct str format_cluster(struct arena *arena, const struct result *result);
