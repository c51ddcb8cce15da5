/* cover_internal.h: shared by the files of the cover, and used by price_start.c. */
#pragma once

#include "core/plan/cover.h"

/* Memory for filling one node. */
struct cover_fill {
    uint32_t *order; /* candidate classes, by decreasing density */
    uint32_t *spare;
    size_t order_count;
    double *density;  /* by class: value divided by weight */
    double *weight;   /* by class: share of the room */
    int64_t *taken;   /* by position in `order` */
    int64_t *best;    /* the same, for the best filling so far */
    int64_t *room;    /* by column: remaining room */
    double *pressure; /* by column: how much of it is in demand */
    bool *key_used;
    struct cover_part *parts; /* the result */
    size_t part_count;
    double value;
};

void cover_fill_init(struct cover *cover);

/*
 * Fills one node of a kind from `counts` so that the sum of `values` (by class) is high. Tries at
 * most `steps` fillings, the greedy one first. Results: parts, part_count, value.
 */
void cover_fill(struct cover *cover, uint32_t kind, const double *values, const int64_t *counts,
                int64_t steps);

bool cover_kind_open(const struct cover *cover, uint32_t kind, const struct cover_rest *rest);

/* Are all requests placed? */
bool cover_rest_empty(const struct cover *cover, const struct cover_rest *rest);
void cover_rest_init(const struct cover *cover, struct cover_rest *rest);
void cover_rest_copy(const struct cover *cover, struct cover_rest *to,
                     const struct cover_rest *from);

/* How often a pattern may be taken; 0 if some of its requests are all placed. */
int64_t cover_times(const struct cover *cover, const struct cover_pattern *pattern,
                    const struct cover_rest *rest);

/* Subtracts a pattern `times` times from the rest; a negative number adds it back. */
void cover_take(const struct cover *cover, const struct cover_pattern *pattern, int64_t times,
                struct cover_rest *rest);

/* Copies parts into the arena. */
struct cover_pattern cover_pattern(struct cover *cover, uint32_t kind,
                                   const struct cover_part *parts, size_t count);

void cover_append(struct cover *cover, struct cover_answer *answer, struct cover_pattern pattern);
void cover_copy(struct cover *cover, struct cover_answer *to, const struct cover_answer *from);

/* A lower bound for the cost of one request of each class, on nodes filled with this class only. */
void cover_alone(const struct cover *cover, double *ret_values);

/*
 * Places the rest, always with the pattern of the most value for its price. Appends to `answer`;
 * false if requests are left or the answer becomes as expensive as `price`.
 */
bool cover_greedy(struct cover *cover, const double *values, struct cover_rest *rest, int64_t price,
                  int64_t steps, struct cover_answer *answer);

/* ---- the linear program -------------------------------------------------------------------- */

enum { COVER_ROWS_MAX = 240 };

struct cover_lp;

struct cover_lp *cover_lp_new(struct cover *cover);

/* The number of rows for `rest`; programs with more than COVER_ROWS_MAX are not solved. */
size_t cover_lp_rows(const struct cover *cover, const struct cover_rest *rest);

/* Adds a pattern before the first call. */
void cover_lp_seed(struct cover_lp *lp, struct cover_pattern pattern);

/*
 * Finds the cheapest fractional mix of patterns. Generates new patterns on the way, each with
 * `steps` fillings, and keeps them for the next call. Takes at most about `work` steps; returns
 * false if they were not enough, and the result is not optimal. Afterwards the cost, the value of a
 * request of each class, and the level of each pattern are available.
 */
bool cover_lp_solve(struct cover_lp *lp, const struct cover_rest *rest, int64_t steps,
                    int64_t work);
double cover_lp_price(const struct cover_lp *lp);
const double *cover_lp_values(const struct cover_lp *lp);
size_t cover_lp_taken(const struct cover_lp *lp, size_t at, double *ret_share,
                      struct cover_pattern *ret_pattern);
