/* suggest.c: edit distance with swaps of neighbours, bounded by the longest word we compare. */
#include "base/suggest.h"

#include <stdint.h>

enum { LONGEST_WORD = 64 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

static char fold_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '-' ? '_' : c;
}

static size_t distance(struct str a, struct str b)
{
    size_t rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3];
        size_t *before = rows[(i + 2) % 3];
        size_t *two_before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = fold_case(a.ptr[i - 1]);
            char y = fold_case(b.ptr[j - 1]);
            now[j] = min3(before[j] + 1, now[j - 1] + 1, before[j - 1] + (x == y ? 0 : 1));
            bool swapped = i > 1 && j > 1 && x == fold_case(b.ptr[j - 2]) &&
                           y == fold_case(a.ptr[i - 2]);
            if (swapped && two_before[j - 2] + 1 < now[j]) {
                now[j] = two_before[j - 2] + 1;
            }
        }
    }
    return rows[a.len % 3][b.len];
}

void suggest_start(struct suggest *suggest, struct str wanted)
{
    suggest->wanted = wanted;
    suggest->best = STR("");
    suggest->best_distance = SIZE_MAX;
}

void suggest_offer(struct suggest *suggest, struct str candidate)
{
    if (suggest->wanted.len > LONGEST_WORD || candidate.len > LONGEST_WORD) {
        return;
    }
    size_t found = distance(suggest->wanted, candidate);
    if (found < suggest->best_distance) {
        suggest->best_distance = found;
        suggest->best = candidate;
    }
}

struct str suggest_best(const struct suggest *suggest)
{
    /* A third of the letters wrong is a typing mistake; more is another word. */
    size_t most = suggest->wanted.len < 3 ? 1 : (suggest->wanted.len + 2) / 3;
    bool is_word = suggest->wanted.len > 1; /* every single letter is near every other */
    return is_word && suggest->best_distance <= most ? suggest->best : STR("");
}
