/*
 * faults.c: the rates of all faults, as one table with a mild and a nasty half; a swarm draws rates
 * up to eight times milder than the nasty half.
 */
#include "sim/faults.h"

#define SECONDS(n) ((n)*INT64_C(1000))
#define MINUTES(n) SECONDS((n)*60)
#define HOURS(n) MINUTES((n)*60)

static const char *const names[FAULT_COUNT] = {
#define X(name) [FAULT_##name] = #name,
    FAULT_LIST(X)
#undef X
};

struct rate {
    int64_t chance;
    int64_t span;
    int64_t length;
};

/* A fault whose mild half is all zero occurs only in the nasty half. */
static const struct {
    struct rate mild;
    struct rate nasty;
} rates[FAULT_COUNT] = {
    [FAULT_listing_lag] = {{100, 0, 0}, {700, 0, 0}},
    [FAULT_listing_cut] = {{2, 0, 0}, {100, 0, 0}},
    [FAULT_throttle] = {{20, 0, 0}, {200, 0, 0}},
    [FAULT_lost_call] = {{2, 0, 0}, {80, 0, 0}},
    [FAULT_lost_answer] = {{2, 0, 0}, {150, 0, 0}},
    [FAULT_token_forgotten] = {{0, 0, 0}, {1000, 0, FAULT_TOKEN_LIFE_LEAST}},
    [FAULT_partial_launch] = {{20, 0, 0}, {400, 0, 0}},
    [FAULT_no_capacity] = {{20, HOURS(24), MINUTES(20)}, {300, HOURS(1), MINUTES(20)}},
    [FAULT_quota] = {{1, 0, 0}, {250, 0, 0}},
    [FAULT_outage] = {{0, HOURS(72), MINUTES(5)}, {0, HOURS(2), MINUTES(10)}},
    [FAULT_slow_boot] = {{10, 0, MINUTES(5)}, {150, 0, MINUTES(15)}},
    [FAULT_never_joins] = {{5, 0, 0}, {100, 0, 0}},
    [FAULT_setup_fails] = {{10, 0, 0}, {150, 0, 0}},
    [FAULT_machine_dies] = {{0, HOURS(720), 0}, {0, HOURS(6), 0}},
    [FAULT_spot_notice] = {{0, HOURS(24), 0}, {0, MINUTES(90), 0}},
    [FAULT_spot_kill] = {{0, HOURS(120), 0}, {0, HOURS(3), 0}},
    [FAULT_gcs_away] = {{0, HOURS(48), SECONDS(30)}, {0, HOURS(1), MINUTES(2)}},
    [FAULT_gcs_restart] = {{0, HOURS(168), SECONDS(30)}, {0, HOURS(2), SECONDS(30)}},
    [FAULT_drain_race] = {{5, 0, 0}, {200, 0, 0}},
    [FAULT_drain_lost] = {{5, 0, 0}, {200, 0, 0}},
    [FAULT_controller_kill] = {{0, HOURS(48), SECONDS(10)}, {40, MINUTES(30), SECONDS(30)}},
    [FAULT_controller_pause] = {{0, HOURS(96), MINUTES(1)}, {30, HOURS(1), MINUTES(3)}},
    [FAULT_twin] = {{0, 0, 0}, {1000, HOURS(2), MINUTES(20)}},
    [FAULT_foreign] = {{100, 0, 0}, {1000, 0, 0}},
    [FAULT_hand] = {{0, HOURS(168), 0}, {0, HOURS(2), 0}},
    [FAULT_new_config] = {{0, 0, 0}, {0, HOURS(1), 0}},
};

const char *fault_name(enum fault fault)
{
    return names[fault];
}

static void set_rate(struct faults *faults, int fault, struct rate rate)
{
    faults->is_on[fault] = rate.chance > 0 || rate.span > 0;
    faults->chance[fault] = rate.chance;
    faults->span[fault] = rate.span;
    faults->length[fault] = rate.length;
}

