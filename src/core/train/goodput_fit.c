/*
 * goodput_fit.c: fits the parameters of step times with a projected quasi-Newton method (BFGS).
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
#include <string.h>

enum { ALPHA_C, BETA_C, ALPHA_N, BETA_N, ALPHA_R, BETA_R, GAMMA, FIT_VARIABLES };
enum { FIT_STEPS = 200, FIT_SMALL_STEPS = 3, FIT_LINE_TRIES = 30, FIT_STARTS = 5, FIT_ROUNDS = 6 };

static const double fit_least = 1e-8; /* of alpha and beta */
static const double fit_most = 1e8;
static const double fit_gamma_most = 10;
static const double fit_gamma_weight = 1e-3;
static const double fit_growth_weight = 1e-2;

struct fit {
    const struct step_sample *samples;
    size_t count;
    double unit[FIT_VARIABLES]; /* where the scale turns from linear to logarithmic */
    double low[FIT_VARIABLES], high[FIT_VARIABLES]; /* bounds, on that scale */
    double smoothing; /* rounds the kink of the objective at an error of zero */
};

struct fit_point {
    double at[FIT_VARIABLES];
    double value;
    double gradient[FIT_VARIABLES];
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

/* ---- the objective and its gradient ---- */

/* The sum of squared errors of one kind of time, and its gradient. */
struct fit_errors {
    double squares;
    double gradient[FIT_VARIABLES];
};

/* The logarithm of a time alpha + beta * factor, and its derivatives. */
struct fit_term {
    int alpha, beta; /* -1: a constant */
    double log;
    double alpha_gradient, beta_gradient;
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

static void fit_add_gradient(struct fit_errors *errors, double error, const struct fit_term *term,
                             double weight)
{
    if (term->alpha >= 0) {
        errors->gradient[term->alpha] += error * weight * term->alpha_gradient;
        errors->gradient[term->beta] += error * weight * term->beta_gradient;
    }
}

static void fit_add_sample(const struct perf_params *perf, const struct step_sample *sample,
                           struct fit_errors *accum, struct fit_errors *optim)
{
    struct fit_term compute = fit_term(perf, ALPHA_C, BETA_C, (double)sample->atomic);
    struct fit_term network = fit_network(perf, sample->size);
    double error = compute.log - log(sample->accum_seconds);
    accum->squares += error * error;
    fit_add_gradient(accum, error, &compute, 1);

    /* log((e^c)^gamma + (e^n)^gamma) / gamma, without overflow */
    double larger = fmax(compute.log, network.log);
    double ratio = exp(perf->gamma * (fmin(compute.log, network.log) - larger));
    double predicted = larger + log1p(ratio) / perf->gamma;
    double minor = ratio / (1 + ratio);
    double compute_weight = compute.log >= network.log ? 1 - minor : minor;
    error = predicted - log(sample->optim_seconds);
    optim->squares += error * error;
    fit_add_gradient(optim, error, &compute, compute_weight);
    fit_add_gradient(optim, error, &network, 1 - compute_weight);
    optim->gradient[GAMMA] += error *
                              (compute_weight * compute.log + (1 - compute_weight) * network.log -
                               predicted) /
                              perf->gamma;
}

/* Adds the root of the mean square. */
static double fit_add_root(const struct fit_errors *errors, size_t count, double smoothing,
                           double gradient[FIT_VARIABLES])
{
    double root = sqrt(errors->squares / (double)count + smoothing * smoothing);
    for (int i = 0; i < FIT_VARIABLES && root > 0; i++) {
        gradient[i] += errors->gradient[i] / ((double)count * root);
    }
    return root;
}

static double fit_penalty(const struct perf_params *perf, double gradient[FIT_VARIABLES])
{
    double between = perf->beta_n / perf->alpha_n, within = perf->beta_r / perf->alpha_r;
    double overlap = perf->gamma - 1;
    gradient[BETA_N] += 2 * fit_growth_weight * between / perf->alpha_n;
    gradient[ALPHA_N] -= 2 * fit_growth_weight * between * between / perf->alpha_n;
    gradient[BETA_R] += 2 * fit_growth_weight * within / perf->alpha_r;
    gradient[ALPHA_R] -= 2 * fit_growth_weight * within * within / perf->alpha_r;
    gradient[GAMMA] += 2 * fit_gamma_weight * overlap;
    return fit_gamma_weight * overlap * overlap +
           fit_growth_weight * (between * between + within * within);
}

static double fit_evaluate(const struct fit *fit, const struct perf_params *perf,
                           double gradient[FIT_VARIABLES])
{
    struct fit_errors accum = {0}, optim = {0};
    for (size_t i = 0; i < fit->count; i++) {
        fit_add_sample(perf, &fit->samples[i], &accum, &optim);
    }
    return fit_add_root(&accum, fit->count, fit->smoothing, gradient) +
           fit_add_root(&optim, fit->count, fit->smoothing, gradient) + fit_penalty(perf, gradient);
}

double goodput_fit_objective(const struct perf_params *perf, const struct step_sample *samples,
                             size_t count)
{
    struct fit fit = {.samples = samples, .count = count};
    double gradient[FIT_VARIABLES] = {0};
    return fit_evaluate(&fit, perf, gradient);
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

static void fit_evaluate_point(const struct fit *fit, struct fit_point *point)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        point->at[i] = fmin(fmax(point->at[i], fit->low[i]), fit->high[i]);
        point->gradient[i] = 0;
    }
    struct perf_params perf = fit_params(fit, point->at);
    point->value = fit_evaluate(fit, &perf, point->gradient);
    for (int i = 0; i < GAMMA; i++) {
        point->gradient[i] *= fit->unit[i] * exp(point->at[i]);
    }
}

/* True if the objective can fall only by leaving the bounds of variable `i`. */
static bool fit_is_at_bound(const struct fit *fit, const struct fit_point *point, int i)
{
    return fit->low[i] >= fit->high[i] || (point->at[i] <= fit->low[i] && point->gradient[i] > 0) ||
           (point->at[i] >= fit->high[i] && point->gradient[i] < 0);
}

/* An estimate of the inverse Hessian. */
struct fit_hessian {
    double inverse[FIT_VARIABLES][FIT_VARIABLES];
};

static void fit_reset_hessian(struct fit_hessian *hessian)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        for (int j = 0; j < FIT_VARIABLES; j++) {
            hessian->inverse[i][j] = i == j;
        }
    }
}

