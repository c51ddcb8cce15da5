/* index_sort.c: bottom-up merge sort. */
#include "core/plan/index_sort.h"

#include <string.h>

struct merge {
    const uint32_t *from;
    uint32_t *to;
    index_compare_fn *compare;
    const void *context;
};

static void merge_pair(const struct merge *merge, size_t low, size_t middle, size_t high)
{
    size_t left = low;
    size_t right = middle;
    for (size_t at = low; at < high; at++) {
        /* The left one wins a tie, which makes the sort stable. */
        if (left < middle && (right >= high || merge->compare(merge->context, merge->from[left],
                                                              merge->from[right]) <= 0)) {
            merge->to[at] = merge->from[left++];
        } else {
            merge->to[at] = merge->from[right++];
        }
    }
}

void index_sort(uint32_t *items, uint32_t *spare, size_t count, index_compare_fn *compare,
                const void *context)
{
    uint32_t *from = items;
    uint32_t *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        struct merge merge = {from, to, compare, context};
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = middle + width < count ? middle + width : count;
            merge_pair(&merge, low, middle, high);
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != items && count > 0) {
        memcpy(items, from, count * sizeof(*items));
    }
}
