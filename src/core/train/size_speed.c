/*
 * size_speed.c: explains measured step times by three parts, with least squares.
 *
 * The parts cannot be negative. There are only seven sets of parts, so each one is solved, and the
 * best one without a negative part wins.
 */
#include "core/train/size.h"

#include "base/require.h"

#include <float.h>
#include <math.h>

enum { PARTS = 3, PART_CONSTANT = 1, PART_DIVIDED = 2 };

/* How each part depends on the number of replicas. */
static double part_at(int part, double replicas)
{
    return part == 0 ? 1 : part == 1 ? 1 / replicas : replicas - 1;
}

struct speed_fit {
    double amount[PARTS];
    double error; /* squared relative errors */
};

static double speed_seconds(const struct speed_fit *fit, int64_t replicas)
{
    double sum = 0;
    for (int i = 0; i < PARTS; i++) {
        sum += fit->amount[i] * part_at(i, (double)replicas);
    }
    return sum;
}

/* Gaussian elimination of the parts in `set`; others have an identity row. False: no solution. */
static bool speed_solve(double matrix[PARTS][PARTS + 1], double amount[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        if (fabs(matrix[i][i]) < 1e-12) {
            return false;
        }
        for (int row = 0; row < PARTS; row++) {
            double factor = row == i ? 0 : matrix[row][i] / matrix[i][i];
            for (int column = i; column <= PARTS; column++) {
                matrix[row][column] -= factor * matrix[i][column];
            }
        }
    }
    for (int i = 0; i < PARTS; i++) {
        amount[i] = matrix[i][PARTS] / matrix[i][i];
    }
    return true;
}

static double step_seconds(const struct speed_samples *samples, int64_t replicas)
{
    double steps = samples->steps[replicas];
    return steps > 0 ? samples->seconds[replicas] / steps : 0;
}

static void speed_measure(const struct speed_samples *samples, struct speed_fit *fit)
{
    fit->error = 0;
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        if (samples->steps[n] > 0) {
            double error = speed_seconds(fit, n) / step_seconds(samples, n) - 1;
            fit->error += error * error;
        }
    }
}

static bool speed_fit_set(const struct speed_samples *samples, unsigned set, struct speed_fit *fit)
{
    double matrix[PARTS][PARTS + 1] = {{0}};
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        double seconds = step_seconds(samples, n);
        for (int i = 0; i < PARTS && seconds > 0; i++) {
            double weighted = part_at(i, (double)n) / seconds;
            for (int j = 0; j < PARTS && (set >> i & 1) != 0; j++) {
                bool is_used = (set >> j & 1) != 0;
                matrix[i][j] += is_used ? weighted * part_at(j, (double)n) / seconds : 0;
            }
            matrix[i][PARTS] += (set >> i & 1) != 0 ? weighted : 0;
        }
    }
    for (int i = 0; i < PARTS; i++) {
        if ((set >> i & 1) == 0) {
            matrix[i][i] = 1;
        }
    }
    if (!speed_solve(matrix, fit->amount)) {
        return false;
    }
    for (int i = 0; i < PARTS; i++) {
        if (!(fit->amount[i] >= 0)) {
            return false;
        }
    }
    speed_measure(samples, fit);
    return fit->amount[0] + fit->amount[1] > 0; /* a single replica takes time too */
}

static int set_parts(unsigned set)
{
    return (int)((set & 1) + (set >> 1 & 1) + (set >> 2 & 1));
}

void speed_rates(const struct speed_samples *samples, int64_t max, bool is_scaled,
                 double rates[SIZE_MAX_REPLICAS + 1])
{
    struct speed_fit best = {.error = DBL_MAX};
    int64_t measured = 0;
    require(max >= 1 && max <= SIZE_MAX_REPLICAS, "every size has a rate");
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        measured += samples->steps[n] > 0;
    }
    unsigned only = is_scaled ? PART_CONSTANT : PART_DIVIDED;
    for (unsigned set = 1; set < 1U << PARTS; set++) {
        struct speed_fit fit;
        bool is_allowed = measured == 1 ? set == only : set_parts(set) <= measured;
        if (is_allowed && speed_fit_set(samples, set, &fit) && fit.error < best.error) {
            best = fit;
        }
    }
    for (int64_t n = 1; n <= max; n++) {
        double seconds = measured > 0 ? speed_seconds(&best, n) : 0;
        rates[n] = seconds > 0 ? (is_scaled ? (double)n : 1) / seconds : 0;
    }
}
