/* cover_fill.c: fills one node by depth-first search with a bound. */
#include "core/plan/cover_fill.h"
#include "base/require.h"
#include "core/plan/index_sort.h"

#include <string.h>

void cover_fill_init(struct cover *cover)
{
    struct arena *arena = cover->arena;
    size_t count = cover->class_count;
    struct cover_fill *fill = ARENA_NEW(arena, struct cover_fill);
    fill->order = ARENA_ARRAY(arena, count, uint32_t);
    fill->spare = ARENA_ARRAY(arena, count, uint32_t);
    fill->density = ARENA_ARRAY(arena, count, double);
    fill->weight = ARENA_ARRAY(arena, count, double);
    fill->taken = ARENA_ARRAY(arena, count, int64_t);
    fill->best = ARENA_ARRAY(arena, count, int64_t);
    fill->room = ARENA_ARRAY(arena, cover->column_count, int64_t);
    fill->pressure = ARENA_ARRAY(arena, cover->column_count, double);
    fill->key_used = ARENA_ARRAY(arena, cover->key_count, bool);
    fill->parts = ARENA_ARRAY(arena, count, struct cover_part);
    cover->fill = fill;
}

/* Weighs the size of a request as one number: columns in higher demand weigh more. */
static void weigh_columns(struct cover *cover, const struct cover_kind *kind, const int64_t *counts)
{
    struct cover_fill *fill = cover->fill;
    double sum = 0.0;
    for (size_t i = 0; i < cover->column_count; i++) {
        double asked = 0.0;
        for (size_t j = 0; j < fill->order_count; j++) {
            uint32_t class = fill->order[j];
            asked += (double)counts[class] * (double)cover->classes[class].needs[i];
        }
        fill->pressure[i] = kind->room[i] > 0 ? asked / (double)kind->room[i] : 0.0;
        sum += fill->pressure[i];
    }
    for (size_t i = 0; i < cover->column_count; i++) {
        bool has_room = sum > 0.0 && kind->room[i] > 0;
        fill->pressure[i] = has_room ? fill->pressure[i] / sum / (double)kind->room[i] : 0.0;
    }
}

static int compare_density(const void *context, uint32_t a, uint32_t b)
{
    const double *density = context;
    return density[a] > density[b] ? -1 : density[a] < density[b];
}

static void sort_classes(struct cover *cover, const struct cover_kind *kind, const double *values,
                         const int64_t *counts)
{
    struct cover_fill *fill = cover->fill;
    fill->order_count = 0;
    for (uint32_t i = 0; i < cover->class_count; i++) {
        if (kind->accepts[i] && counts[i] > 0 && values[i] > 0.0) {
            fill->order[fill->order_count++] = i;
        }
    }
    require(fill->order_count <= cover->class_count, "each class is a candidate once");
    weigh_columns(cover, kind, counts);
    for (size_t i = 0; i < fill->order_count; i++) {
        uint32_t class = fill->order[i];
        double weight = 0.0;
        for (size_t j = 0; j < cover->column_count; j++) {
            weight += fill->pressure[j] * (double)cover->classes[class].needs[j];
        }
        fill->weight[class] = weight;
        fill->density[class] = values[class] / (weight > 1e-9 ? weight : 1e-9);
    }
    index_sort(fill->order, fill->spare, fill->order_count, compare_density, fill->density);
    size_t sorting = 8;
    for (size_t i = 1; i < fill->order_count; i *= 2) {
        sorting += 3;
    }
    cover->work -= (int64_t)(cover->class_count +
                             fill->order_count * (sorting + 3 * cover->column_count));
}

static void move(struct cover *cover, size_t at, int64_t count)
{
    struct cover_fill *fill = cover->fill;
    const struct cover_class *class = &cover->classes[fill->order[at]];
    fill->taken[at] += count;
    require(at < fill->order_count && fill->taken[at] >= 0, "only what was taken is given back");
    for (size_t i = 0; i < cover->column_count; i++) {
        fill->room[i] -= count * class->needs[i];
    }
    if (class->key != COVER_NO_KEY) {
        fill->key_used[class->key] = fill->taken[at] > 0;
    }
}

static int64_t most_that_fit(const struct cover *cover, size_t at, const int64_t *counts)
{
    const struct cover_fill *fill = cover->fill;
    uint32_t index = fill->order[at];
    const struct cover_class *class = &cover->classes[index];
    int64_t most = counts[index] - fill->taken[at];
    if (class->key != COVER_NO_KEY) {
        most = fill->key_used[class->key] || most <= 0 ? 0 : 1;
    }
    for (size_t i = 0; most > 0 && i < cover->column_count; i++) {
        if (class->needs[i] > 0) {
            int64_t fits = fill->room[i] / class->needs[i];
            most = fits < most ? fits : most;
        }
    }
    return most > 0 ? most : 0;
}

/* State of the search: the value of the current filling, and the weight left. */
struct cover_fill_search {
    double value;
    double room;
    double best;
    int64_t steps;
};

static void cover_fill_take(struct cover *cover, size_t at, int64_t count, const double *values,
                            struct cover_fill_search *search)
{
    uint32_t class = cover->fill->order[at];
    move(cover, at, count);
    search->value += (double)count * values[class];
    search->room -= (double)count * cover->fill->weight[class];
}

static void keep_best(struct cover *cover, struct cover_fill_search *search)
{
    struct cover_fill *fill = cover->fill;
    if (search->value > search->best * (1.0 + 1e-12)) {
        search->best = search->value;
        memcpy(fill->best, fill->taken, fill->order_count * sizeof(int64_t));
    }
}

