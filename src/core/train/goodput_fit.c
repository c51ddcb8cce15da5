/*
 * goodput_fit.c: projected quasi-Newton search for the parameters of step times.
 *
 * Alpha and beta differ by orders of magnitude, and may be zero. So the search runs on a scale that
 * is linear near zero and logarithmic above (fit_value()). Each variable has bounds; one that the
 * samples do not determine has equal ones.
 */
#include "core/train/goodput_fit.h"

#include "base/require.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { ALPHA_C, BETA_C, ALPHA_N, BETA_N, ALPHA_R, BETA_R, GAMMA, FIT_VARIABLES };
enum { FIT_STEPS = 200, FIT_SMALL_STEPS = 3, FIT_HALVINGS = 30, FIT_STARTS = 3, FIT_ROUNDS = 6 };

static const double fit_least = 1e-8; /* of alpha and beta */
static const double fit_most = 1e8;
static const double fit_gamma_most = 10;
static const double fit_gamma_weight = 1e-3;
static const double fit_growth_weight = 1e-2;

struct fit {
    const struct step_sample *samples;
    size_t count;
    double unit[FIT_VARIABLES]; /* where the scale turns from linear to logarithmic */
    double low[FIT_VARIABLES], high[FIT_VARIABLES]; /* on the scale, as all positions */
    double rounding; /* of the corner that the objective has where an error is zero */
};

struct fit_point {
    double at[FIT_VARIABLES];
    double value;
    double slope[FIT_VARIABLES];
};

static double fit_value(const struct fit *fit, int variable, double at)
{
    return variable == GAMMA ? at : fit_least + fit->unit[variable] * expm1(at);
}

static double fit_position(const struct fit *fit, int variable, double value)
{
    return variable == GAMMA ? value : log1p((value - fit_least) / fit->unit[variable]);
}

static struct perf_params fit_params(const struct fit *fit, const double at[FIT_VARIABLES])
{
    double value[FIT_VARIABLES];
    for (int i = 0; i < FIT_VARIABLES; i++) {
        value[i] = fit_value(fit, i, at[i]);
    }
    return (struct perf_params){value[ALPHA_C], value[BETA_C], value[ALPHA_N], value[BETA_N],
                                value[ALPHA_R], value[BETA_R], value[GAMMA]};
}

/* ---- the objective and its slope ---- */

/* The sum of squared errors of one kind of time, and its slope. */
struct fit_errors {
    double squares;
    double slope[FIT_VARIABLES];
};

/* The logarithm of a time alpha + beta * factor, and its slopes. */
struct fit_term {
    int alpha, beta; /* -1: a constant */
    double log;
    double alpha_slope, beta_slope;
};

static struct fit_term fit_term(const struct perf_params *perf, int alpha, int beta, double factor)
{
    const double values[] = {perf->alpha_c, perf->beta_c,  perf->alpha_n,
                             perf->beta_n,  perf->alpha_r, perf->beta_r};
    double constant = alpha < 0 ? fit_least : values[alpha];
    double sum = constant + (beta < 0 ? fit_least : values[beta]) * factor;
    return (struct fit_term){alpha, beta, log(sum), 1 / sum, factor / sum};
}

static struct fit_term fit_network(const struct perf_params *perf, struct placement_size size)
{
    double extra = fmax((double)(size.replicas - 2), fit_least);
    if (size.nodes > 1) {
        return fit_term(perf, ALPHA_N, BETA_N, extra);
    }
    return size.replicas > 1 ? fit_term(perf, ALPHA_R, BETA_R, extra)
                             : fit_term(perf, -1, -1, extra);
}

static void fit_add(struct fit_errors *errors, double error, const struct fit_term *term,
                    double weight)
{
    if (term->alpha >= 0) {
        errors->slope[term->alpha] += error * weight * term->alpha_slope;
        errors->slope[term->beta] += error * weight * term->beta_slope;
    }
}

