/*
 * train_days.c: how good the choice of the number of replicas is, over many simulated days.
 *
 *     train_days FIRST COUNT
 *
 * Prints goodput per dollar against the best fixed size of each day (known only afterwards) and
 * against AdaptDL's rule, the share of deadlines that were met, and the useful time.
 */
#include "sim/train_day.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>

struct tally {
    int64_t days, below, worse, restarts;
    double least, mean, over_adaptdl, least_adaptdl;
    int64_t deadlines, met;
    double cost; /* of the deadlines, relative to the largest size */
};

static double per_dollar(const struct train_day_result *result)
{
    return result->progress / result->dollars;
}

static double best_fixed(const struct train_day *drawn)
{
    double best = 0;
    for (int64_t n = 1; n <= drawn->max; n++) {
        struct train_day day = *drawn;
        day.policy = TRAIN_DAY_FIXED;
        day.min = day.max = n;
        struct train_day_result result = train_day_run(&day);
        best = fmax(best, per_dollar(&result));
    }
    return best;
}

static void compare_cost(uint64_t seed, struct tally *tally)
{
    struct train_day day;
    train_day_draw(seed, &day);
    day.goal.objective = SIZE_CHEAPEST;
    struct train_day_result ours = train_day_run(&day);
    double ratio = per_dollar(&ours) / best_fixed(&day);
    day.policy = TRAIN_DAY_ADAPTDL;
    struct train_day_result theirs = train_day_run(&day);
    tally->days++;
    tally->below += ratio < 0.95;
    tally->worse += per_dollar(&ours) < per_dollar(&theirs);
    tally->least = tally->days == 1 ? ratio : fmin(tally->least, ratio);
    tally->mean += ratio;
    double over = per_dollar(&ours) / per_dollar(&theirs);
    tally->over_adaptdl += over;
    tally->least_adaptdl = tally->days == 1 ? over : fmin(tally->least_adaptdl, over);
    tally->restarts += ours.restarts - ours.interrupted;
}

/* The largest size on demand would finish within 30 to 80 % of the time. */
static void compare_deadline(uint64_t seed, struct tally *tally)
{
    struct train_day day;
    train_day_draw(seed, &day);
    double share = 0.3 + 0.5 * (double)(seed % 1000) / 999;
    day.goal.objective = SIZE_CHEAPEST;
    day.goal.finish_by = 12 * 3600;
    day.goal.total = day.rates[day.max] * share * 12 * 3600;
    struct train_day_result ours = train_day_run(&day);
    day.policy = TRAIN_DAY_FIXED;
    day.min = day.max;
    struct train_day_result largest = train_day_run(&day);
    tally->deadlines++;
    tally->met += ours.is_complete && ours.seconds <= 12 * 3600;
    tally->cost += ours.dollars / largest.dollars;
}

static double useful_time(double interruptions)
{
    struct train_day day;
    train_day_default(&day);
    day.policy = TRAIN_DAY_FIXED;
    day.min = day.max = 4;
    for (int64_t n = 1; n <= day.max; n++) {
        day.rates[n] = (double)n;
    }
    day.on_demand_price = day.spot_price = 1;
    day.interruptions = interruptions / 4; /* of each replica */
    day.unannounced = day.shortage = 0;
    return train_day_run(&day).useful;
}

int main(int argc, char **argv)
{
    int64_t first, count;
    struct tally tally = {0};
    if (argc != 3 || !str_to_i64(str_from(argv[1]), &first) ||
        !str_to_i64(str_from(argv[2]), &count) || count < 1) {
        fprintf(stderr, "usage: train_days FIRST COUNT\n");
        return 2;
    }
    for (int64_t i = 0; i < count; i++) {
        compare_cost((uint64_t)(first + i), &tally);
        compare_deadline((uint64_t)(first + i), &tally);
    }
    printf("%lld days from seed %lld\n", (long long)count, (long long)first);
    printf(
        "progress per dollar, of the best fixed size: mean %.4f, least %.4f, below 0.95 on %lld\n",
        tally.mean / (double)count, tally.least, (long long)tally.below);
    printf("of AdaptDL's rule: mean %.3f, least %.4f, below 1 on %lld\n",
           tally.over_adaptdl / (double)count, tally.least_adaptdl, (long long)tally.worse);
    printf("restarts to resize per day: %.1f\n", (double)tally.restarts / (double)count);
    printf("deadlines met: %lld of %lld, for %.2f of the cost of the largest size\n",
           (long long)tally.met, (long long)tally.deadlines, tally.cost / (double)count);
    printf("useful time: %.4f with one interruption per 10 minutes, %.4f with one per minute\n",
           useful_time(6), useful_time(60));
    bool is_fine = tally.below == 0 && tally.over_adaptdl > 1.05 * (double)count &&
                   tally.least_adaptdl >= 0.95 && (double)tally.met >= 0.99 * (double)count &&
                   useful_time(6) >= 0.99 && useful_time(60) >= 0.95;
    return is_fine ? 0 : 1;
}
