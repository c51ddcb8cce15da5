/* control_faults.c: the rates of the faults; a seed draws rates up to eight times lower. */
#include "control_faults.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, LISTING_LAG_MOST_MS = 90 * SECOND };

static const char *const names[CONTROL_FAULT_COUNT] = {
#define X(name) [FAULT_##name] = #name,
    CONTROL_FAULT_LIST(X)
#undef X
};

static const struct {
    int64_t chance;
    int64_t span_ms;
} rates[CONTROL_FAULT_COUNT] = {
    [FAULT_listing_lag] = {700, 0},
    [FAULT_throttle] = {200, 0},
    [FAULT_lost_call] = {80, 0},
    [FAULT_lost_answer] = {150, 0},
    [FAULT_no_capacity] = {250, 0},
    [FAULT_partial] = {400, 0},
    [FAULT_kill] = {25, 3 * MINUTE},
    [FAULT_reboot] = {300, 0},
    [FAULT_suspend] = {15, 4 * MINUTE},
    [FAULT_disk_full] = {50, 5 * MINUTE},
    [FAULT_lease_deleted] = {0, 10 * MINUTE},
    [FAULT_up_again] = {0, 2 * MINUTE},
    [FAULT_wall_jump] = {0, 3 * MINUTE},
    [FAULT_hand] = {0, 5 * MINUTE},
    [FAULT_gcs_away] = {0, 4 * MINUTE},
    [FAULT_drain_lost] = {200, 0},
    [FAULT_second_head] = {0, 8 * MINUTE},
};

const char *control_fault_name(enum control_fault fault)
{
    return names[fault];
}

void control_faults_draw(struct control_faults *faults, struct rng *rng)
{
    *faults = (struct control_faults){
        .listing_lag_ms = rng_between(rng, SECOND, LISTING_LAG_MOST_MS),
        .call_ms = rng_between(rng, 100, 5 * SECOND)};
    for (int i = 0; i < CONTROL_FAULT_COUNT; i++) {
        int64_t milder = INT64_C(1) << rng_below(rng, 4);
        faults->is_on[i] = rng_chance(rng, 500);
        faults->chance[i] = rates[i].chance > 0 ? rates[i].chance / milder + 1 : 0;
        faults->span_ms[i] = rates[i].span_ms * milder;
    }
}

void control_faults_stop(struct control_faults *faults)
{
    for (int i = 0; i < CONTROL_FAULT_COUNT; i++) {
        faults->is_on[i] = false;
    }
    faults->call_ms = SECOND;
}