static void go_down(struct cover *cover, size_t from, const double *values, const int64_t *counts,
                    struct cover_fill_search *search)
{
    struct cover_fill *fill = cover->fill;
    for (size_t i = from; i < fill->order_count; i++) {
        int64_t most = most_that_fit(cover, i, counts);
        if (most > 0) {
            cover_fill_take(cover, i, most, values, search);
        }
    }
    cover->work -= (int64_t)((fill->order_count - from) * (2 + cover->column_count));
    search->steps--;
    keep_best(cover, search);
}

/* Removes one request of the last class if the classes after it could still be worth more. */
static bool go_back(struct cover *cover, const double *values, const int64_t *counts,
                    struct cover_fill_search *search)
{
    struct cover_fill *fill = cover->fill;
    for (size_t i = fill->order_count; i-- > 0;) {
        if (fill->taken[i] == 0) {
            continue;
        }
        uint32_t class = fill->order[i];
        cover->work -= (int64_t)(8 + cover->column_count);
        move(cover, i, -1);
        search->value -= values[class];
        search->room += fill->weight[class];
        double next = i + 1 < fill->order_count ? fill->density[fill->order[i + 1]] : 0.0;
        if (search->value + search->room * next > search->best * (1.0 + 1e-9)) {
            go_down(cover, i + 1, values, counts, search);
            return true;
        }
        search->value -= (double)fill->taken[i] * values[class];
        search->room += (double)fill->taken[i] * fill->weight[class];
        move(cover, i, -fill->taken[i]);
    }
    return false;
}

/* ---- other starting points ----------------------------------------------------------------- */

static void empty_node(struct cover *cover, const struct cover_kind *kind,
                       struct cover_fill_search *search)
{
    struct cover_fill *fill = cover->fill;
    memcpy(fill->room, kind->room, cover->column_count * sizeof(int64_t));
    memset(fill->taken, 0, fill->order_count * sizeof(int64_t));
    if (cover->key_count > 0) {
        memset(fill->key_used, 0, cover->key_count * sizeof(bool));
    }
    search->value = 0.0;
    search->room = 0.0;
    for (size_t i = 0; i < cover->column_count; i++) {
        search->room += fill->pressure[i] * (double)(fill->room[i] > 0 ? fill->room[i] : 0);
    }
}

/* The largest share, or the sum of shares, of the remaining room that a request would take. */
static double share_of_rest(const struct cover *cover, uint32_t class, bool is_sum)
{
    const int64_t *needs = cover->classes[class].needs;
    double share = 1e-9;
    for (size_t i = 0; i < cover->column_count; i++) {
        if (needs[i] > 0) {
            double part = (double)needs[i] / (double)cover->fill->room[i];
            share = is_sum ? share + part : part > share ? part : share;
        }
    }
    return share;
}

/* Chooses again after every few requests: columns that became scarce weigh more. */
static void fill_by_rest(struct cover *cover, const double *values, const int64_t *counts,
                         bool is_sum, struct cover_fill_search *search)
{
    struct cover_fill *fill = cover->fill;
    for (;;) {
        size_t best = SIZE_MAX;
        double most = 0.0;
        for (size_t i = 0; i < fill->order_count; i++) {
            uint32_t class = fill->order[i];
            if (most_that_fit(cover, i, counts) > 0) {
                double density = values[class] / share_of_rest(cover, class, is_sum);
                best = density > most ? i : best;
                most = density > most ? density : most;
            }
        }
        cover->work -= (int64_t)(fill->order_count * (4 + 2 * cover->column_count));
        if (best == SIZE_MAX) {
            break;
        }
        cover_fill_take(cover, best, (most_that_fit(cover, best, counts) + 3) / 4, values, search);
    }
    keep_best(cover, search);
}

/* Starts with some requests of one class, regardless of value. */
static void fill_around(struct cover *cover, const struct cover_kind *kind, const double *values,
                        const int64_t *counts, struct cover_fill_search *search)
{
    for (size_t i = 0; i < cover->fill->order_count; i++) {
        empty_node(cover, kind, search);
        int64_t most = most_that_fit(cover, i, counts);
        for (int64_t count = most; count > 0 && search->steps > 0; count /= 2) {
            empty_node(cover, kind, search);
            cover_fill_take(cover, i, count, values, search);
            go_down(cover, 0, values, counts, search);
        }
    }
}

void cover_fill(struct cover *cover, uint32_t kind, const double *values, const int64_t *counts,
                int64_t steps)
{
    struct cover_fill *fill = cover->fill;
    require(kind < cover->kind_count, "a kind of node");
    const struct cover_kind *node = &cover->kinds[kind];
    struct cover_fill_search search = {.steps = steps};
    sort_classes(cover, node, values, counts);
    memset(fill->best, 0, fill->order_count * sizeof(int64_t));
    empty_node(cover, node, &search);
    go_down(cover, 0, values, counts, &search);
    while (search.steps > steps / 2 && go_back(cover, values, counts, &search)) {
    }
    if (steps > 1 && search.steps <= steps / 2) {
        empty_node(cover, node, &search);
        fill_by_rest(cover, values, counts, false, &search);
        empty_node(cover, node, &search);
        fill_by_rest(cover, values, counts, true, &search);
        fill_around(cover, node, values, counts, &search);
    }
    fill->part_count = 0;
    fill->value = search.best;
    for (size_t i = 0; i < fill->order_count; i++) {
        if (fill->best[i] > 0) {
            require(fill->best[i] <= counts[fill->order[i]], "not more requests than there are");
            fill->parts[fill->part_count++] = (struct cover_part){fill->order[i], fill->best[i]};
        }
    }
}