static void fit_add_sample(const struct perf_params *perf, const struct step_sample *sample,
                           struct fit_errors *accum, struct fit_errors *optim)
{
    struct fit_term compute = fit_term(perf, ALPHA_C, BETA_C, (double)sample->atomic);
    struct fit_term network = fit_network(perf, sample->size);
    double error = compute.log - log(sample->accum_seconds);
    accum->squares += error * error;
    fit_add(accum, error, &compute, 1);

    /* log((e^c)^gamma + (e^n)^gamma) / gamma, without overflow */
    double larger = fmax(compute.log, network.log);
    double apart = exp(perf->gamma * (fmin(compute.log, network.log) - larger));
    double predicted = larger + log1p(apart) / perf->gamma;
    double minor = apart / (1 + apart);
    double compute_weight = compute.log >= network.log ? 1 - minor : minor;
    error = predicted - log(sample->optim_seconds);
    optim->squares += error * error;
    fit_add(optim, error, &compute, compute_weight);
    fit_add(optim, error, &network, 1 - compute_weight);
    optim->slope[GAMMA] += error *
                           (compute_weight * compute.log + (1 - compute_weight) * network.log -
                            predicted) /
                           perf->gamma;
}

/* Adds the root of the mean square. */
static double fit_root(const struct fit_errors *errors, size_t count, double rounding,
                       double slope[FIT_VARIABLES])
{
    double root = sqrt(errors->squares / (double)count + rounding * rounding);
    for (int i = 0; i < FIT_VARIABLES && root > 0; i++) {
        slope[i] += errors->slope[i] / ((double)count * root);
    }
    return root;
}

static double fit_penalty(const struct perf_params *perf, double slope[FIT_VARIABLES])
{
    double between = perf->beta_n / perf->alpha_n, within = perf->beta_r / perf->alpha_r;
    double overlap = perf->gamma - 1;
    slope[BETA_N] += 2 * fit_growth_weight * between / perf->alpha_n;
    slope[ALPHA_N] -= 2 * fit_growth_weight * between * between / perf->alpha_n;
    slope[BETA_R] += 2 * fit_growth_weight * within / perf->alpha_r;
    slope[ALPHA_R] -= 2 * fit_growth_weight * within * within / perf->alpha_r;
    slope[GAMMA] += 2 * fit_gamma_weight * overlap;
    return fit_gamma_weight * overlap * overlap +
           fit_growth_weight * (between * between + within * within);
}

static double fit_evaluate(const struct fit *fit, const struct perf_params *perf,
                           double slope[FIT_VARIABLES])
{
    struct fit_errors accum = {0}, optim = {0};
    for (size_t i = 0; i < fit->count; i++) {
        fit_add_sample(perf, &fit->samples[i], &accum, &optim);
    }
    return fit_root(&accum, fit->count, fit->rounding, slope) +
           fit_root(&optim, fit->count, fit->rounding, slope) + fit_penalty(perf, slope);
}

double goodput_fit_objective(const struct perf_params *perf, const struct step_sample *samples,
                             size_t count)
{
    struct fit fit = {.samples = samples, .count = count};
    double slope[FIT_VARIABLES] = {0};
    return fit_evaluate(&fit, perf, slope);
}

/* ---- the search ---- */

static double fit_dot(const double a[FIT_VARIABLES], const double b[FIT_VARIABLES])
{
    double sum = 0;
    for (int i = 0; i < FIT_VARIABLES; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void fit_look(const struct fit *fit, struct fit_point *point)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        point->at[i] = fmin(fmax(point->at[i], fit->low[i]), fit->high[i]);
        point->slope[i] = 0;
    }
    struct perf_params perf = fit_params(fit, point->at);
    point->value = fit_evaluate(fit, &perf, point->slope);
    for (int i = 0; i < GAMMA; i++) {
        point->slope[i] *= fit->unit[i] * exp(point->at[i]);
    }
}

/* True if the objective can fall only by leaving the bounds of variable `i`. */
static bool fit_is_bound(const struct fit *fit, const struct fit_point *point, int i)
{
    return fit->low[i] >= fit->high[i] || (point->at[i] <= fit->low[i] && point->slope[i] > 0) ||
           (point->at[i] >= fit->high[i] && point->slope[i] < 0);
}

