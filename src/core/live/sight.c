/*
 * sight.c: what the core may do with what it can see.
 *
 * Launching needs the lease, the records, and one listing that surely shows everything anybody
 * has launched before. Ending needs the lease and a fresh view of the cloud and of Ray: who is
 * blind stands still.
 */
#include "core/live/state.h"

enum stance sight_acting(const struct core *core)
{
    if (!core->has_records) {
        return STANCE_NOT_STARTED;
    }
    if (core->now >= core->lease_until && !BUG(core, acts_without_lease)) {
        return STANCE_NO_LEASE;
    }
    return core->is_fenced ? STANCE_FENCED : STANCE_ACTING;
}

bool sight_of_ray(const struct core *core)
{
    return core->ray_seen_at >= 0 &&
           core->now - core->ray_seen_at <= core->settings->times.ray_fresh;
}

bool sight_of_cloud(const struct core *core)
{
    return core->listed_at >= 0 && core->now - core->listed_at <= core->settings->times.cloud_fresh;
}

enum stance sight_launching(const struct core *core)
{
    enum stance stance = sight_acting(core);
    if (stance != STANCE_ACTING) {
        return stance;
    }
    bool is_listed = core->listed_at >= core->trusted_from;
    return is_listed || BUG(core, launches_unseen) ? STANCE_ACTING : STANCE_NO_LISTING;
}

enum stance sight_ending(const struct core *core)
{
    enum stance stance = sight_acting(core);
    if (stance != STANCE_ACTING) {
        return stance;
    }
    if (core->goal == GOAL_DOWN) {
        return core->listed_at >= 0 ? STANCE_ACTING : STANCE_NO_LISTING;
    }
    bool sees_ray = sight_of_ray(core) || BUG(core, ends_while_gcs_away);
    bool is_quiet = core->now < core->quiet_until;
    return sight_of_cloud(core) && sees_ray && !is_quiet ? STANCE_ACTING : STANCE_NO_LISTING;
}