/* The BFGS update. */
static void fit_update_hessian(struct fit_hessian *hessian, const double step[FIT_VARIABLES],
                               const double change[FIT_VARIABLES])
{
    double product = fit_dot(step, change);
    if (product <= DBL_EPSILON) {
        return;
    }
    double image[FIT_VARIABLES] = {0};
    for (int i = 0; i < FIT_VARIABLES; i++) {
        image[i] = fit_dot(hessian->inverse[i], change);
    }
    double scale = (1 + fit_dot(change, image) / product) / product;
    for (int i = 0; i < FIT_VARIABLES; i++) {
        for (int j = 0; j < FIT_VARIABLES; j++) {
            hessian->inverse[i][j] += scale * step[i] * step[j] -
                                      (image[i] * step[j] + step[i] * image[j]) / product;
        }
    }
}

/* The descent direction, without the variables that are at a bound. */
static void fit_direction(const struct fit *fit, const struct fit_hessian *hessian,
                          const struct fit_point *point, double direction[FIT_VARIABLES])
{
    double free_gradient[FIT_VARIABLES];
    for (int i = 0; i < FIT_VARIABLES; i++) {
        free_gradient[i] = fit_is_at_bound(fit, point, i) ? 0 : point->gradient[i];
    }
    for (int i = 0; i < FIT_VARIABLES; i++) {
        direction[i] = fit_is_at_bound(fit, point, i)
                           ? 0
                           : -fit_dot(hessian->inverse[i], free_gradient);
    }
}

/* Weak Wolfe line search along `direction`. Returns false if the objective does not decrease. */
static bool fit_line_search(const struct fit *fit, const struct fit_point *from,
                            const double direction[FIT_VARIABLES], struct fit_point *to)
{
    double descent = fit_dot(from->gradient, direction);
    double low = 0, high = 0, length = 1;
    bool has_fallen = false;
    for (int tries = 0; tries < FIT_LINE_TRIES && descent < 0; tries++) {
        struct fit_point next = *from;
        for (int i = 0; i < FIT_VARIABLES; i++) {
            next.at[i] += length * direction[i];
        }
        fit_evaluate_point(fit, &next);
        if (!(next.value <= from->value + 1e-4 * length * descent)) {
            high = length;
        } else {
            *to = next;
            has_fallen = true;
            if (fit_dot(next.gradient, direction) >= 0.9 * descent) {
                return true;
            }
            low = length;
        }
        length = high > 0 ? (low + high) / 2 : 2 * low;
    }
    return has_fallen;
}

