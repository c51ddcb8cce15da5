/* goodput.c: predicts step times, and searches the best batch size for a number of replicas. */
#include "core/train/goodput.h"

#include "base/require.h"

#include <math.h>

enum { GOODPUT_CANDIDATES = 50, GOODPUT_BITS = 6, PEAK_STEPS = 12 };

/* As in AdaptDL: used instead of zero, and as the tolerance of rounding. */
static const double goodput_tiny = 1e-8;

/* The search stops here: the error of its result is much smaller. */
static const double peak_close = 1e-3;
static const double peak_u_max = 1e30; /* infinity times zero is not a number */

/* fmax() and fmin() are calls of the C library. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

double goodput_accum_seconds(const struct perf_params *perf, int64_t atomic)
{
    return perf->alpha_c + perf->beta_c * (double)atomic;
}

static double goodput_network_seconds(const struct perf_params *perf, struct placement_size size)
{
    double extra = larger((double)(size.replicas - 2), goodput_tiny);
    if (size.nodes > 1) {
        return perf->alpha_n + perf->beta_n * extra;
    }
    if (size.replicas > 1) {
        return perf->alpha_r + perf->beta_r * extra;
    }
    return goodput_tiny + goodput_tiny * extra;
}

/* Both times overlap: (accum^gamma + network^gamma)^(1/gamma). */
static double goodput_overlapped(const struct perf_params *perf, double accum, double network)
{
    return accum * pow(1 + pow(network / accum, perf->gamma), 1 / perf->gamma);
}

double goodput_optim_seconds(const struct perf_params *perf, struct placement_size size,
                             int64_t atomic)
{
    return goodput_overlapped(perf, goodput_accum_seconds(perf, atomic),
                              goodput_network_seconds(perf, size));
}

double goodput_throughput(const struct perf_params *perf, struct placement_size size,
                          int64_t atomic, int64_t accum)
{
    double seconds = (double)accum * goodput_accum_seconds(perf, atomic) +
                     goodput_optim_seconds(perf, size, atomic);
    return (double)size.replicas * (double)atomic * (double)(accum + 1) / seconds;
}

double goodput_efficiency(const struct goodput_model *model, double batch)
{
    double scale = batch / (double)model->init_batch;
    double denominator = model->grad.var / scale + model->grad.sqr;
    double gain = denominator > 0 ? (model->grad.var + model->grad.sqr) / denominator : 1;
    return gain / scale;
}

double goodput_step_progress(const struct goodput_model *model, const struct batch_choice *choice,
                             int64_t replicas)
{
    double batch = (double)replicas * (double)choice->atomic * (double)(choice->accum + 1);
    return batch / (double)model->init_batch * goodput_efficiency(model, batch);
}

/* Splits a replica's samples into passes. A single replica with a larger batch than the initial one
 * needs two: the noise of the gradient cannot be estimated from one pass. */
static void goodput_split(const struct goodput_model *model, const struct batch_limits *limits,
                          int64_t replicas, double local, struct batch_choice *choice)
{
    double init = (double)model->init_batch;
    if (!limits->accumulates) {
        choice->accum = 0;
        choice->atomic = (int64_t)(replicas == 1 ? init : ceil(local - goodput_tiny));
        return;
    }
    double accum = ceil(local / (double)limits->atomic_max - goodput_tiny) - 1;
    if (replicas == 1 && local > init + goodput_tiny) {
        accum = larger(accum, 1);
    }
    choice->accum = (int64_t)accum;
    choice->atomic = (int64_t)ceil(local / (accum + 1) - goodput_tiny);
}

static struct batch_limits goodput_limits(const struct goodput_model *model,
                                          const struct batch_limits *limits)
{
    struct batch_limits filled = *limits;
    filled.max_batch = limits->max_batch ? limits->max_batch : model->init_batch;
    filled.atomic_min = limits->atomic_min ? limits->atomic_min : 1;
    filled.atomic_max = limits->atomic_max ? limits->atomic_max : filled.max_batch;
    return filled;
}

