/* suggest.c: edit distance with transpositions, bounded by the longest word that is compared. */
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

/* Up to a third of the letters may be wrong. */
static size_t most_wrong(struct str wanted)
{
    return wanted.len < 3 ? 1 : (wanted.len + 2) / 3;
}

static uint32_t suggest_letters_of(struct str word)
{
    uint32_t letters = 0;
    for (size_t i = 0; i < word.len; i++) {
        letters |= 1U << ((unsigned char)fold_case(word.ptr[i]) & 31);
    }
    return letters;
}

/* A cheap lower bound: each letter that only one of the words has is a mistake. */
static size_t least_distance(struct str a, struct str b)
{
    uint32_t only_a = suggest_letters_of(a) & ~suggest_letters_of(b);
    uint32_t only_b = suggest_letters_of(b) & ~suggest_letters_of(a);
    int more = __builtin_popcount(only_a) > __builtin_popcount(only_b) ? __builtin_popcount(only_a)
                                                                       : __builtin_popcount(only_b);
    return (size_t)more;
}

void suggest_offer(struct suggest *suggest, struct str candidate)
{
    struct str wanted = suggest->wanted;
    size_t gap = wanted.len > candidate.len ? wanted.len - candidate.len
                                            : candidate.len - wanted.len;
    /* The difference in length is a lower bound of the distance. */
    if (wanted.len > LONGEST_WORD || candidate.len > LONGEST_WORD || gap > most_wrong(wanted) ||
        gap >= suggest->best_distance) {
        return;
    }
    size_t least = least_distance(wanted, candidate);
    if (least > most_wrong(wanted) || least >= suggest->best_distance) {
        return;
    }
    size_t found = distance(wanted, candidate);
    if (found < suggest->best_distance) {
        suggest->best_distance = found;
        suggest->best = candidate;
    }
}

struct str suggest_best(const struct suggest *suggest)
{
    bool is_word = suggest->wanted.len > 1; /* every single letter is close to every other */
    return is_word && suggest->best_distance <= most_wrong(suggest->wanted) ? suggest->best
                                                                            : STR("");
}
