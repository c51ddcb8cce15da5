/* goodput.c: predicts step times, and searches the best batch size for a number of replicas. */
#include "core/train/goodput.h"

#include "base/require.h"

#include <math.h>

enum { GOODPUT_CANDIDATES = 50 };

/* Where AdaptDL has a zero that must not be one. */
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

struct batch_choice goodput_optimize(const struct goodput_model *model,
                                     const struct batch_limits *limits, struct placement_size size)
{
    require(size.nodes >= 1 && size.nodes <= size.replicas, "each node has a replica");
    require(model->init_batch >= 1, "a batch is not empty");
    struct batch_limits in = goodput_limits(model, limits);
    double network_power = goodput_network_power(&model->perf, size);
    double first = fmax((double)model->init_batch, (double)in.atomic_min * (double)size.replicas);
    double last = (double)in.max_batch;
    double ratio = pow(last / first, 1.0 / (GOODPUT_CANDIDATES - 1));
    struct batch_choice best = {0}, choice = {0};
    double batch = first;
    for (int i = 0; i < GOODPUT_CANDIDATES; i++, batch *= ratio) {
        struct batch_choice next = {0};
        double local = (i < GOODPUT_CANDIDATES - 1 ? batch : last) / (double)size.replicas;
        goodput_split(model, &in, size.replicas, local, &next);
        if (next.atomic == choice.atomic && next.accum == choice.accum) {
            continue;
        }
        choice = next;
        choice.goodput = goodput_evaluate(model, &in, size.replicas, network_power, &choice);
        best = choice.goodput > best.goodput ? choice : best;
    }
    return best;
}