/* The goodput of one candidate; 0: not within the limits. */
static double goodput_evaluate(const struct goodput_model *model, const struct batch_limits *in,
                               int64_t replicas, double network, const struct batch_choice *choice)
{
    double batch = (double)replicas * (double)choice->atomic * (double)(choice->accum + 1);
    if (choice->atomic < in->atomic_min || choice->atomic > in->atomic_max ||
        batch < (double)model->init_batch) {
        return 0;
    }
    double pass = goodput_accum_seconds(&model->perf, choice->atomic);
    double seconds = (double)choice->accum * pass + goodput_overlapped(&model->perf, pass, network);
    return batch / seconds * goodput_efficiency(model, batch);
}

/* ---- the search ---- */

/* The candidates are first * ratio^index; the last one is exact. */
struct batch_search {
    const struct goodput_model *model;
    const struct batch_limits *in;
    int64_t replicas;
    double network;
    double first, last;
    double powers[GOODPUT_BITS]; /* ratio^1, ratio^2, ratio^4, ...; 0: not needed yet */
};

struct batch_candidate {
    int index;
    double batch;
};

static void search_need_powers(struct batch_search *search)
{
    double power = search->powers[0];
    if (power <= 0) {
        power = pow(search->last / search->first, 1.0 / (GOODPUT_CANDIDATES - 1));
        for (int bit = 0; bit < GOODPUT_BITS; bit++, power *= power) {
            search->powers[bit] = power;
        }
    }
}

/* The last candidate of at most `most` samples; the first one if all are larger. */
static struct batch_candidate search_below(struct batch_search *search, double most)
{
    struct batch_candidate found = {0, search->first};
    if (search->last <= most) {
        return (struct batch_candidate){GOODPUT_CANDIDATES - 1, search->last};
    }
    search_need_powers(search);
    for (int bit = GOODPUT_BITS - 1; bit >= 0; bit--) {
        double next = found.batch * search->powers[bit];
        bool is_below = next <= most;
        found.batch = is_below ? next : found.batch;
        found.index += is_below ? 1 << bit : 0;
    }
    return found;
}

static struct batch_candidate search_next(struct batch_search *search, struct batch_candidate from)
{
    search_need_powers(search);
    bool is_last = from.index + 1 >= GOODPUT_CANDIDATES - 1;
    return (struct batch_candidate){from.index + 1,
                                    is_last ? search->last : from.batch * search->powers[0]};
}

static struct batch_choice search_split(const struct batch_search *search,
                                        struct batch_candidate candidate)
{
    struct batch_choice choice = {0};
    goodput_split(search->model, search->in, search->replicas,
                  candidate.batch / (double)search->replicas, &choice);
    return choice;
}

/* The last candidate with as many passes as `choice`. */
static struct batch_candidate search_segment(struct batch_search *search,
                                             const struct batch_choice *choice)
{
    double passes = (double)choice->accum + 1;
    double local = search->last;
    if (search->in->accumulates) {
        local = (passes + goodput_tiny) * (double)search->in->atomic_max;
    }
    if (search->in->accumulates && search->replicas == 1 && choice->accum == 0) {
        local = smaller(local, (double)search->model->init_batch + goodput_tiny);
    }
    return search_below(search, local * (double)search->replicas);
}

/*
 * With the number of passes fixed, progress is concave and time is convex in the batch, so there is
 * one maximum: where `gain`, the relative growth of progress, equals that of time. With
 * u = (network / pass)^gamma and v = (1 + u)^(1 / gamma), this is
 *
 *     gain * pass = beta_c / q,    q = (accum + v) / (accum + v / (1 + u)),    q >= 1
 *
 * For a fixed q, that is a quadratic equation of the batch. q decreases as the batch grows.
 */
struct batch_peak {
    double alpha, beta, gamma;
    double var, sqr; /* sqr: per sample of a pass */
    double network;
    double accum;
};

static double peak_of_q(const struct batch_peak *peak, double q)
{
    double square = peak->beta * peak->sqr;
    if (!(square > 0)) {
        return peak->var > 0 ? (double)INFINITY : 0;
    }
    double half = (q - 1) * peak->beta * peak->var / 2;
    return (half + sqrt(half * half + square * q * peak->var * peak->alpha)) / square;
}

/* Single precision is enough: near the maximum, both sides are evaluated. */
static double peak_q(const struct batch_peak *peak, double atomic)
{
    double share = peak->network / (peak->alpha + peak->beta * atomic);
    double u = smaller((double)powf((float)share, (float)peak->gamma), peak_u_max);
    if (peak->accum <= 0) {
        return 1 + u;
    }
    double v = u > 1e6 ? share : (double)powf((float)(1 + u), 1 / (float)peak->gamma);
    return (peak->accum + v) / (peak->accum + v / (1 + u));
}

