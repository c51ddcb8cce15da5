/*
 * permission.c: what the core may do with its current view.
 *
 * Launching requires the lease, the records, a listing that is sure to show everything launched
 * before, and a head that workers can join. Terminating requires the lease and a fresh view of the
 * cloud and of Ray; to delete the cluster, the lease and any complete listing are enough. A failed
 * node on which Ray was never started has no work, so it needs no view of Ray.
 */
#include "core/live/core_internal.h"

enum permission permission_to_act(const struct core *core)
{
    if (!core->has_records) {
        return PERMIT_NOT_STARTED;
    }
    if (core->now >= core->lease_until) {
        return PERMIT_NO_LEASE;
    }
    return core->is_fenced ? PERMIT_FENCED : PERMIT_OK;
}

bool ray_view_is_fresh(const struct core *core)
{
    return core->ray_seen_at >= 0 &&
           core->now - core->ray_seen_at <= core->settings->times.ray_fresh;
}

bool cloud_view_is_fresh(const struct core *core)
{
    return core->listed_at >= 0 && core->now - core->listed_at <= core->settings->times.cloud_fresh;
}

enum permission permission_to_launch(const struct core *core)
{
    enum permission permission = permission_to_act(core);
    if (permission != PERMIT_OK) {
        return permission;
    }
    if (core->listed_at < core->trusted_from) {
        return PERMIT_NO_LISTING;
    }
    return core->head == HEAD_FAILED ? PERMIT_HEAD_FAILED : PERMIT_OK;
}

enum permission permission_to_terminate(const struct core *core)
{
    enum permission permission = permission_to_act(core);
    if (permission != PERMIT_OK) {
        return permission;
    }
    if (core->goal == GOAL_DOWN) {
        return core->listed_at >= 0 ? PERMIT_OK : PERMIT_NO_LISTING;
    }
    bool is_quiet = core->now < core->quiet_until;
    if (!cloud_view_is_fresh(core) || !ray_view_is_fresh(core)) {
        return PERMIT_NO_LISTING;
    }
    return is_quiet ? PERMIT_QUIET : PERMIT_OK;
}

enum permission permission_to_end_failed(const struct core *core, const struct node *node)
{
    enum permission permission = permission_to_act(core);
    if (!node->is_unused || node->ray != RAY_ABSENT || permission != PERMIT_OK) {
        return permission_to_terminate(core);
    }
    return cloud_view_is_fresh(core) ? PERMIT_OK : PERMIT_NO_LISTING;
}
