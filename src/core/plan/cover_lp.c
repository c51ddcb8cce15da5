/*
 * cover_lp.c: the cover as a linear program, solved by the simplex method with patterns generated
 * as needed (Gilmore and Gomory's column generation).
 *
 * Rows: one for each class with remaining requests ("at least"), one for each kind with a limit and
 * one for all new nodes ("at most"). The inverse of the basis is stored in full: there are at most
 * a few hundred rows. Exactness does not matter here: patterns are integral, and the program only
 * selects the promising ones.
 */
#include "core/plan/cover_lp.h"
#include "core/plan/cover_fill.h"
#include "core/plan/cover_internal.h"

#include <string.h>

#define NO_ROW UINT32_MAX

/* Price of an unplaced request, as a multiple of the most expensive node. */
static const double missing_price = 64.0;
static const double tolerance = 1e-9;

enum column_what { COLUMN_PATTERN, COLUMN_SURPLUS, COLUMN_SLACK, COLUMN_MISSING };

/* A column of the program: a pattern of the pool, or one that belongs to a row. */
struct column {
    enum column_what what;
    uint32_t index; /* index of the pattern or the row */
};

struct cover_lp {
    struct cover *cover;
    struct cover_pattern *pool;
    size_t pool_count;
    size_t pool_capacity;
    uint8_t *is_basic;   /* by pattern in the pool */
    uint8_t *is_allowed; /* by pattern: does not exceed the rest */
    size_t mark_capacity;
    bool is_seeded;
    double scale; /* price of the most expensive kind */

    size_t row_count;
    size_t class_rows;   /* the first rows are for classes */
    uint32_t *row_class; /* for class rows */
    uint32_t *class_row; /* NO_ROW if no requests are left */
    uint32_t *kind_row;  /* NO_ROW if the limit cannot matter */
    uint32_t new_row;
    double *inverse; /* rows x rows */
    double *level;   /* by row: level of the basic column */
    double *dual;    /* by row */
    double *entering;
    uint32_t *filled;     /* where the leaving row is not 0 */
    struct column *basis; /* by row */
    double *values;       /* by class, for the caller, in micro-dollars */
};

