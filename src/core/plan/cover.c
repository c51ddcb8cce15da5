/* cover.c: patterns, answers, and the remaining requests and limits. */
#include "core/plan/cover.h"

#include "base/require.h"
#include "core/plan/cover_internal.h"

#include <string.h>

bool cover_kind_open(const struct cover *cover, uint32_t kind, const struct cover_rest *rest)
{
    require(kind < cover->kind_count, "a kind of node");
    return rest->limits[kind] > 0 && (!cover->kinds[kind].is_new || rest->new_limit > 0);
}

bool cover_rest_empty(const struct cover *cover, const struct cover_rest *rest)
{
    for (size_t i = 0; i < cover->class_count; i++) {
        if (rest->counts[i] > 0) {
            return false;
        }
    }
    return true;
}

void cover_rest_init(const struct cover *cover, struct cover_rest *rest)
{
    rest->counts = ARENA_ARRAY(cover->arena, cover->class_count, int64_t);
    rest->limits = ARENA_ARRAY(cover->arena, cover->kind_count, int64_t);
    rest->new_limit = cover->new_limit;
    for (size_t i = 0; i < cover->class_count; i++) {
        rest->counts[i] = cover->classes[i].count;
    }
    for (size_t i = 0; i < cover->kind_count; i++) {
        rest->limits[i] = cover->kinds[i].limit;
    }
}

void cover_rest_copy(const struct cover *cover, struct cover_rest *to,
                     const struct cover_rest *from)
{
    memcpy(to->counts, from->counts, cover->class_count * sizeof(int64_t));
    memcpy(to->limits, from->limits, cover->kind_count * sizeof(int64_t));
    to->new_limit = from->new_limit;
}

int64_t cover_times(const struct cover *cover, const struct cover_pattern *pattern,
                    const struct cover_rest *rest)
{
    require(pattern->kind < cover->kind_count, "a kind of node");
    int64_t times = rest->limits[pattern->kind];
    if (cover->kinds[pattern->kind].is_new && rest->new_limit < times) {
        times = rest->new_limit;
    }
    for (size_t i = 0; times > 0 && i < pattern->part_count; i++) {
        require(pattern->parts[i].count > 0, "a part of a pattern has requests");
        int64_t most = rest->counts[pattern->parts[i].class] / pattern->parts[i].count;
        times = most < times ? most : times;
    }
    return times > 0 ? times : 0;
}

void cover_take(const struct cover *cover, const struct cover_pattern *pattern, int64_t times,
                struct cover_rest *rest)
{
    for (size_t i = 0; i < pattern->part_count; i++) {
        require(pattern->parts[i].class < cover->class_count, "a class of requests");
        rest->counts[pattern->parts[i].class] -= times * pattern->parts[i].count;
        require(rest->counts[pattern->parts[i].class] >= 0, "a request is placed once");
    }
    if (rest->limits[pattern->kind] != COVER_NO_LIMIT) {
        rest->limits[pattern->kind] -= times;
    }
    if (cover->kinds[pattern->kind].is_new && rest->new_limit != COVER_NO_LIMIT) {
        rest->new_limit -= times;
    }
}

struct cover_pattern cover_pattern(struct cover *cover, uint32_t kind,
                                   const struct cover_part *parts, size_t count)
{
    struct cover_part *copy = ARENA_ARRAY(cover->arena, count, struct cover_part);
    if (count > 0) {
        memcpy(copy, parts, count * sizeof(*copy));
    }
    return (struct cover_pattern){kind, (uint32_t)count, copy, 1};
}

void cover_append(struct cover *cover, struct cover_answer *answer, struct cover_pattern pattern)
{
    require(pattern.kind < cover->kind_count, "a kind of node");
    require(pattern.times >= 0, "a pattern is not taken less than never");
    ARENA_PUSH(cover->arena, answer->patterns, answer->count, answer->capacity) = pattern;
    answer->price += pattern.times * cover->kinds[pattern.kind].price;
}

void cover_copy(struct cover *cover, struct cover_answer *to, const struct cover_answer *from)
{
    to->count = 0;
    to->price = 0;
    for (size_t i = 0; i < from->count; i++) {
        cover_append(cover, to, from->patterns[i]);
    }
    require(to->count == from->count, "a copy has the same patterns");
}

void cover_alone(const struct cover *cover, double *ret_values)
{
    const double nowhere_new = 1e15; /* fits on existing nodes only: place it first */
    for (size_t i = 0; i < cover->class_count; i++) {
        double least = nowhere_new;
        for (size_t j = 0; j < cover->kind_count; j++) {
            const struct cover_kind *kind = &cover->kinds[j];
            if (!kind->accepts[i] || !kind->is_new) {
                continue;
            }
            double share = cover->classes[i].key == COVER_NO_KEY ? 1e-6 : 1e-3;
            for (size_t k = 0; k < cover->column_count; k++) {
                int64_t need = cover->classes[i].needs[k];
                double part = need > 0 ? (double)need / (double)kind->room[k] : 0.0;
                share = part > share ? part : share;
            }
            double price = share * (double)(kind->price > 0 ? kind->price : 1);
            least = price < least ? price : least;
        }
        ret_values[i] = least;
    }
}
