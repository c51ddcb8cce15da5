/* suggest.h: "did you mean": the nearest of a set of words to one that was mistyped. */
#pragma once

#include "base/str.h"

struct suggest {
    struct str wanted;
    struct str best;
    size_t best_distance;
};

/* Start with the mistyped word, offer every candidate, read the answer. */
void suggest_start(struct suggest *suggest, struct str wanted);
void suggest_offer(struct suggest *suggest, struct str candidate);

/* The nearest word, or the empty view when nothing is near enough to be worth saying. */
struct str suggest_best(const struct suggest *suggest);