struct cover_lp *cover_lp_new(struct cover *cover)
{
    struct arena *arena = cover->arena;
    struct cover_lp *lp = ARENA_NEW(arena, struct cover_lp);
    lp->cover = cover;
    lp->row_class = ARENA_ARRAY(arena, COVER_ROWS_MAX, uint32_t);
    lp->class_row = ARENA_ARRAY(arena, cover->class_count, uint32_t);
    lp->kind_row = ARENA_ARRAY(arena, cover->kind_count, uint32_t);
    lp->level = ARENA_ARRAY(arena, COVER_ROWS_MAX, double);
    lp->dual = ARENA_ARRAY(arena, COVER_ROWS_MAX, double);
    lp->entering = ARENA_ARRAY(arena, COVER_ROWS_MAX, double);
    lp->filled = ARENA_ARRAY(arena, COVER_ROWS_MAX, uint32_t);
    lp->basis = ARENA_ARRAY(arena, COVER_ROWS_MAX, struct column);
    lp->values = ARENA_ARRAY(arena, cover->class_count, double);
    size_t rows = cover->class_count + cover->kind_count + 1;
    rows = rows < COVER_ROWS_MAX ? rows : COVER_ROWS_MAX;
    lp->inverse = ARENA_ARRAY(arena, rows * rows, double);
    lp->scale = 1.0;
    for (size_t i = 0; i < cover->kind_count; i++) {
        double price = (double)cover->kinds[i].price;
        lp->scale = price > lp->scale ? price : lp->scale;
    }
    return lp;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* How many requests of a class fit on a node of a kind. */
static double fit_of(const struct cover *cover, uint32_t kind, size_t class)
{
    const int64_t *needs = cover->classes[class].needs;
    int64_t fits = cover->classes[class].key == COVER_NO_KEY ? cover->classes[class].count : 1;
    for (size_t i = 0; i < cover->column_count; i++) {
        if (needs[i] > 0 && cover->kinds[kind].room[i] / needs[i] < fits) {
            fits = cover->kinds[kind].room[i] / needs[i];
        }
    }
    return (double)(fits > 0 ? fits : 1);
}

/* Could a good answer reach the limit of this kind? */
static bool limit_matters(const struct cover *cover, const struct cover_rest *rest, uint32_t kind)
{
    double nodes = 0.0;
    if (!cover_kind_open(cover, kind, rest) || rest->limits[kind] == COVER_NO_LIMIT) {
        return false;
    }
    for (size_t i = 0; i < cover->class_count; i++) {
        if (cover->kinds[kind].accepts[i] && rest->counts[i] > 0) {
            nodes += (double)rest->counts[i] / fit_of(cover, kind, i) + 1.0;
        }
    }
    return (double)rest->limits[kind] < nodes;
}

static bool new_limit_matters(const struct cover *cover, const struct cover_rest *rest)
{
    int64_t sum = 0;
    for (size_t i = 0; i < cover->class_count; i++) {
        sum += rest->counts[i];
    }
    return rest->new_limit < sum;
}

size_t cover_lp_rows(const struct cover *cover, const struct cover_rest *rest)
{
    size_t rows = new_limit_matters(cover, rest);
    for (size_t i = 0; i < cover->class_count; i++) {
        rows += rest->counts[i] > 0;
    }
    for (uint32_t i = 0; i < cover->kind_count; i++) {
        rows += limit_matters(cover, rest, i);
    }
    return rows;
}

static uint32_t cover_lp_add_row(struct cover_lp *lp, int64_t level, enum column_what what)
{
    uint32_t row = (uint32_t)lp->row_count++;
    lp->level[row] = (double)level;
    lp->dual[row] = what == COLUMN_MISSING ? missing_price : 0.0;
    lp->basis[row] = (struct column){what, row};
    return row;
}

static void make_rows(struct cover_lp *lp, const struct cover_rest *rest)
{
    const struct cover *cover = lp->cover;
    lp->row_count = 0;
    for (uint32_t i = 0; i < cover->class_count; i++) {
        lp->class_row[i] = NO_ROW;
        if (rest->counts[i] > 0) {
            lp->row_class[lp->row_count] = i;
            lp->class_row[i] = cover_lp_add_row(lp, rest->counts[i], COLUMN_MISSING);
        }
    }
    lp->class_rows = lp->row_count;
    for (uint32_t i = 0; i < cover->kind_count; i++) {
        bool has_row = limit_matters(cover, rest, i);
        lp->kind_row[i] = has_row ? cover_lp_add_row(lp, rest->limits[i], COLUMN_SLACK) : NO_ROW;
    }
    bool has_row = new_limit_matters(cover, rest);
    lp->new_row = has_row ? cover_lp_add_row(lp, rest->new_limit, COLUMN_SLACK) : NO_ROW;
    lp->cover->work -= (int64_t)(cover->kind_count * cover->class_count * cover->column_count);
}

/*
 * The initial basis: each class alone on its cheapest kind, if that kind has no limit row;
 * otherwise its requests are unplaced, at a high price.
 */
static void start_basis(struct cover_lp *lp)
{
    const struct cover *cover = lp->cover;
    size_t count = lp->row_count;
    memset(lp->inverse, 0, count * count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        lp->inverse[i * count + i] = 1.0;
    }
    for (uint32_t i = 0; i < lp->pool_count && lp->new_row == NO_ROW; i++) {
        const struct cover_pattern *one = &lp->pool[i];
        if (!lp->is_allowed[i] || one->part_count != 1 || lp->kind_row[one->kind] != NO_ROW) {
            continue;
        }
        uint32_t row = lp->class_row[one->parts[0].class];
        double fits = (double)one->parts[0].count;
        double dual = (double)cover->kinds[one->kind].price / lp->scale / fits;
        if (dual < lp->dual[row]) {
            if (lp->basis[row].what == COLUMN_PATTERN) {
                lp->is_basic[lp->basis[row].index] = 0;
            }
            lp->basis[row] = (struct column){COLUMN_PATTERN, i};
            lp->is_basic[i] = 1;
            lp->dual[row] = dual;
            lp->inverse[row * count + row] = 1.0 / fits;
        }
    }
}

static void cover_lp_set_up(struct cover_lp *lp, const struct cover_rest *rest)
{
    const struct cover *cover = lp->cover;
    make_rows(lp, rest);
    for (size_t i = 0; i < lp->pool_count; i++) {
        lp->is_basic[i] = 0;
        lp->is_allowed[i] = cover_times(cover, &lp->pool[i], rest) > 0;
    }
    start_basis(lp);
    for (size_t i = 0; i < lp->class_rows; i++) {
        double count = (double)rest->counts[lp->row_class[i]];
        lp->level[i] = count * lp->inverse[i * lp->row_count + i];
    }
}

/* ---- columns ------------------------------------------------------------------------------- */

static void add_to_pool(struct cover_lp *lp, struct cover_pattern pattern)
{
    struct arena *arena = lp->cover->arena;
    ARENA_GROW(arena, lp->pool, lp->pool_count, lp->pool_capacity);
    if (lp->pool_capacity > lp->mark_capacity) {
        uint8_t *basic = ARENA_ARRAY(arena, lp->pool_capacity, uint8_t);
        uint8_t *allowed = ARENA_ARRAY(arena, lp->pool_capacity, uint8_t);
        if (lp->pool_count > 0) {
            memcpy(basic, lp->is_basic, lp->pool_count);
            memcpy(allowed, lp->is_allowed, lp->pool_count);
        }
        lp->is_basic = basic;
        lp->is_allowed = allowed;
        lp->mark_capacity = lp->pool_capacity;
    }
    lp->is_basic[lp->pool_count] = 0;
    lp->is_allowed[lp->pool_count] = 1;
    lp->pool[lp->pool_count++] = pattern;
}

/* The highest price of a node of this kind at which its pattern is worth taking. */
static double threshold(const struct cover_lp *lp, uint32_t kind)
{
    double cost = (double)lp->cover->kinds[kind].price / lp->scale;
    if (lp->kind_row[kind] != NO_ROW) {
        cost -= lp->dual[lp->kind_row[kind]];
    }
    if (lp->new_row != NO_ROW && lp->cover->kinds[kind].is_new) {
        cost -= lp->dual[lp->new_row];
    }
    return cost;
}

static double reduced_cost(const struct cover_lp *lp, const struct cover_pattern *pattern)
{
    double cost = threshold(lp, pattern->kind);
    for (size_t i = 0; i < pattern->part_count; i++) {
        uint32_t row = lp->class_row[pattern->parts[i].class];
        if (row != NO_ROW) {
            cost -= (double)pattern->parts[i].count * lp->dual[row];
        }
    }
    return cost;
}

static double column_cost(const struct cover_lp *lp, struct column column)
{
    if (column.what == COLUMN_PATTERN) {
        return (double)lp->cover->kinds[lp->pool[column.index].kind].price / lp->scale;
    }
    return column.what == COLUMN_MISSING ? missing_price : 0.0;
}

/* The column that reduces the cost fastest; false if no known column does. */
static bool best_column(struct cover_lp *lp, struct column *ret_column, double *ret_cost)
{
    double best = -tolerance;
    for (uint32_t i = 0; i < lp->pool_count; i++) {
        if (lp->is_basic[i] || !lp->is_allowed[i]) {
            continue;
        }
        double cost = reduced_cost(lp, &lp->pool[i]);
        lp->cover->work -= 2 + lp->pool[i].part_count;
        if (cost < best) {
            best = cost;
            *ret_column = (struct column){COLUMN_PATTERN, i};
        }
    }
    for (uint32_t i = 0; i < lp->row_count; i++) {
        double cost = i < lp->class_rows ? lp->dual[i] : -lp->dual[i];
        if (cost < best) {
            best = cost;
            *ret_column = (struct column){i < lp->class_rows ? COLUMN_SURPLUS : COLUMN_SLACK, i};
        }
    }
    *ret_cost = best;
    return best < -tolerance;
}

/* Generates, for every kind, a pattern with a negative reduced cost under the current duals. */
static bool make_patterns(struct cover_lp *lp, const struct cover_rest *rest, int64_t steps)
{
    struct cover *cover = lp->cover;
    bool has_found = false;
    for (size_t i = 0; i < cover->class_count; i++) {
        lp->values[i] = lp->class_row[i] == NO_ROW ? 0.0 : lp->dual[lp->class_row[i]];
    }
    for (uint32_t i = 0; i < cover->kind_count && cover->work > 0; i++) {
        if (!cover_kind_open(cover, i, rest)) {
            continue;
        }
        cover_fill(cover, i, lp->values, rest->counts, steps);
        if (cover->fill->value > threshold(lp, i) + 1e-7) {
            add_to_pool(lp, cover_pattern(cover, i, cover->fill->parts, cover->fill->part_count));
            has_found = true;
        }
    }
    return has_found;
}

/* ---- pivots -------------------------------------------------------------------------------- */

static void cover_lp_add_column(const struct cover_lp *lp, uint32_t row, double factor)
{
    for (size_t i = 0; row != NO_ROW && i < lp->row_count; i++) {
        lp->entering[i] += factor * lp->inverse[i * lp->row_count + row];
    }
}

/* Expresses the entering column in terms of the basis. */
static void express(struct cover_lp *lp, struct column column)
{
    memset(lp->entering, 0, lp->row_count * sizeof(double));
    if (column.what != COLUMN_PATTERN) {
        cover_lp_add_column(lp, column.index, column.what == COLUMN_SURPLUS ? -1.0 : 1.0);
        return;
    }
    const struct cover_pattern *pattern = &lp->pool[column.index];
    for (size_t i = 0; i < pattern->part_count; i++) {
        cover_lp_add_column(lp, lp->class_row[pattern->parts[i].class],
                            (double)pattern->parts[i].count);
    }
    cover_lp_add_column(lp, lp->kind_row[pattern->kind], 1.0);
    if (lp->cover->kinds[pattern->kind].is_new) {
        cover_lp_add_column(lp, lp->new_row, 1.0);
    }
    lp->cover->work -= (int64_t)((pattern->part_count + 2) * lp->row_count);
}

/* The row whose basic column reaches zero first. */
static uint32_t leaving_row(const struct cover_lp *lp)
{
    uint32_t best = NO_ROW;
    double least = 0.0;
    for (uint32_t i = 0; i < lp->row_count; i++) {
        if (lp->entering[i] <= tolerance) {
            continue;
        }
        double ratio = (lp->level[i] > 0.0 ? lp->level[i] : 0.0) / lp->entering[i];
        bool is_tie = best != NO_ROW && ratio <= least + tolerance && ratio >= least - tolerance;
        if (best == NO_ROW || (is_tie ? lp->entering[i] > lp->entering[best] : ratio < least)) {
            best = i;
            least = ratio;
        }
    }
    return best;
}

static bool is_nothing(double value)
{
    return value < 1e-13 && value > -1e-13;
}

/* Divides the leaving row by the pivot and records where it is not 0: it is often sparse. */
static size_t scale_row(struct cover_lp *lp, uint32_t row, double cost)
{
    double *values = lp->inverse + row * lp->row_count;
    double by = lp->entering[row];
    size_t count = 0;
    for (uint32_t i = 0; i < lp->row_count; i++) {
        if (is_nothing(values[i])) {
            values[i] = 0.0;
            continue;
        }
        values[i] /= by;
        lp->dual[i] += cost * values[i];
        lp->filled[count++] = i;
    }
    lp->level[row] /= by;
    return count;
}

static bool pivot(struct cover_lp *lp, struct column column, double cost)
{
    express(lp, column);
    uint32_t row = leaving_row(lp);
    if (row == NO_ROW) {
        return false;
    }
    size_t filled = scale_row(lp, row, cost);
    const double *from = lp->inverse + row * lp->row_count;
    for (size_t i = 0; i < lp->row_count; i++) {
        double factor = lp->entering[i];
        if (i == row || is_nothing(factor)) {
            continue;
        }
        double *to = lp->inverse + i * lp->row_count;
        for (size_t j = 0; j < filled; j++) {
            to[lp->filled[j]] -= factor * from[lp->filled[j]];
        }
        lp->level[i] -= factor * lp->level[row];
        lp->cover->work -= (int64_t)(1 + filled * 3 / 4);
    }
    lp->cover->work -= (int64_t)(4 * lp->row_count);
    if (lp->basis[row].what == COLUMN_PATTERN) {
        lp->is_basic[lp->basis[row].index] = 0;
    }
    if (column.what == COLUMN_PATTERN) {
        lp->is_basic[column.index] = 1;
    }
    lp->basis[row] = column;
    return true;
}

void cover_lp_seed(struct cover_lp *lp, struct cover_pattern pattern)
{
    add_to_pool(lp, pattern);
}

/* Adds patterns with each class alone on its cheapest kind. */
static void seed_alone(struct cover_lp *lp, const struct cover_rest *rest)
{
    struct cover *cover = lp->cover;
    for (uint32_t i = 0; i < cover->class_count; i++) {
        double least = missing_price;
        struct cover_part part = {i, 0};
        uint32_t best = NO_ROW;
        for (uint32_t j = 0; j < cover->kind_count && rest->counts[i] > 0; j++) {
            if (!cover->kinds[j].is_new || !cover->kinds[j].accepts[i]) {
                continue;
            }
            double fits = fit_of(cover, j, i);
            double price = (double)cover->kinds[j].price / lp->scale / fits;
            if (best == NO_ROW || price < least) {
                least = price;
                best = j;
                part.count = (int64_t)fits;
            }
        }
        if (best != NO_ROW) {
            add_to_pool(lp, cover_pattern(cover, best, &part, 1));
        }
    }
}

bool cover_lp_solve(struct cover_lp *lp, const struct cover_rest *rest, int64_t steps, int64_t work)
{
    struct cover *cover = lp->cover;
    int64_t stop = cover->work > work ? cover->work - work : 0;
    if (!lp->is_seeded) {
        lp->is_seeded = true;
        seed_alone(lp, rest);
    }
    cover_lp_set_up(lp, rest);
    /* Degenerate pivots could cycle; this many are never needed. */
    size_t pivots = 50 * lp->row_count + 1000;
    bool is_solved = false;
    while (!is_solved && pivots > 0 && cover->work > stop) {
        struct column column = {COLUMN_SLACK, 0};
        double cost = 0.0;
        if (best_column(lp, &column, &cost)) {
            pivots = pivot(lp, column, cost) ? pivots - 1 : 0;
        } else {
            is_solved = !make_patterns(lp, rest, 1) && !make_patterns(lp, rest, steps) &&
                        cover->work > 0;
        }
    }
    for (size_t i = 0; i < cover->class_count; i++) {
        double value = lp->class_row[i] == NO_ROW ? 0.0 : lp->dual[lp->class_row[i]] * lp->scale;
        lp->values[i] = value > 0.0 ? value : 0.0;
    }
    return is_solved;
}

/* ---- the result ---------------------------------------------------------------------------- */

double cover_lp_price(const struct cover_lp *lp)
{
    double price = 0.0;
    for (size_t i = 0; i < lp->row_count; i++) {
        price += lp->level[i] * column_cost(lp, lp->basis[i]);
    }
    return price * lp->scale;
}

const double *cover_lp_values(const struct cover_lp *lp)
{
    return lp->values;
}

size_t cover_lp_taken(const struct cover_lp *lp, size_t at, double *ret_share,
                      struct cover_pattern *ret_pattern)
{
    for (; at < lp->row_count; at++) {
        if (lp->basis[at].what == COLUMN_PATTERN && lp->level[at] > 1e-7) {
            *ret_share = lp->level[at];
            *ret_pattern = lp->pool[lp->basis[at].index];
            return at + 1;
        }
    }
    return 0;
}
