/* actions.c: collects the actions of a step; those that do not fit come with the next step. */
#include "base/require.h"
#include "core/live/core_internal.h"

struct action *actions_add(struct core *core, enum action_kind kind, struct reason reason)
{
    require(kind < ACTION_KIND_COUNT, "the kind of an action");
    require(core->action_count <= ACTION_CAPACITY, "the actions fit");
    require(permission_to_act(core) == PERMIT_OK, "no action without the lease and the records");
    require(kind != ACTION_LAUNCH || permission_to_launch(core) == PERMIT_OK,
            "no launch without a listing");
    if (core->action_count == ACTION_CAPACITY) {
        core->has_more = true;
        core->is_stirred = true;
        return NULL;
    }
    struct action *action = &core->actions[core->action_count++];
    *action = (struct action){
        .kind = kind, .reason = reason, .not_after = core->lease_until, .epoch = core->epoch};
    return action;
}