void faults_from_profile(struct faults *faults, enum fault_profile profile)
{
    *faults = (struct faults){
        .call_time = SECONDS(1),
        .call_timeout = SECONDS(30),
        .boot_least = SECONDS(20),
        .boot_most = SECONDS(60),
        .setup_least = SECONDS(30),
        .setup_most = SECONDS(120),
        .ending_most = SECONDS(60),
    };
    if (profile == FAULTS_NONE) {
        return;
    }
    bool is_nasty = profile == FAULTS_NASTY;
    for (int i = 0; i < FAULT_COUNT; i++) {
        set_rate(faults, i, is_nasty ? rates[i].nasty : rates[i].mild);
    }
    faults->listing_lag = is_nasty ? FAULT_LISTING_LAG_MOST : SECONDS(10);
    if (is_nasty) {
        faults->call_time = SECONDS(5);
        faults->boot_most = SECONDS(180);
        faults->setup_most = SECONDS(600);
        faults->ending_most = SECONDS(300);
    }
}

/* Numbers are drawn for every fault, on or off, so that switching one off does not change the
 * others. */
void faults_swarm(struct faults *faults, struct rng *rng)
{
    struct rng own = {.state = ~rng->state};
    faults_from_profile(faults, FAULTS_NASTY);
    /* Uses its own random stream, so that the draws for the other faults do not change. */
    faults->is_on[FAULT_new_config] = rng_chance(&own, 500);
    for (int i = 0; i < FAULT_new_config; i++) {
        bool is_on = rng_chance(rng, 500);
        int64_t milder = INT64_C(1) << rng_below(rng, 4);
        int64_t length = rng_between(rng, 250, 2000);
        faults->is_on[i] = is_on;
        faults->chance[i] = faults->chance[i] > 0 ? faults->chance[i] / milder + 1 : 0;
        faults->span[i] *= milder;
        faults->length[i] = faults->length[i] * length / 1000;
    }
    /* These apply to a whole run or not at all. */
    faults->chance[FAULT_token_forgotten] = 1000;
    faults->chance[FAULT_foreign] = 1000;
    faults->chance[FAULT_twin] = 1000;
    faults->length[FAULT_token_forgotten] = rng_between(rng, FAULT_TOKEN_LIFE_LEAST,
                                                        4 * FAULT_TOKEN_LIFE_LEAST);
    faults->listing_lag = rng_between(rng, SECONDS(1), FAULT_LISTING_LAG_MOST);
    faults->call_time = rng_between(rng, 200, SECONDS(5));
    faults->boot_most = rng_between(rng, SECONDS(30), SECONDS(180));
    faults->setup_most = rng_between(rng, SECONDS(40), SECONDS(600));
    faults->ending_most = rng_between(rng, SECONDS(5), SECONDS(300));
}

void faults_stop(struct faults *faults)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        set_rate(faults, i, (struct rate){0, 0, 0});
    }
    faults->listing_lag = 0;
    if (faults->call_time > SECONDS(1)) {
        faults->call_time = SECONDS(1);
    }
}

/* A step is two thirds of the mean; each further step is half as likely as the one before, and the
 * distribution is uniform within a step. This approximates the intervals of independent events. */
int64_t draw_span(struct rng *rng, int64_t mean)
{
    int64_t step = mean * 2 / 3;
    uint64_t coins = rng_next(rng);
    int64_t span = rng_between(rng, 1, step > 1 ? step : 1);
    for (int i = 0; i < 12 && (coins & 1) != 0; i++) {
        span += step;
        coins >>= 1;
    }
    return span;
}

int64_t fault_wait(const struct faults *faults, enum fault fault, struct rng *rng)
{
    if (!faults->is_on[fault] || faults->span[fault] <= 0) {
        return INT64_MAX;
    }
    return draw_span(rng, faults->span[fault]);
}
