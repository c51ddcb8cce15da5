/* size.c: which number of replicas is fastest, cheapest, or finishes in time. */
#include "core/train/size.h"

#include "base/attr.h"
#include "base/require.h"

#include <inttypes.h>
#include <math.h>

/* A change must gain this much, and earn its pause within the horizon. */
static const double size_least_gain = 1.03;
static const double size_horizon_seconds = 600;
/* A smaller size that is this close to the fastest one is preferred to it. */
static const double size_as_fast = 0.98;
/* A size that may be this much worse is measured once, if a restart takes at most so long. */
static const double size_probe_score = 0.8;
static const double size_probe_pause = 30;
/* Of the time that is left: reserve for interruptions and for errors of the model. */
static const double size_reserve = 0.1;

static double size_rate(const struct size_question *question, int64_t replicas)
{
    double lost = (double)replicas * question->interruptions * question->interruption_seconds;
    return question->rates[replicas] / (1 + lost);
}

static double size_cost(const struct size_question *question, int64_t replicas)
{
    double price = question->price > 0 ? question->price : 1;
    return question->fixed_price + price * (double)replicas;
}

/* ---- limits ---- */

/* The largest size within the budget. The smallest one runs in any case. */
static int64_t size_affordable(const struct size_question *question)
{
    if (question->max_cost <= 0 || question->price <= 0) {
        return question->max;
    }
    double room = floor((question->max_cost - question->fixed_price) / question->price + 1e-9);
    int64_t most = room < (double)question->max ? (int64_t)fmax(room, 0) : question->max;
    return most > question->min ? most : question->min;
}

static int64_t count_measured(const struct size_question *question, int64_t *ret_largest)
{
    int64_t count = 0;
    *ret_largest = 0;
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        count += question->is_measured[n];
        *ret_largest = question->is_measured[n] ? n : *ret_largest;
    }
    return count;
}

/* Beyond twice the largest measured size, the model only guesses. */
static int64_t size_most(const struct size_question *question)
{
    int64_t most = size_affordable(question);
    int64_t largest;
    count_measured(question, &largest);
    int64_t known = 2 * largest > question->min ? 2 * largest : question->min;
    return most < known ? most : known;
}

/* ---- scores ---- */

static bool is_in_time(const struct size_question *question, int64_t replicas)
{
    double rate = size_rate(question, replicas);
    double left = question->seconds_left * (1 - size_reserve);
    return rate > 0 && question->remaining <= rate * left;
}

static double size_score(const struct size_question *question, int64_t replicas)
{
    double rate = size_rate(question, replicas);
    bool is_cheap = question->objective == SIZE_CHEAPEST || question->has_deadline;
    return is_cheap ? rate / size_cost(question, replicas) : rate;
}

/* The best size, or 0 if none of them finishes in time. */
static int64_t size_best(const struct size_question *question, int64_t most, bool must_finish)
{
    int64_t best = 0;
    for (int64_t n = question->min; n <= most; n++) {
        bool is_allowed = !must_finish || is_in_time(question, n);
        /* Of equal ones, the smallest. */
        if (is_allowed &&
            (best == 0 || size_score(question, n) > size_score(question, best) * (1 + 1e-9))) {
            best = n;
        }
    }
    return best;
}

static int64_t size_fastest(const struct size_question *question, int64_t most)
{
    int64_t best = question->min;
    for (int64_t n = question->min; n <= most; n++) {
        best = size_rate(question, n) > size_rate(question, best) ? n : best;
    }
    for (int64_t n = question->min; n < best; n++) {
        if (size_rate(question, n) >= size_as_fast * size_rate(question, best)) {
            return n;
        }
    }
    return best;
}

/* ---- changes ---- */

static bool is_worth_restart(const struct size_question *question, int64_t best)
{
    double now = size_score(question, question->current);
    double gain = now > 0 ? size_score(question, best) / now : HUGE_VAL;
    bool earns = (gain - 1) * size_horizon_seconds > question->restart_seconds;
    /* Fewer replicas that are as fast: the others cost money and gain nothing. */
    bool saves = question->objective == SIZE_FASTEST && gain >= size_as_fast &&
                 (double)best <= 0.85 * (double)question->current;
    return (gain >= size_least_gain && earns) || saves;
}

static struct size_choice size_late(const struct size_question *question, int64_t most)
{
    int64_t best = size_fastest(question, most);
    if (question->current >= question->min && question->current <= most &&
        size_rate(question, question->current) >= size_rate(question, best) / size_least_gain) {
        best = question->current;
    }
    return (struct size_choice){best, SIZE_LATE};
}

/* Nothing was measured yet. */
static struct size_choice size_start(const struct size_question *question)
{
    int64_t most = size_affordable(question);
    if (question->objective == SIZE_CHEAPEST && !question->has_deadline) {
        return (struct size_choice){question->min, SIZE_FIRST};
    }
    return (struct size_choice){most, most < question->max ? SIZE_AFFORDABLE : SIZE_FIRST};
}

/* With one measured size, nothing is known about others: half of it is measured too, or twice as
 * much. 0: there is no other size. */
