/* cover_solve.c: tries several heuristics and keeps the cheapest answer. */
#include "base/require.h"
#include "core/plan/cover_fill.h"
#include "core/plan/cover_internal.h"
#include "core/plan/cover_lp.h"

enum {
    ROOT_STEPS = 120,      /* fillings tried per pattern of the first program */
    DIVE_STEPS = 16,       /* the same for later programs */
    GREEDY_STEPS = 40,     /* fillings tried per node of a greedy answer */
    REPAIRS_IN_VAIN = 600, /* failed repairs after which the search stops */
    REPAIR_MOST = 6,       /* nodes repacked at once */
    SEEDS_MAX = 200,       /* patterns given to the program initially */
};

struct solver {
    struct cover *cover;
    struct cover_lp *lp;
    struct cover_answer best;
    struct cover_answer trial;
    struct cover_rest rest;  /* what is left to place in the current attempt */
    struct cover_rest scrap; /* what is left after its greedy completion */
    double *alone;           /* by class */
    double *values;          /* by class: used by the greedy heuristic */
    double *root;            /* by class: from the first program */
    double bound;            /* lower bound for the price */
    int64_t goal;            /* an answer must be cheaper than this */
    int64_t reserve;         /* work reserved for repairs */
    uint64_t rng;
    uint32_t *new_patterns; /* new patterns of the answer being repaired */
    size_t new_capacity;
    bool has_answer;
};

/* Pseudo-random: the same numbers in every replay. */
static uint64_t roll(struct solver *solver, uint64_t sides)
{
    solver->rng = solver->rng * 6364136223846793005u + 1442695040888963407u;
    return (solver->rng >> 33) % sides;
}

/* Stops when the possible saving is below one part in ten thousand. */
static bool is_done(const struct solver *solver)
{
    return solver->cover->work <= 0 || (double)solver->goal <= solver->bound * 1.0001;
}

/* Resets the rest: all requests are unplaced, all limits available. */
static void restart(struct solver *solver)
{
    const struct cover *cover = solver->cover;
    for (size_t i = 0; i < cover->class_count; i++) {
        solver->rest.counts[i] = cover->classes[i].count;
    }
    for (size_t i = 0; i < cover->kind_count; i++) {
        solver->rest.limits[i] = cover->kinds[i].limit;
    }
    solver->rest.new_limit = cover->new_limit;
}

/* ---- oversized nodes ----------------------------------------------------------------------- */

static bool holds(const struct cover *cover, const struct cover_kind *kind,
                  const struct cover_pattern *pattern)
{
    for (size_t i = 0; i < pattern->part_count; i++) {
        if (!kind->accepts[pattern->parts[i].class]) {
            return false;
        }
    }
    for (size_t i = 0; i < cover->column_count; i++) {
        int64_t sum = 0;
        for (size_t j = 0; j < pattern->part_count; j++) {
            sum += pattern->parts[j].count * cover->classes[pattern->parts[j].class].needs[i];
        }
        if (sum > kind->room[i] && sum > 0) {
            return false;
        }
    }
    return true;
}

static void drop_empty(struct cover_answer *answer)
{
    size_t kept = 0;
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->patterns[i].times > 0) {
            answer->patterns[kept++] = answer->patterns[i];
        }
    }
    answer->count = kept;
}

/*
 * Moves patterns to cheaper kinds that hold them; `rest` has the remaining limits. Moved patterns
 * are appended and so checked again until they are on the cheapest kind.
 */
