/* demand.c: ordering and equality of requests. */
#include "core/demand.h"

static int compare_sizes(size_t a, size_t b)
{
    return a > b ? -1 : a < b;
}

static int compare_amounts(int64_t a, int64_t b)
{
    return a > b ? -1 : a < b;
}

void amounts_sort(const struct names *names, struct amount *amounts, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct amount one = amounts[i];
        size_t at = i;
        while (at > 0 && str_cmp(intern_text(names, amounts[at - 1].name),
                                 intern_text(names, one.name)) > 0) {
            amounts[at] = amounts[at - 1];
            at--;
        }
        amounts[at] = one;
    }
}

static int64_t amount_sum(const struct request *request)
{
    int64_t sum = 0;
    for (size_t i = 0; i < request->amount_count; i++) {
        sum += request->amounts[i].amount;
    }
    return sum;
}

static size_t first_rule_count(const struct request *request)
{
    return request->selector_count > 0 ? request->selectors[0].rule_count : 0;
}

int request_compare(const struct names *names, const struct request *a, const struct request *b)
{
    int order = compare_sizes(a->placement_count, b->placement_count);
    if (order == 0) {
        order = compare_sizes(first_rule_count(a), first_rule_count(b));
    }
    if (order == 0) {
        order = compare_sizes(a->amount_count, b->amount_count);
    }
    if (order == 0) {
        order = compare_amounts(amount_sum(a), amount_sum(b));
    }
    for (size_t i = 0; order == 0 && i < a->amount_count; i++) {
        if (a->amounts[i].name != b->amounts[i].name) {
            order = str_cmp(intern_text(names, b->amounts[i].name),
                            intern_text(names, a->amounts[i].name));
        } else {
            order = compare_amounts(a->amounts[i].amount, b->amounts[i].amount);
        }
    }
    return order;
}

bool request_same(const struct request *a, const struct request *b)
{
    if (a->amount_count != b->amount_count || a->selector_count != b->selector_count ||
        a->placement_count != b->placement_count) {
        return false;
    }
    for (size_t i = 0; i < a->amount_count; i++) {
        if (a->amounts[i].name != b->amounts[i].name ||
            a->amounts[i].amount != b->amounts[i].amount) {
            return false;
        }
    }
    for (size_t i = 0; i < a->placement_count; i++) {
        const struct placement *one = &a->placements[i];
        const struct placement *other = &b->placements[i];
        if (one->kind != other->kind || one->label.key != other->label.key ||
            one->label.value != other->label.value) {
            return false;
        }
    }
    return label_selectors_same(a->selectors, b->selectors, a->selector_count);
}
