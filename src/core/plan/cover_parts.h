/* cover_parts.h: what the files of the cover share. Private to them. */
#pragma once

#include "core/plan/cover.h"

/* How a node is filled; room for one filling at a time. */
struct cover_fill {
    uint32_t *order; /* classes that may come, the most valuable for their room first */
    uint32_t *spare;
    size_t order_count;
    double *density;  /* by class: value for its share of the room */
    double *weight;   /* by class: that share */
    int64_t *taken;   /* by place in the order */
    int64_t *best;    /* the same, of the best filling so far */
    int64_t *room;    /* by column: what is left */
    double *pressure; /* by column: how much of it is asked for */
    bool *key_used;
    struct cover_part *parts; /* the result */
    size_t part_count;
    double value;
};

void cover_fill_init(struct cover *cover);

/*
 * Fills one node of a kind from `rest` so that the sum of `values` (by class) is high. At most
 * `steps` fillings are tried; the first is the greedy one. Result: parts, part_count, value.
 */
void cover_fill(struct cover *cover, uint32_t kind, const double *values, const int64_t *counts,
                int64_t steps);

bool cover_kind_open(const struct cover *cover, uint32_t kind, const struct cover_rest *rest);

/* Are all requests placed? */
bool cover_rest_empty(const struct cover *cover, const struct cover_rest *rest);
void cover_rest_init(const struct cover *cover, struct cover_rest *rest);
void cover_rest_copy(const struct cover *cover, struct cover_rest *to,
                     const struct cover_rest *from);

/* How often a pattern may be taken; 0 when something of it is no longer wanted. */
int64_t cover_times(const struct cover *cover, const struct cover_pattern *pattern,
                    const struct cover_rest *rest);

/* Takes a pattern `times` times off the rest, or puts it back with a negative number. */
void cover_take(const struct cover *cover, const struct cover_pattern *pattern, int64_t times,
                struct cover_rest *rest);

/* Copies parts into the arena. */
struct cover_pattern cover_pattern(struct cover *cover, uint32_t kind,
                                   const struct cover_part *parts, size_t count);

void cover_append(struct cover *cover, struct cover_answer *answer, struct cover_pattern pattern);
void cover_copy(struct cover *cover, struct cover_answer *to, const struct cover_answer *from);

/* What one request of each class costs at least when nodes are filled with nothing else. */
void cover_alone(const struct cover *cover, double *ret_values);

/*
 * Places the rest, always by the pattern with the most value for its price. Appends to `answer`;
 * false when something was left or the answer became as dear as `price`.
 */
bool cover_greedy(struct cover *cover, const double *values, struct cover_rest *rest, int64_t price,
                  int64_t steps, struct cover_answer *answer);

/* ---- the linear program -------------------------------------------------------------------- */

enum { COVER_ROWS_MAX = 240 };

struct cover_lp;

struct cover_lp *cover_lp_new(struct cover *cover);

/* The rows that a program over `rest` would have; more than COVER_ROWS_MAX are not solved. */
size_t cover_lp_rows(const struct cover *cover, const struct cover_rest *rest);

/* Makes a pattern known before the first call. */
void cover_lp_seed(struct cover_lp *lp, struct cover_pattern pattern);

/*
 * The cheapest mix of patterns if parts of nodes could be bought. New patterns are found on the
 * way, each by `steps` fillings, and kept for the next call. Takes about `work` steps at most;
 * false when they were not enough, and what is there is only good. After it: the cost, what a
 * request of each class is worth, and how much of which pattern is taken.
 */
bool cover_lp_solve(struct cover_lp *lp, const struct cover_rest *rest, int64_t steps,
                    int64_t work);
double cover_lp_price(const struct cover_lp *lp);
const double *cover_lp_values(const struct cover_lp *lp);
size_t cover_lp_taken(const struct cover_lp *lp, size_t at, double *ret_share,
                      struct cover_pattern *ret_pattern);
