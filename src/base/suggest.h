/* suggest.h: "did you mean": finds the word of a set that is closest to a mistyped one. */
#pragma once

#include "base/str.h"

struct suggest {
    struct str wanted;
    struct str best;
    size_t best_distance;
};

/* Start with the mistyped word, offer every candidate, read the result. */
void suggest_start(struct suggest *suggest, struct str wanted);
void suggest_offer(struct suggest *suggest, struct str candidate);

/* The closest word, or the empty view if none is close enough. */
struct str suggest_best(const struct suggest *suggest);
