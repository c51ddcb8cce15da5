/* cover_lp.h: the linear program of the cover: the cheapest fractional mix of patterns. */
#pragma once

#include "core/plan/cover.h"

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
