/* sched_hints.c: from AdaptDL's JSON to the parameters of core/train/goodput.h. */
#include "app/train/sched_hints.h"

#include "base/attr.h"
#include "io/json_line.h"

#include <math.h>

/* Numbers beyond these are not of a real job, and their products could overflow. */
static const double hints_seconds_max = 1e6;
static const double hints_seconds_min = 1e-9; /* of a pass */
static const double hints_gradient_max = 1e30;
static const int64_t hints_batch_max = 1000 * 1000 * 1000;

static bool hints_fail(struct err *err, const char *key)
{
    return err_set(err, ERR_PROTOCOL, "the hints of AdaptDL have no valid \"%s\"", key);
}

static bool take_real(const json_t *object, const char *key, double most, double *ret_value,
                      struct err *err)
{
    const json_t *value = json_object_get(object, key);
    *ret_value = json_number_value(value);
    if (!json_is_number(value) || !(*ret_value >= 0 && *ret_value <= most)) {
        return hints_fail(err, key);
    }
    return true;
}

static bool take_perf(const json_t *object, struct perf_params *perf, struct err *err)
{
    const struct {
        const char *key;
        double *value;
    } rows[] = {
        {"alpha_c", &perf->alpha_c}, {"beta_c", &perf->beta_c},   {"alpha_n", &perf->alpha_n},
        {"beta_n", &perf->beta_n},   {"alpha_r", &perf->alpha_r}, {"beta_r", &perf->beta_r},
        {"gamma", &perf->gamma},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!take_real(object, rows[i].key, hints_seconds_max, rows[i].value, err)) {
            return false;
        }
    }
    bool is_valid = perf->gamma >= 1 && perf->gamma <= 10 &&
                    perf->alpha_c + perf->beta_c >= hints_seconds_min;
    return is_valid || hints_fail(err, "perfParams");
}

/* Null until AdaptDL has estimated it. Then only the initial batch size matters. */
static bool take_grad(const json_t *object, struct grad_params *grad, struct err *err)
{
    if (!object || json_is_null(object)) {
        *grad = (struct grad_params){0, 1};
        return true;
    }
    return take_real(object, "norm", hints_gradient_max, &grad->sqr, err) &&
           take_real(object, "var", hints_gradient_max, &grad->var, err);
}

/* Null is 0: AdaptDL's default. */
static bool take_count(const json_t *value, const char *key, int64_t *ret_count, struct err *err)
{
    *ret_count = json_integer_value(value);
    if (value && !json_is_null(value) &&
        (!json_is_integer(value) || *ret_count < 0 || *ret_count > hints_batch_max)) {
        return hints_fail(err, key);
    }
    return true;
}

static bool take_hints(const json_t *object, struct sched_hints *hints, struct err *err)
{
    struct batch_limits *limits = &hints->limits;
    const json_t *bounds = json_object_get(object, "localBszBounds");
    if (!take_perf(json_object_get(object, "perfParams"), &hints->model.perf, err) ||
        !take_grad(json_object_get(object, "gradParams"), &hints->model.grad, err) ||
        !take_count(json_object_get(object, "initBatchSize"), "initBatchSize",
                    &hints->model.init_batch, err) ||
        !take_count(json_object_get(object, "maxBatchSize"), "maxBatchSize", &limits->max_batch,
                    err) ||
        !take_count(json_object_get(object, "maxProfiledReplicas"), "maxProfiledReplicas",
                    &hints->profiled, err) ||
        !take_count(json_array_get(bounds, 0), "localBszBounds", &limits->atomic_min, err) ||
        !take_count(json_array_get(bounds, 1), "localBszBounds", &limits->atomic_max, err)) {
        return false;
    }
    limits->accumulates = json_is_true(json_object_get(object, "gradientAccumulation"));
    if (hints->model.init_batch < 1) {
        return hints_fail(err, "initBatchSize");
    }
    if (limits->max_batch > 0 && limits->max_batch < hints->model.init_batch) {
        return hints_fail(err, "maxBatchSize");
    }
    if (limits->atomic_max > 0 && limits->atomic_max < limits->atomic_min) {
        return hints_fail(err, "localBszBounds");
    }
    hints->profiled = hints->profiled > 0 ? hints->profiled : 1; /* rank 0 sends the hints */
    return true;
}

bool sched_hints_read(struct str text, struct sched_hints *ret_hints, struct err *err)
{
    struct sched_hints hints = {0};
    json_t *object;
    if (text.len > SCHED_HINTS_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "the hints of AdaptDL are too long");
    }
    if (!json_line_read(text, "the hints of AdaptDL", &object, err)) {
        return false;
    }
    bool is_valid = take_hints(object, &hints, err);
    json_decref(object);
    if (is_valid) {
        *ret_hints = hints;
    }
    return is_valid;
}