/* The estimated inverse of the second derivatives. */
struct fit_curve {
    double inverse[FIT_VARIABLES][FIT_VARIABLES];
};

static void fit_flatten(struct fit_curve *curve)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        for (int j = 0; j < FIT_VARIABLES; j++) {
            curve->inverse[i][j] = i == j;
        }
    }
}

/* The update of Broyden, Fletcher, Goldfarb and Shanno. */
static void fit_learn(struct fit_curve *curve, const double moved[FIT_VARIABLES],
                      const double turned[FIT_VARIABLES])
{
    double product = fit_dot(moved, turned);
    if (product <= DBL_EPSILON) {
        return;
    }
    double image[FIT_VARIABLES] = {0};
    for (int i = 0; i < FIT_VARIABLES; i++) {
        image[i] = fit_dot(curve->inverse[i], turned);
    }
    double scale = (1 + fit_dot(turned, image) / product) / product;
    for (int i = 0; i < FIT_VARIABLES; i++) {
        for (int j = 0; j < FIT_VARIABLES; j++) {
            curve->inverse[i][j] += scale * moved[i] * moved[j] -
                                    (image[i] * moved[j] + moved[i] * image[j]) / product;
        }
    }
}

/* Downhill, within the bounds that hold at `point`. */
static void fit_direction(const struct fit *fit, const struct fit_curve *curve,
                          const struct fit_point *point, double direction[FIT_VARIABLES])
{
    double free_slope[FIT_VARIABLES];
    for (int i = 0; i < FIT_VARIABLES; i++) {
        free_slope[i] = fit_is_bound(fit, point, i) ? 0 : point->slope[i];
    }
    for (int i = 0; i < FIT_VARIABLES; i++) {
        direction[i] = fit_is_bound(fit, point, i) ? 0 : -fit_dot(curve->inverse[i], free_slope);
    }
}

/* Goes along `direction` until the objective has fallen enough and no longer falls steeply.
 * Returns false if it does not fall. */
static bool fit_advance(const struct fit *fit, const struct fit_point *from,
                        const double direction[FIT_VARIABLES], struct fit_point *to)
{
    double steepness = fit_dot(from->slope, direction);
    double low = 0, high = 0, step = 1;
    bool has_fallen = false;
    for (int tries = 0; tries < FIT_HALVINGS && steepness < 0; tries++) {
        struct fit_point next = *from;
        for (int i = 0; i < FIT_VARIABLES; i++) {
            next.at[i] += step * direction[i];
        }
        fit_look(fit, &next);
        if (!(next.value <= from->value + 1e-4 * step * steepness)) {
            high = step;
        } else {
            *to = next;
            has_fallen = true;
            if (fit_dot(next.slope, direction) >= 0.9 * steepness) {
                return true;
            }
            low = step;
        }
        step = high > 0 ? (low + high) / 2 : 2 * low;
    }
    return has_fallen;
}

static struct fit_point fit_search(const struct fit *fit, struct fit_curve *curve,
                                   struct fit_point point)
{
    bool is_flat = false;
    int small = 0; /* steps in a row that hardly changed the objective */
    fit_look(fit, &point);
    for (int steps = 0; steps < FIT_STEPS && small < FIT_SMALL_STEPS; steps++) {
        double direction[FIT_VARIABLES], moved[FIT_VARIABLES], turned[FIT_VARIABLES];
        struct fit_point next;
        fit_direction(fit, curve, &point, direction);
        if (!fit_advance(fit, &point, direction, &next)) {
            if (is_flat) {
                break;
            }
            fit_flatten(curve);
            is_flat = true;
            continue;
        }
        for (int i = 0; i < FIT_VARIABLES; i++) {
            moved[i] = next.at[i] - point.at[i];
            turned[i] = next.slope[i] - point.slope[i];
        }
        fit_learn(curve, moved, turned);
        is_flat = false;
        small = point.value - next.value < 1e-8 * next.value ? small + 1 : 0;
        point = next;
    }
    return point;
}

