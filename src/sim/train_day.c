/* train_day.c: virtual time in steps of a second for events, and longer ones for decisions. */
#include "sim/train_day.h"

#include "base/require.h"
#include "base/rng.h"

#include <math.h>

enum { DAY_STEP = 5, DAY_DECIDE = 60, DAY_MEASURE = 30, ON_DEMAND_S = 3600 };

struct day_run {
    const struct train_day *day;
    struct rng prices; /* the same prices for each policy */
    struct rng rng;    /* errors of measurements */
    struct train_day_result result;
    struct speed_samples samples;
    double now, x; /* x: the logarithm of the spot price, relative to its mean */
    int64_t wanted, world;
    int64_t joining;                        /* requested, paid for, not yet ready */
    double joins_at;                        /* when all of them are ready */
    double replaced[SIZE_MAX_REPLICAS + 1]; /* until when a replacement may be on-demand */
    double sized_at;                        /* when the current size began */
    double lost;                            /* seconds without useful progress */
};

static double day_uniform(struct rng *rng)
{
    return ((double)(rng_next(rng) >> 11) + 0.5) / 9007199254740992.0;
}

static double day_normal(struct rng *rng)
{
    double radius = sqrt(-2 * log(day_uniform(rng)));
    return radius * cos(6.283185307179586 * day_uniform(rng));
}

static double day_between(struct rng *rng, double low, double high)
{
    return low + (high - low) * day_uniform(rng);
}

/* ---- prices ---- */

static double day_spot_price(const struct day_run *run)
{
    const struct train_day *day = run->day;
    return fmin(day->spot_price * exp(run->x), day->on_demand_price);
}

static void day_move_price(struct day_run *run)
{
    const struct train_day *day = run->day;
    if (day->price_hours <= 0) {
        return;
    }
    double keep = exp(-DAY_STEP / (3600 * day->price_hours));
    run->x = keep * run->x + day->price_swing * sqrt(1 - keep * keep) * day_normal(&run->prices);
}

static void day_pay(struct day_run *run, double seconds)
{
    const struct train_day *day = run->day;
    double hourly = day->goal.fixed_price + (double)run->joining * day_spot_price(run);
    for (int64_t i = 0; i < run->world; i++) {
        double spot = day_spot_price(run);
        double extra = day->shortage * (day->on_demand_price - spot);
        hourly += spot + (run->replaced[i] > run->now ? extra : 0);
    }
    run->result.dollars += hourly * seconds / 3600;
}

/* ---- sizes ---- */

static void day_restart(struct day_run *run, double pause)
{
    run->result.restarts++;
    run->lost += pause;
    run->sized_at = run->now;
}

static void day_resize(struct day_run *run)
{
    int64_t missing = run->wanted - run->world;
    if (missing < 0) {
        run->world = run->wanted; /* released at once */
        run->joining = 0;
        day_restart(run, run->day->pause);
    } else if (missing != run->joining) {
        run->joining = missing;
        run->joins_at = run->now + run->day->replace;
    }
    if (run->joining > 0 && run->now >= run->joins_at) {
        run->world += run->joining;
        run->joining = 0;
        day_restart(run, run->day->pause);
    }
}

static void day_interrupt(struct day_run *run, int64_t replica, struct rng *chance)
{
    const struct train_day *day = run->day;
    run->result.interrupted++;
    if (day_uniform(chance) < day->unannounced) {
        run->world--;
        run->replaced[replica] = run->replaced[run->world];
        run->replaced[run->world] = 0;
        day_restart(run, day->kill_pause + day_between(chance, 0, day->checkpoint_every));
        return;
    }
    run->replaced[replica] = run->now + ON_DEMAND_S;
    /* Until the restart, the old one is paid for too. */
    run->result.dollars += day_spot_price(run) * day->replace / 3600;
    day_restart(run, day->pause);
}

/* Chance depends only on the day, the time and the replica, so that all policies have the same
 * luck. */
static void day_interruptions(struct day_run *run)
{
    double share = 1 - exp(-run->day->interruptions * DAY_STEP / 3600);
    uint64_t step = (uint64_t)(run->now / DAY_STEP + 0.5);
    for (int64_t i = 0; i < run->world; i++) {
        struct rng chance = {(run->day->seed * 1000003 + (uint64_t)i) * 1000003 + step};
        rng_next(&chance);
        if (day_uniform(&chance) < share) {
            day_interrupt(run, i, &chance);
        }
    }
}

/* ---- policies ---- */

static int64_t day_adaptdl(const struct train_day *day)
{
    int64_t best = 1;
    for (int64_t n = 1; n <= day->max; n++) {
        best = day->rates[n] / (double)n >= 0.5 * day->rates[1] ? n : best;
    }
    return best > day->min ? best : day->min;
}

/* As the trainer does it, with the steps of the current size. */
static void day_measure(struct day_run *run)
{
    if (run->world > 0 && run->now - run->sized_at >= DAY_MEASURE) {
        double error = 1 + run->day->noise * day_normal(&run->rng);
        double step = run->day->goal.is_scaled ? (double)run->world : 1; /* its progress */
        double steps = DAY_DECIDE * run->day->rates[run->world] / step;
        run->samples.steps[run->world] += steps;
        run->samples.seconds[run->world] += DAY_DECIDE * fmax(error, 0.1);
    }
}

