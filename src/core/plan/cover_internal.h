/* cover_internal.h: patterns and the rest to be placed, for the files that search a cover. */
#pragma once

#include "core/plan/cover.h"

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

void cover_copy(struct cover *cover, struct cover_answer *to, const struct cover_answer *from);

/* A lower bound for the cost of one request of each class, on nodes filled with this class only. */
void cover_alone(const struct cover *cover, double *ret_values);

/*
 * Places the rest, always with the pattern of the most value for its price. Appends to `answer`;
 * false if requests are left or the answer becomes as expensive as `price`.
 */
bool cover_greedy(struct cover *cover, const double *values, struct cover_rest *rest, int64_t price,
                  int64_t steps, struct cover_answer *answer);