static int64_t size_second(const struct size_question *question)
{
    int64_t first;
    int64_t most = size_most(question);
    count_measured(question, &first);
    int64_t half = first / 2 > question->min ? first / 2 : question->min;
    int64_t twice = 2 * first < most ? 2 * first : most;
    twice = twice > question->min ? twice : question->min;
    half = half < most ? half : most;
    return first > question->min && half != first ? half : twice != first ? twice : 0;
}

/* A size near the current one, which is the best as far as the model knows. An error of the model
 * would otherwise never be found. 0: both were measured, or are not worth it. */
static int64_t size_probe(const struct size_question *question)
{
    int64_t now = question->current;
    const int64_t nearby[] = {2 * now, now / 2};
    if (question->restart_seconds > size_probe_pause || question->has_deadline) {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(nearby); i++) {
        int64_t n = nearby[i] < size_affordable(question) ? nearby[i] : size_affordable(question);
        n = n > question->min ? n : question->min;
        if (!question->is_measured[n] &&
            size_score(question, n) >= size_probe_score * size_score(question, now)) {
            return n;
        }
    }
    return 0;
}

static struct size_choice size_stay(const struct size_question *question)
{
    int64_t probe = question->is_measured[question->current] ? size_probe(question) : 0;
    return probe > 0 ? (struct size_choice){probe, SIZE_PROBE}
                     : (struct size_choice){question->current, SIZE_KEEP};
}

struct size_choice size_choose(const struct size_question *question)
{
    require(question->min >= 1 && question->min <= question->max, "sizes have an order");
    require(question->max <= SIZE_MAX_REPLICAS, "every size has a rate");
    int64_t now = question->current;
    int64_t largest;
    int64_t measured = count_measured(question, &largest);
    if (measured == 0 || question->objective == SIZE_LARGEST) {
        return size_start(question);
    }
    int64_t second = measured == 1 ? size_second(question) : 0;
    if (second > 0) {
        return (struct size_choice){second, SIZE_SECOND};
    }
    int64_t most = size_most(question);
    bool is_allowed = now >= question->min && now <= most;
    int64_t best = question->objective == SIZE_FASTEST && !question->has_deadline
                       ? size_fastest(question, most)
                       : size_best(question, most, question->has_deadline);
    if (best == 0) {
        return size_late(question, most);
    }
    if (is_allowed && size_rate(question, best) <= 0) {
        return (struct size_choice){now, SIZE_KEEP}; /* nothing is known about any size */
    }
    bool is_late = question->has_deadline && is_allowed && !is_in_time(question, now);
    if (is_allowed && !is_late && best != now && !is_worth_restart(question, best)) {
        return size_stay(question);
    }
    if (is_allowed && best == now) {
        return size_stay(question);
    }
    if (now > best && best == size_affordable(question) && best < question->max) {
        return (struct size_choice){best, SIZE_AFFORDABLE};
    }
    return (struct size_choice){best, question->has_deadline ? SIZE_IN_TIME : SIZE_BETTER};
}

/* ---- reasons ---- */

static struct str reason_better(const struct size_question *question, int64_t best,
                                struct arena *arena)
{
    int64_t now = question->current;
    const char *s = best == 1 ? "" : "s";
    double rate = size_rate(question, now);
    if (question->objective == SIZE_CHEAPEST) {
        double cheaper = 1 - size_score(question, now) / size_score(question, best);
        return arena_printf(arena,
                            "%" PRId64 " replica%s %s %.0f %% cheaper per step than %" PRId64, best,
                            s, best == 1 ? "is" : "are", 100 * cheaper, now);
    }
    if (best < now) {
        return arena_printf(arena, "%" PRId64 " replica%s can train as fast as %" PRId64, best, s,
                            now);
    }
    return arena_printf(arena, "%" PRId64 " replica%s should train %.1f times as fast as %" PRId64,
                        best, s, rate > 0 ? size_rate(question, best) / rate : 0, now);
}

struct str size_reason(const struct size_question *question, struct size_choice choice,
                       struct arena *arena)
{
    const char *s = choice.replicas == 1 ? "" : "s";
    switch (choice.cause) {
    case SIZE_KEEP:
        return STR("no other size is worth a restart");
    case SIZE_FIRST:
        return STR("to measure the speed of this size first");
    case SIZE_SECOND:
        return STR("to measure the speed of a second size");
    case SIZE_PROBE:
        return STR("to measure the speed of this size, which may be better");
    case SIZE_AFFORDABLE:
        if (size_cost(question, choice.replicas) > question->max_cost + 1e-9) {
            return arena_printf(arena, "even the smallest size costs more than $%.2f per hour",
                                question->max_cost);
        }
        return arena_printf(arena, "$%.2f per hour pays for at most %" PRId64 " replica%s",
                            question->max_cost, choice.replicas, s);
    case SIZE_IN_TIME:
        return STR("this is the cheapest size that finishes in time");
    case SIZE_LATE:
        return STR("no size finishes in time; this is the fastest one");
    case SIZE_BETTER:
        break;
    }
    return reason_better(question, choice.replicas, arena);
}