/* ---- bounds and starts ---- */

static void fit_fix(struct fit *fit, int variable, double value)
{
    fit->low[variable] = fit->high[variable] = fit_position(fit, variable, value);
}

/* What the samples determine. */
struct fit_seen {
    bool has_batches;  /* of several sizes */
    bool has_nodes;    /* several in one sample */
    bool has_replicas; /* several on one node */
    bool has_three;    /* or more replicas */
    double accum_mean, optim_mean, atomic_mean;
};

static struct fit_seen fit_see(const struct fit *fit)
{
    struct fit_seen seen = {0};
    for (size_t i = 0; i < fit->count; i++) {
        const struct step_sample *sample = &fit->samples[i];
        require(sample->accum_seconds > 0 && sample->optim_seconds > 0, "steps take time");
        require(sample->atomic > 0, "a batch is not empty");
        seen.has_batches |= sample->atomic != fit->samples[0].atomic;
        seen.has_nodes |= sample->size.nodes > 1;
        seen.has_replicas |= sample->size.nodes == 1 && sample->size.replicas > 1;
        seen.has_three |= sample->size.replicas > 2;
        seen.accum_mean += sample->accum_seconds / (double)fit->count;
        seen.optim_mean += sample->optim_seconds / (double)fit->count;
        seen.atomic_mean += (double)sample->atomic / (double)fit->count;
    }
    return seen;
}

static void fit_set_bounds(struct fit *fit, const struct fit_seen *seen)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        fit->unit[i] = 0.01 * (i == ALPHA_C  ? seen->accum_mean
                               : i == BETA_C ? seen->accum_mean / seen->atomic_mean
                                             : seen->optim_mean);
        fit->low[i] = fit_position(fit, i, i == GAMMA ? 1 : fit_least);
        fit->high[i] = fit_position(fit, i, i == GAMMA ? fit_gamma_most : fit_most);
    }
    if (!seen->has_batches) {
        fit_fix(fit, ALPHA_C, seen->accum_mean / 2);
    }
    if (!seen->has_nodes) {
        fit_fix(fit, ALPHA_N, fit_least);
    }
    if (!seen->has_replicas) {
        fit_fix(fit, ALPHA_R, fit_least);
    }
    if (!seen->has_nodes || !seen->has_three) {
        fit_fix(fit, BETA_N, fit_least);
    }
    if (!seen->has_replicas || !seen->has_three) {
        fit_fix(fit, BETA_R, fit_least);
    }
}

/* A corner stops the search too early, so it is rounded first, and less and less. */
static struct fit_point fit_sharpen(struct fit *fit, struct fit_point point)
{
    static const double roundings[FIT_ROUNDS] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
    struct fit_curve curve;
    fit_flatten(&curve);
    for (int i = 0; i < FIT_ROUNDS; i++) {
        fit->rounding = roundings[i];
        point = fit_search(fit, &curve, point);
    }
    fit->rounding = 0;
    fit_look(fit, &point);
    return point;
}

struct perf_params goodput_fit(const struct step_sample *samples, size_t count)
{
    static const double gammas[FIT_STARTS] = {1.001, 2, 5};
    require(count > 0, "there is something to fit");
    struct fit fit = {.samples = samples, .count = count};
    struct fit_seen seen = fit_see(&fit);
    fit_set_bounds(&fit, &seen);
    struct fit_point best = {.value = DBL_MAX};
    for (int i = 0; i < FIT_STARTS; i++) {
        struct fit_point start = {.at = {4, 4, 4, 2, 4, 2, gammas[i]}};
        struct fit_point found = fit_sharpen(&fit, start);
        best = found.value < best.value ? found : best;
    }
    struct perf_params perf = fit_params(&fit, best.at);
    if (!seen.has_nodes) {
        /* A network between nodes is not faster than one within a node. */
        perf.alpha_n = fmax(perf.alpha_n, perf.alpha_r * 1.1);
        perf.beta_n = fmax(perf.beta_n, perf.beta_r * 1.1);
    }
    return perf;
}