static void downsize(struct cover *cover, struct cover_answer *answer, struct cover_rest *rest)
{
    for (size_t i = 0; i < answer->count; i++) {
        for (uint32_t j = 0; j < cover->kind_count && answer->patterns[i].times > 0; j++) {
            struct cover_pattern moved = answer->patterns[i];
            int64_t saving = cover->kinds[moved.kind].price - cover->kinds[j].price;
            cover->work -= moved.part_count;
            if (saving <= 0 || !cover_kind_open(cover, j, rest) ||
                !holds(cover, &cover->kinds[j], &moved)) {
                continue;
            }
            cover_take(cover, &moved, -moved.times, rest);
            moved.kind = j;
            int64_t times = cover_times(cover, &moved, rest);
            moved.times = times < moved.times ? times : moved.times;
            require(moved.times >= 0, "a pattern is not moved less than never");
            answer->patterns[i].times -= moved.times;
            require(answer->patterns[i].times >= 0, "only existing nodes are moved");
            cover_take(cover, &moved, moved.times, rest);
            cover_take(cover, &answer->patterns[i], answer->patterns[i].times, rest);
            cover_append(cover, answer, moved);
            answer->price -= moved.times * cover->kinds[answer->patterns[i].kind].price;
        }
    }
    drop_empty(answer);
}

static void keep_if_better(struct solver *solver, struct cover_answer *answer)
{
    if (answer->price < solver->goal) {
        cover_copy(solver->cover, &solver->best, answer);
        solver->goal = answer->price;
        solver->has_answer = true;
    }
}

/* ---- greedy -------------------------------------------------------------------------------- */

/* Completes an attempt with the greedy heuristic; the nodes taken so far stay. */
static void end_greedily(struct solver *solver, struct cover_answer *so_far, int64_t steps)
{
    struct cover *cover = solver->cover;
    cover_copy(cover, &solver->trial, so_far);
    cover_rest_copy(cover, &solver->scrap, &solver->rest);
    /* Downsizing may still save, so the attempt may exceed the best answer by one node. */
    if (cover_greedy(cover, solver->values, &solver->scrap, COVER_NO_LIMIT, steps,
                     &solver->trial)) {
        downsize(cover, &solver->trial, &solver->scrap);
        keep_if_better(solver, &solver->trial);
    }
}

/* ---- diving -------------------------------------------------------------------------------- */

static void use_values(struct solver *solver, const double *values)
{
    for (size_t i = 0; i < solver->cover->class_count; i++) {
        double least = solver->alone[i] * 1e-3;
        solver->values[i] = values[i] > least ? values[i] : least;
    }
}

static void fix(struct solver *solver, struct cover_pattern pattern, int64_t times,
                struct cover_answer *answer)
{
    int64_t most = cover_times(solver->cover, &pattern, &solver->rest);
    pattern.times = times < most ? times : most;
    if (pattern.times > 0) {
        require(pattern.times <= most, "not more nodes than the rest allows");
        cover_take(solver->cover, &pattern, pattern.times, &solver->rest);
        cover_append(solver->cover, answer, pattern);
    }
}

/* Rounds some patterns of the mix to whole nodes and takes them, at least one; false if none could
 * be taken. */
static bool fix_some(struct solver *solver, double round_up, struct cover_answer *answer)
{
    size_t before = answer->count;
    double share;
    double best = 0.0;
    struct cover_pattern pattern;
    struct cover_pattern largest = {0};
    for (size_t at = 0; (at = cover_lp_taken(solver->lp, at, &share, &pattern)) != 0;) {
        int64_t whole = (int64_t)(share + 1e-6);
        double part = share - (double)whole;
        fix(solver, pattern, whole + (part >= round_up), answer);
        if (part > best && part < round_up) {
            best = part;
            largest = pattern;
        }
    }
    if (answer->count == before && best > 0.0) {
        fix(solver, largest, 1, answer);
    }
    return answer->count > before;
}

/* Solves the program for the rest; at the root the result is already known. */
static bool solve_rest(struct solver *solver, bool is_at_root)
{
    return is_at_root
               ? solver->bound > 0.0
               : cover_lp_solve(solver->lp, &solver->rest, DIVE_STEPS, solver->cover->work / 4);
}

