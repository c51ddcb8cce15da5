/* goodput.c: predicts step times, and searches the best batch size for a number of replicas. */
#include "core/train/goodput.h"

#include "base/require.h"

#include <math.h>

enum { GOODPUT_CANDIDATES = 50 };

/* As in AdaptDL: used instead of zero, and as the tolerance of rounding. */
static const double goodput_tiny = 1e-8;

double goodput_accum_seconds(const struct perf_params *perf, int64_t atomic)
{
    return perf->alpha_c + perf->beta_c * (double)atomic;
}

static double goodput_network_seconds(const struct perf_params *perf, struct placement_size size)
{
    double extra = fmax((double)(size.replicas - 2), goodput_tiny);
    if (size.nodes > 1) {
        return perf->alpha_n + perf->beta_n * extra;
    }
    if (size.replicas > 1) {
        return perf->alpha_r + perf->beta_r * extra;
    }
    return goodput_tiny + goodput_tiny * extra;
}

/* Both times overlap. `network_power` is the network's, to the power of gamma. */
static double goodput_overlapped(const struct perf_params *perf, double accum, double network_power)
{
    return pow(pow(accum, perf->gamma) + network_power, 1 / perf->gamma);
}

static double goodput_network_power(const struct perf_params *perf, struct placement_size size)
{
    return pow(goodput_network_seconds(perf, size), perf->gamma);
}

double goodput_optim_seconds(const struct perf_params *perf, struct placement_size size,
                             int64_t atomic)
{
    return goodput_overlapped(perf, goodput_accum_seconds(perf, atomic),
                              goodput_network_power(perf, size));
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
        accum = fmax(accum, 1);
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
                               int64_t replicas, double network_power,
                               const struct batch_choice *choice)
{
    double batch = (double)replicas * (double)choice->atomic * (double)(choice->accum + 1);
    if (choice->atomic < in->atomic_min || choice->atomic > in->atomic_max ||
        batch < (double)model->init_batch) {
        return 0;
    }
    double pass = goodput_accum_seconds(&model->perf, choice->atomic);
    double seconds = (double)choice->accum * pass +
                     goodput_overlapped(&model->perf, pass, network_power);
    return batch / seconds * goodput_efficiency(model, batch);
}

/* ---- the search ---- */

struct batch_search {
    const struct goodput_model *model;
    const struct batch_limits *in;
    int64_t replicas;
    double network_power;
    double batches[GOODPUT_CANDIDATES]; /* increasing */
};

static struct batch_choice search_at(const struct batch_search *search, int index)
{
    struct batch_choice choice = {0};
    double local = search->batches[index] / (double)search->replicas;
    goodput_split(search->model, search->in, search->replicas, local, &choice);
    return choice;
}

/*
 * Whether a larger batch with the same number of passes is better: the sign of the derivative. With
 * the number of passes fixed, progress is concave and time is convex in the batch, so the sign
 * changes once. Single precision is enough: near the maximum, both sides are evaluated.
 */
static bool search_is_rising(const struct batch_search *search, const struct batch_choice *choice)
{
    const struct perf_params *perf = &search->model->perf;
    const struct grad_params *grad = &search->model->grad;
    if (choice->atomic < search->in->atomic_min || choice->atomic > search->in->atomic_max) {
        return choice->atomic < search->in->atomic_min;
    }
    double atomic = (double)choice->atomic;
    double scale = (double)search->replicas * atomic * (double)(choice->accum + 1) /
                   (double)search->model->init_batch;
    double noise = grad->var + grad->sqr * scale;
    double gain = noise > 0 ? grad->var / (noise * atomic) : 0;
    double pass = goodput_accum_seconds(perf, choice->atomic);
    double power = (double)powf((float)pass, (float)perf->gamma);
    double sum = power + search->network_power;
    double step = (double)powf((float)sum, 1 / (float)perf->gamma);
    double slope = (double)choice->accum + power / pass * (step / sum);
    return gain * ((double)choice->accum * pass + step) > perf->beta_c * slope;
}

static struct batch_choice search_evaluate(const struct batch_search *search, int index)
{
    struct batch_choice choice = search_at(search, index);
    choice.goodput = goodput_evaluate(search->model, search->in, search->replicas,
                                      search->network_power, &choice);
    return choice;
}

/* The index after the last candidate with as many passes as that at `from`. */
static int search_segment(const struct batch_search *search, int from, int64_t accum)
{
    int low = from, high = GOODPUT_CANDIDATES;
    if (search_at(search, high - 1).accum == accum) {
        return high;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(search_at(search, middle).accum == accum ? &low : &high) = middle;
    }
    return high;
}

static struct batch_choice search_best(const struct batch_search *search)
{
    struct batch_choice best = {0};
    int end;
    for (int from = 0; from < GOODPUT_CANDIDATES; from = end) {
        struct batch_choice first = search_at(search, from);
        end = search_segment(search, from, first.accum);
        int low = from, high = end; /* the first candidate that is not rising */
        while (low < high) {
            int middle = (low + high) / 2;
            struct batch_choice choice = search_at(search, middle);
            if (search_is_rising(search, &choice)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for (int i = low > from ? low - 1 : low; i <= low && i < end; i++) {
            struct batch_choice choice = search_evaluate(search, i);
            best = choice.goodput > best.goodput ? choice : best;
        }
    }
    return best;
}

struct batch_choice goodput_optimize(const struct goodput_model *model,
                                     const struct batch_limits *limits, struct placement_size size)
{
    require(size.nodes >= 1 && size.nodes <= size.replicas, "each node has a replica");
    require(model->init_batch >= 1, "a batch is not empty");
    struct batch_limits in = goodput_limits(model, limits);
    struct batch_search search = {
        .model = model,
        .in = &in,
        .replicas = size.replicas,
        .network_power = goodput_network_power(&model->perf, size),
    };
    double first = fmax((double)model->init_batch, (double)in.atomic_min * (double)size.replicas);
    double last = (double)in.max_batch;
    search.batches[0] = first;
    if (last < first) {
        return search_evaluate(&search, 0); /* the others are below the smallest batch */
    }
    double ratio = pow(last / first, 1.0 / (GOODPUT_CANDIDATES - 1));
    for (int i = 1; i < GOODPUT_CANDIDATES - 1; i++) {
        search.batches[i] = search.batches[i - 1] * ratio;
    }
    search.batches[GOODPUT_CANDIDATES - 1] = last;
    return search_best(&search);
}
