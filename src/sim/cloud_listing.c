/* cloud_listing.c: what a listing shows, which is not what there is. */
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

/* Without it every listing would look at every machine there ever was. */
static void drop_vanished(struct cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->listable_count; i++) {
        uint32_t position = cloud->listable[i];
        if (cloud->agenda->now < cloud->instances[position].vanishes_at) {
            cloud->listable[kept++] = position;
        }
    }
    cloud->listable_count = kept;
}

static void make_room(struct cloud *cloud, struct cloud_call *call)
{
    if (call->room_capacity < cloud->listable_count) {
        call->room_capacity = cloud->listable_count * 2;
        call->room = ARENA_ARRAY(cloud->arena, call->room_capacity, struct cloud_listed);
    }
}

/* Some pages are missing: what remains is the beginning, or what other pages happened to hold. */
static size_t cut(struct cloud *cloud, struct cloud_listed *listed, size_t count)
{
    struct dice *dice = &cloud->dice;
    if (dice_chance(dice, 500)) {
        return (size_t)dice_below(dice, (int64_t)count);
    }
    size_t kept = 0;
    int64_t chance = dice_below(dice, 1000);
    for (size_t i = 0; i < count; i++) {
        if (dice_chance(dice, chance)) {
            listed[kept++] = listed[i];
        }
    }
    return kept;
}

/*
 * Each instance is answered for by some replica. Whether it shows depends on the instance alone;
 * in which state, on how far that replica is behind in this listing.
 */
void cloud_list_effect(struct cloud *cloud, struct cloud_call *call)
{
    drop_vanished(cloud);
    make_room(cloud, call);
    int64_t now = cloud->agenda->now;
    int64_t lag_most = cloud_lag(cloud);
    size_t count = 0;
    for (size_t i = 0; i < cloud->listable_count; i++) {
        const struct instance *instance = &cloud->instances[cloud->listable[i]];
        if (now < instance->shows_at) {
            continue;
        }
        int64_t lag = lag_most > 0 ? dice_between(&cloud->dice, 0, lag_most) : 0;
        call->room[count++] = (struct cloud_listed){.instance = instance->id,
                                                    .launch = instance->launch,
                                                    .offering = instance->offering,
                                                    .state = state_at(instance, now - lag),
                                                    .is_ours = instance->is_ours,
                                                    .is_head = instance->is_head};
    }
    call->outcome = OUTCOME_DONE;
    call->is_complete = !fault_strikes(cloud->faults, FAULT_listing_cut, &cloud->dice);
    call->listed = call->room;
    call->listed_count = call->is_complete ? count : cut(cloud, call->room, count);
}