/* Rounds the mix to whole nodes step by step; every step also tries a greedy completion. */
static void dive(struct solver *solver, double round_up, bool is_at_root)
{
    struct cover *cover = solver->cover;
    struct cover_answer answer = {0};
    while (!cover_rest_empty(cover, &solver->rest) && cover->work > 0) {
        if (cover_lp_rows(cover, &solver->rest) > COVER_ROWS_MAX) {
            return; /* limits that could not matter before do now */
        }
        bool is_solved = solve_rest(solver, is_at_root);
        is_at_root = false;
        use_values(solver, cover_lp_values(solver->lp));
        end_greedily(solver, &answer, is_solved ? GREEDY_STEPS : 1);
        double end = (double)answer.price + cover_lp_price(solver->lp);
        if ((is_solved && end > (double)solver->goal - 0.5) || is_done(solver) ||
            cover->work < solver->reserve || !fix_some(solver, round_up, &answer)) {
            return;
        }
    }
    cover_copy(cover, &solver->trial, &answer);
    cover_rest_copy(cover, &solver->scrap, &solver->rest);
    downsize(cover, &solver->trial, &solver->scrap);
    keep_if_better(solver, &solver->trial);
}

/* ---- repairs ------------------------------------------------------------------------------- */

static void cover_solve_give_up(struct solver *solver, struct cover_pattern *one, int64_t *price)
{
    require(one->times > 0, "the pattern still has a node to give up");
    one->times--;
    *price += solver->cover->kinds[one->kind].price;
    for (size_t i = 0; i < one->part_count; i++) {
        solver->rest.counts[one->parts[i].class] += one->parts[i].count;
    }
}

/* Chooses a new node first, then alternates between new nodes and any others. */
static void choose_nodes(struct solver *solver, struct cover_answer *kept, int64_t *price)
{
    const struct cover *cover = solver->cover;
    size_t new_count = 0;
    for (uint32_t i = 0; i < kept->count; i++) {
        if (cover->kinds[kept->patterns[i].kind].is_new) {
            solver->new_patterns[new_count++] = i;
        }
    }
    require(new_count <= solver->new_capacity, "the new nodes fit into their array");
    uint64_t nodes = 2 + roll(solver, REPAIR_MOST - 1);
    for (uint64_t i = 0; i < nodes * 4 && nodes > 0 && new_count > 0; i++) {
        bool is_any = *price > 0 && roll(solver, 2) == 0;
        uint64_t at = is_any ? roll(solver, kept->count)
                             : solver->new_patterns[roll(solver, new_count)];
        if (kept->patterns[at].times > 0) {
            cover_solve_give_up(solver, &kept->patterns[at], price);
            nodes--;
        }
    }
}

/* Removes some nodes of the best answer; their requests are in `solver->rest` afterwards. */
static int64_t take_apart(struct solver *solver, struct cover_answer *kept)
{
    struct cover *cover = solver->cover;
    int64_t price = 0;
    cover_copy(cover, kept, &solver->best);
    if (kept->count > solver->new_capacity) {
        solver->new_capacity = 2 * kept->count;
        solver->new_patterns = ARENA_ARRAY(cover->arena, solver->new_capacity, uint32_t);
    }
    restart(solver);
    for (size_t i = 0; i < cover->class_count; i++) {
        solver->rest.counts[i] = 0;
    }
    choose_nodes(solver, kept, &price);
    for (size_t i = 0; i < kept->count; i++) {
        struct cover_pattern without_parts = {.kind = kept->patterns[i].kind};
        cover_take(cover, &without_parts, kept->patterns[i].times, &solver->rest);
    }
    cover->work -= (int64_t)(8 * kept->count + cover->class_count);
    kept->price -= price;
    return price;
}

static void shake_values(struct solver *solver)
{
    for (size_t i = 0; i < solver->cover->class_count; i++) {
        double factor = 0.7 + (double)roll(solver, 601) * 0.001;
        solver->values[i] = solver->root[i] * factor;
    }
}

