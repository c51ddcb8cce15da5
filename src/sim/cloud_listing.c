/* cloud_listing.c: the contents of listings, which differ from the actual state. */
#include "sim/cloud_effect.h"

static enum cloud_state state_at(const struct instance *instance, int64_t at)
{
    if (at >= instance->gone_at) {
        return CLOUD_GONE;
    }
    if (at >= instance->ended_at) {
        return CLOUD_ENDING;
    }
    return at >= instance->running_at ? CLOUD_RUNNING : CLOUD_PENDING;
}

/* Otherwise every listing would visit every machine that ever existed. */
static void drop_vanished(struct cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->listable_count; i++) {
        uint32_t position = cloud->listable[i];
        if (cloud->event_queue->now < cloud->instances[position].vanishes_at) {
            cloud->listable[kept++] = position;
        }
    }
    cloud->listable_count = kept;
}

static void cloud_listing_make_room(struct cloud *cloud, struct cloud_call *call)
{
    if (call->room_capacity < cloud->listable_count) {
        call->room_capacity = cloud->listable_count * 2;
        call->room = ARENA_ARRAY(cloud->arena, call->room_capacity, struct cloud_listed);
    }
}

/* Drops some pages: the rest is the beginning, or the contents of random pages. */
static size_t cloud_listing_cut(struct cloud *cloud, struct cloud_listed *listed, size_t count)
{
    struct rng *rng = &cloud->rng;
    if (rng_chance(rng, 500)) {
        return (size_t)rng_below(rng, (int64_t)count);
    }
    size_t kept = 0;
    int64_t chance = rng_below(rng, 1000);
    for (size_t i = 0; i < count; i++) {
        if (rng_chance(rng, chance)) {
            listed[kept++] = listed[i];
        }
    }
    return kept;
}

/*
 * Each instance is reported by some replica. Whether it is visible depends on the instance alone;
 * its state depends on the lag of that replica in this listing.
 */
void cloud_list_effect(struct cloud *cloud, struct cloud_call *call)
{
    drop_vanished(cloud);
    cloud_listing_make_room(cloud, call);
    int64_t now = cloud->event_queue->now;
    int64_t lag_most = cloud_lag(cloud);
    size_t count = 0;
    for (size_t i = 0; i < cloud->listable_count; i++) {
        const struct instance *instance = &cloud->instances[cloud->listable[i]];
        if (now < instance->shows_at) {
            continue;
        }
        int64_t lag = lag_most > 0 ? rng_between(&cloud->rng, 0, lag_most) : 0;
        call->room[count++] = (struct cloud_listed){.instance = instance->id,
                                                    .launch = instance->launch,
                                                    .offering = instance->offering,
                                                    .state = state_at(instance, now - lag),
                                                    .is_ours = instance->is_ours,
                                                    .is_outdated = instance->launch <=
                                                                   cloud->old_launches,
                                                    .is_head = instance->is_head};
    }
    call->outcome = OUTCOME_DONE;
    call->is_complete = !fault_strikes(cloud->faults, FAULT_listing_cut, &cloud->rng);
    call->listed = call->room;
    call->listed_count = call->is_complete ? count : cloud_listing_cut(cloud, call->room, count);
}