/* The best batch of a pass, not rounded, within these bounds. Each trial value is on one side of it
 * and peak_of_q() on the other. */
static double peak_find(const struct batch_peak *peak, double low, double high)
{
    double at = larger(low, peak_of_q(peak, 1));
    double last = 0, last_error = 0;
    bool is_open = true; /* nothing is known about `high` */
    if (at >= high) {
        return high;
    }
    for (int i = 0; i < PEAK_STEPS; i++) {
        double found = peak_of_q(peak, peak_q(peak, at));
        low = larger(low, smaller(at, found));
        is_open = is_open && larger(at, found) > high;
        high = smaller(high, larger(at, found));
        if (low >= high || fabs(found - at) < peak_close * at) {
            break;
        }
        double error = (double)logf((float)(found / at));
        double next = i > 0 ? at + error * (at - last) / (last_error - error) : sqrt(low * high);
        last = at;
        last_error = error;
        at = next > low && next < high ? next : next >= high && is_open ? high : sqrt(low * high);
    }
    return smaller(larger(at, low), high);
}

static void search_evaluate(const struct batch_search *search, struct batch_choice *choice)
{
    choice->goodput = goodput_evaluate(search->model, search->in, search->replicas, search->network,
                                       choice);
}

/* The best candidate from `from` to `to`, which have as many passes as `first`. */
static struct batch_choice search_among(struct batch_search *search, struct batch_candidate from,
                                        struct batch_candidate to, const struct batch_choice *first)
{
    const struct goodput_model *model = search->model;
    double share = (double)search->replicas * ((double)first->accum + 1); /* of one sample */
    const struct batch_peak peak = {
        .alpha = model->perf.alpha_c,
        .beta = model->perf.beta_c,
        .gamma = model->perf.gamma,
        .var = model->grad.var,
        .sqr = model->grad.sqr * share / (double)model->init_batch,
        .network = search->network,
        .accum = (double)first->accum,
    };
    double low = larger((double)first->atomic, (double)search->in->atomic_min);
    double high = smaller(to.batch / share + 1, (double)search->in->atomic_max);
    double best = peak_find(&peak, low, high);
    struct batch_candidate below = from;
    struct batch_choice choice = *first;
    if (best > (double)first->atomic) {
        below = search_below(search, (floor(best) + goodput_tiny) * share);
        below = below.index < from.index ? from : below.index > to.index ? to : below;
        choice = search_split(search, below);
    }
    search_evaluate(search, &choice);
    if (below.index < to.index && (best > low || choice.goodput <= 0)) {
        struct batch_choice above = search_split(search, search_next(search, below));
        search_evaluate(search, &above);
        choice = above.goodput > choice.goodput ? above : choice;
    }
    return choice;
}

static struct batch_choice search_best(struct batch_search *search)
{
    struct batch_choice best = {0};
    struct batch_candidate from = {0, search->first};
    for (;;) {
        struct batch_choice first = search_split(search, from);
        struct batch_candidate to = search_segment(search, &first);
        to = to.index < from.index ? from : to;
        struct batch_choice choice = search_among(search, from, to, &first);
        best = choice.goodput > best.goodput ? choice : best;
        if (to.index >= GOODPUT_CANDIDATES - 1) {
            return best;
        }
        from = search_next(search, to);
    }
}

struct batch_choice goodput_optimize(const struct goodput_model *model,
                                     const struct batch_limits *limits, struct placement_size size)
{
    require(size.nodes >= 1 && size.nodes <= size.replicas, "each node has a replica");
    require(model->init_batch >= 1, "a batch is not empty");
    struct batch_limits in = goodput_limits(model, limits);
    double least = (double)in.atomic_min * (double)size.replicas;
    struct batch_search search = {
        .model = model,
        .in = &in,
        .replicas = size.replicas,
        .network = goodput_network_seconds(&model->perf, size),
        .first = larger((double)model->init_batch, least),
        .last = (double)in.max_batch,
    };
    if (search.last < search.first) { /* the others are below the smallest batch */
        struct batch_choice choice = search_split(&search,
                                                  (struct batch_candidate){0, search.first});
        search_evaluate(&search, &choice);
        return choice;
    }
    return search_best(&search);
}