/* Repacks a few nodes at a time while there is work left and repairs still succeed. */
static void repair(struct solver *solver)
{
    struct cover *cover = solver->cover;
    struct cover_answer kept = {0};
    struct cover_answer again = {0};
    for (int vain = 0; vain < REPAIRS_IN_VAIN && !is_done(solver); vain++) {
        int64_t price = take_apart(solver, &kept);
        shake_values(solver);
        again.count = 0;
        again.price = 0;
        if (price == 0 || !cover_greedy(cover, solver->values, &solver->rest, COVER_NO_LIMIT,
                                        GREEDY_STEPS, &again)) {
            continue;
        }
        downsize(cover, &again, &solver->rest);
        if (again.price > price) {
            continue;
        }
        for (size_t i = 0; i < again.count; i++) {
            cover_append(cover, &kept, again.patterns[i]);
        }
        drop_empty(&kept);
        if (again.price < price) {
            keep_if_better(solver, &kept);
            vain = 0;
        } else {
            cover_copy(cover, &solver->best, &kept); /* equally good, but may lead to better ones */
        }
    }
}

/* ---- the search ---------------------------------------------------------------------------- */

static void mark_acceptable(struct cover *cover)
{
    for (size_t i = 0; i < cover->kind_count; i++) {
        struct cover_kind *kind = &cover->kinds[i];
        for (size_t j = 0; j < cover->class_count; j++) {
            for (size_t k = 0; kind->accepts[j] && k < cover->column_count; k++) {
                int64_t need = cover->classes[j].needs[k];
                kind->accepts[j] = need == 0 || need <= kind->room[k];
            }
        }
    }
    cover->work -= (int64_t)(cover->kind_count * cover->class_count * cover->column_count);
}

static void solve_by_program(struct solver *solver)
{
    static const double round_up[] = {0.85, 0.6, 2.0};
    struct cover *cover = solver->cover;
    solver->lp = cover_lp_new(cover);
    for (size_t i = 0; i < solver->best.count && i < SEEDS_MAX; i++) {
        cover_lp_seed(solver->lp, solver->best.patterns[i]);
    }
    if (cover_lp_solve(solver->lp, &solver->rest, ROOT_STEPS, cover->work / 2)) {
        solver->bound = cover_lp_price(solver->lp);
    }
    use_values(solver, cover_lp_values(solver->lp));
    for (size_t i = 0; i < cover->class_count; i++) {
        solver->root[i] = solver->values[i];
    }
    for (size_t i = 0; i < sizeof(round_up) / sizeof(round_up[0]) && !is_done(solver); i++) {
        if (cover->work < solver->reserve) {
            break;
        }
        restart(solver);
        dive(solver, round_up[i], i == 0);
    }
}

/* The start, with every node downsized. */
static void trim_start(struct solver *solver)
{
    struct cover *cover = solver->cover;
    cover_copy(cover, &solver->trial, &solver->best);
    cover_rest_copy(cover, &solver->scrap, &solver->rest);
    for (size_t i = 0; i < solver->trial.count; i++) {
        const struct cover_pattern *pattern = &solver->trial.patterns[i];
        cover_take(cover, pattern, pattern->times, &solver->scrap);
    }
    downsize(cover, &solver->trial, &solver->scrap);
    keep_if_better(solver, &solver->trial);
}

bool cover_solve(struct cover *cover, const struct cover_answer *start,
                 struct cover_answer *ret_answer)
{
    struct solver solver = {.cover = cover, .goal = start->price, .rng = 20261115};
    struct cover_answer nothing = {0};
    solver.reserve = cover->work / 3;
    cover_fill_init(cover);
    mark_acceptable(cover);
    cover_rest_init(cover, &solver.rest);
    cover_rest_init(cover, &solver.scrap);
    solver.alone = ARENA_ARRAY(cover->arena, cover->class_count, double);
    solver.values = ARENA_ARRAY(cover->arena, cover->class_count, double);
    solver.root = ARENA_ARRAY(cover->arena, cover->class_count, double);
    cover_alone(cover, solver.alone);
    use_values(&solver, solver.alone);
    for (size_t i = 0; i < cover->class_count; i++) {
        solver.root[i] = solver.values[i];
    }
    cover_copy(cover, &solver.best, start);
    trim_start(&solver);
    end_greedily(&solver, &nothing, 1);
    if (cover_lp_rows(cover, &solver.rest) <= COVER_ROWS_MAX) {
        solve_by_program(&solver);
    }
    repair(&solver);
    *ret_answer = solver.best;
    return solver.has_answer;
}