static struct fit_point fit_minimize(const struct fit *fit, struct fit_hessian *hessian,
                                     struct fit_point point)
{
    bool is_reset = false;
    int small = 0; /* steps in a row that hardly changed the objective */
    fit_evaluate_point(fit, &point);
    for (int steps = 0; steps < FIT_STEPS && small < FIT_SMALL_STEPS; steps++) {
        double direction[FIT_VARIABLES], step[FIT_VARIABLES], change[FIT_VARIABLES];
        struct fit_point next;
        fit_direction(fit, hessian, &point, direction);
        if (!fit_line_search(fit, &point, direction, &next)) {
            if (is_reset) {
                break;
            }
            fit_reset_hessian(hessian);
            is_reset = true;
            continue;
        }
        for (int i = 0; i < FIT_VARIABLES; i++) {
            step[i] = next.at[i] - point.at[i];
            change[i] = next.gradient[i] - point.gradient[i];
        }
        fit_update_hessian(hessian, step, change);
        is_reset = false;
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
struct fit_summary {
    bool has_batches;  /* batches of several sizes */
    bool has_nodes;    /* samples with several nodes */
    bool has_replicas; /* samples with several replicas on one node */
    bool has_three;    /* samples with three replicas or more */
    double accum_mean, optim_mean, atomic_mean;
};

static struct fit_summary fit_summarize(const struct fit *fit)
{
    struct fit_summary summary = {0};
    for (size_t i = 0; i < fit->count; i++) {
        const struct step_sample *sample = &fit->samples[i];
        require(sample->accum_seconds > 0 && sample->optim_seconds > 0, "steps take time");
        require(sample->atomic > 0, "a batch is not empty");
        summary.has_batches |= sample->atomic != fit->samples[0].atomic;
        summary.has_nodes |= sample->size.nodes > 1;
        summary.has_replicas |= sample->size.nodes == 1 && sample->size.replicas > 1;
        summary.has_three |= sample->size.replicas > 2;
        summary.accum_mean += sample->accum_seconds / (double)fit->count;
        summary.optim_mean += sample->optim_seconds / (double)fit->count;
        summary.atomic_mean += (double)sample->atomic / (double)fit->count;
    }
    return summary;
}

static void fit_set_bounds(struct fit *fit, const struct fit_summary *summary)
{
    for (int i = 0; i < FIT_VARIABLES; i++) {
        fit->unit[i] = 0.01 * (i == ALPHA_C  ? summary->accum_mean
                               : i == BETA_C ? summary->accum_mean / summary->atomic_mean
                                             : summary->optim_mean);
        fit->low[i] = fit_position(fit, i, i == GAMMA ? 1 : fit_least);
        fit->high[i] = fit_position(fit, i, i == GAMMA ? fit_gamma_most : fit_most);
    }
    if (!summary->has_batches) {
        fit_fix(fit, ALPHA_C, summary->accum_mean / 2);
    }
    if (!summary->has_nodes) {
        fit_fix(fit, ALPHA_N, fit_least);
    }
    if (!summary->has_replicas) {
        fit_fix(fit, ALPHA_R, fit_least);
    }
    if (!summary->has_nodes || !summary->has_three) {
        fit_fix(fit, BETA_N, fit_least);
    }
    if (!summary->has_replicas || !summary->has_three) {
        fit_fix(fit, BETA_R, fit_least);
    }
}

/* The kink stops the search too early, so the smoothing is large at first and decreases. */
static struct fit_point fit_minimize_smoothed(struct fit *fit, struct fit_point point)
{
    static const double smoothings[FIT_ROUNDS] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
    struct fit_hessian hessian;
    fit_reset_hessian(&hessian);
    for (int i = 0; i < FIT_ROUNDS; i++) {
        fit->smoothing = smoothings[i];
        point = fit_minimize(fit, &hessian, point);
    }
    fit->smoothing = 0;
    fit_evaluate_point(fit, &point);
    return point;
}

struct perf_params goodput_fit(const struct step_sample *samples, size_t count)
{
    static const double starts[FIT_STARTS][FIT_VARIABLES] = {
        {4, 4, 4, 2, 4, 2, 1.001}, {4, 4, 4, 2, 4, 2, 2},   {4, 4, 4, 2, 4, 2, 5},
        {4, 2, 4, 1, 1, 1, 1.5},   {2, 4, 2, 1, 2, 1, 1.2},
    };
    require(count > 0, "there is something to fit");
    struct fit fit = {.samples = samples, .count = count};
    struct fit_summary summary = fit_summarize(&fit);
    fit_set_bounds(&fit, &summary);
    struct fit_point best = {.value = DBL_MAX};
    for (int i = 0; i < FIT_STARTS; i++) {
        struct fit_point start = {0};
        memcpy(start.at, starts[i], sizeof(start.at));
        struct fit_point found = fit_minimize_smoothed(&fit, start);
        best = found.value < best.value ? found : best;
    }
    struct perf_params perf = fit_params(&fit, best.at);
    if (!summary.has_nodes) {
        /* A network between nodes is not faster than one within a node. */
        perf.alpha_n = fmax(perf.alpha_n, perf.alpha_r * 1.1);
        perf.beta_n = fmax(perf.beta_n, perf.beta_r * 1.1);
    }
    return perf;
}
