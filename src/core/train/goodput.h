/*
 * goodput.h: how fast a data-parallel training job makes progress with a given number of replicas.
 *
 * The model is that of Pollux (OSDI 2021), as AdaptDL 0.2.11 computes it: goodput is throughput
 * (samples per second) times efficiency (progress per sample, relative to the initial batch size).
 * The parameters come from AdaptDL's hints, or from measured step times (goodput_fit.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of the time that one step takes. Compute time of a batch of b samples: alpha_c + beta_c * b.
 * Network time of r replicas: alpha + beta * (r - 2); _n between nodes, _r within one node. */
struct perf_params {
    double alpha_c, beta_c;
    double alpha_n, beta_n;
    double alpha_r, beta_r;
    double gamma; /* overlap of the two: 1 = none, 10 = complete */
};

/* Of the gradient: its squared norm, and its variance at the initial batch size. */
struct grad_params {
    double sqr, var;
};

struct goodput_model {
    struct perf_params perf;
    struct grad_params grad;
    int64_t init_batch; /* of all replicas; at least 1 */
};

/* The batch sizes that the script accepts. */
struct batch_limits {
    int64_t max_batch;  /* of all replicas; 0: the initial batch size */
    int64_t atomic_min; /* of one replica in one pass; 0: 1 */
    int64_t atomic_max; /* 0: max_batch */
    bool accumulates;   /* a step may consist of several passes */
};

struct placement_size {
    int64_t nodes;
    int64_t replicas; /* at least one per node */
};

struct batch_choice {
    double goodput; /* 0: no batch size within the limits */
    int64_t atomic; /* samples per replica and pass */
    int64_t accum;  /* passes before the last one of a step */
};

/* Seconds of one pass over `atomic` samples, and of one step whose last pass includes the exchange
 * of gradients. */
double goodput_accum_seconds(const struct perf_params *perf, int64_t atomic);
double goodput_optim_seconds(const struct perf_params *perf, struct placement_size size,
                             int64_t atomic);

/* Samples per second. */
double goodput_throughput(const struct perf_params *perf, struct placement_size size,
                          int64_t atomic, int64_t accum);
/* Progress per sample; 1 at the initial batch size. */
double goodput_efficiency(const struct goodput_model *model, double batch);

/* Progress of one step with this batch: in steps with the initial batch size. */
double goodput_step_progress(const struct goodput_model *model, const struct batch_choice *choice,
                             int64_t replicas);

/* The best batch size of 50 candidates between the smallest and the largest, spaced
 * geometrically. */
struct batch_choice goodput_optimize(const struct goodput_model *model,
                                     const struct batch_limits *limits, struct placement_size size);