static int64_t day_shoal(struct day_run *run)
{
    const struct train_day *day = run->day;
    struct size_question question = {
        .objective = day->goal.objective,
        .min = day->min,
        .max = day->max,
        .current = run->world,
        .price = day_spot_price(run),
        .fixed_price = day->goal.fixed_price,
        .max_cost = day->goal.max_cost,
        .restart_seconds = day->pause,
        .interruptions = day->interruptions / 3600,
        .interruption_seconds = day->pause +
                                day->unannounced * (day->kill_pause + day->checkpoint_every / 2),
        .has_deadline = day->goal.finish_by > 0,
        .seconds_left = (double)day->goal.finish_by - run->now,
        .remaining = fmax(day->goal.total - run->result.progress, 0),
    };
    day_measure(run);
    speed_rates(&run->samples, day->max, day->goal.is_scaled, question.rates);
    for (int64_t n = 1; n <= day->max; n++) {
        question.is_measured[n] = run->samples.steps[n] > 0;
    }
    bool is_known = run->world > 0 && run->samples.steps[run->world] > 0;
    if (run->world > 0 && (!is_known || run->joining > 0)) {
        return run->wanted; /* this size is measured first */
    }
    return size_choose(&question).replicas;
}

static int64_t day_decide(struct day_run *run)
{
    switch (run->day->policy) {
    case TRAIN_DAY_FIXED:
        return run->day->max;
    case TRAIN_DAY_ADAPTDL:
        return day_adaptdl(run->day);
    case TRAIN_DAY_SHOAL:
        break;
    }
    return day_shoal(run);
}

/* ---- the day ---- */

static bool day_advance(struct day_run *run)
{
    const struct train_day *day = run->day;
    double useful = run->world > 0 ? fmax(DAY_STEP - run->lost, 0) : 0;
    double seconds = DAY_STEP;
    run->lost = fmax(run->lost - DAY_STEP, 0);
    double progress = run->world > 0 ? useful * day->rates[run->world] : 0;
    double missing = day->goal.total - run->result.progress;
    bool is_complete = day->goal.total > 0 && progress >= missing;
    if (is_complete) {
        seconds *= missing / progress;
        progress = missing;
    }
    day_pay(run, seconds);
    run->result.progress += progress;
    run->result.useful += fmin(useful, seconds);
    run->now += seconds;
    return is_complete;
}

struct train_day_result train_day_run(const struct train_day *day)
{
    struct day_run run = {.day = day, .prices = {day->seed}, .rng = {~day->seed}};
    require(day->min >= 1 && day->min <= day->max && day->max <= SIZE_MAX_REPLICAS, "valid sizes");
    run.x = day->price_swing * day_normal(&run.prices);
    run.wanted = day_decide(&run);
    run.world = run.wanted; /* the cluster is up */
    double decided_at = 0;
    while (run.now < day->duration && !run.result.is_complete) {
        if (run.now - decided_at >= DAY_DECIDE) {
            decided_at = run.now;
            run.wanted = day_decide(&run);
        }
        day_move_price(&run);
        day_interruptions(&run);
        if (run.wanted != run.world || run.joining > 0) {
            day_resize(&run);
        }
        run.result.is_complete = day_advance(&run);
    }
    run.result.seconds = run.now;
    run.result.useful /= run.now;
    return run.result;
}

void train_day_default(struct train_day *day)
{
    *day = (struct train_day){
        .seed = 1,
        .min = 1,
        .max = 1,
        .noise = 0.03,
        .price_swing = 0.15,
        .price_hours = 6,
        .interruptions = 0.01,
        .unannounced = 0.05,
        .shortage = 0.2,
        .pause = 0.3,
        .kill_pause = 0.5,
        .checkpoint_every = 60,
        .replace = 90,
        .duration = 24 * 3600,
    };
}

void train_day_draw(uint64_t seed, struct train_day *day)
{
    struct rng rng = {seed * 2654435761U + 17};
    train_day_default(day);
    day->seed = seed;
    day->max = INT64_C(4) << rng_below(&rng, 4);
    double serial = exp(day_between(&rng, log(0.003), log(0.3)));
    double growth = rng_chance(&rng, 500) ? exp(day_between(&rng, log(1e-4), log(0.02))) : 0;
    for (int64_t n = 1; n <= day->max; n++) {
        day->rates[n] = 1 / (serial + (1 - serial) / (double)n + growth * (double)(n - 1));
    }
    day->on_demand_price = 1;
    day->spot_price = day_between(&rng, 0.25, 0.6);
    day->goal.fixed_price = day_between(&rng, 0.05, 1);
    day->price_swing = day_between(&rng, 0.02, 0.3);
    day->price_hours = day_between(&rng, 1, 12);
    day->interruptions = exp(day_between(&rng, log(0.001), log(1)));
    day->shortage = day_between(&rng, 0, 0.5);
}
