/* actions.c: collects the actions of a step; those that do not fit come with the next step. */
#include "core/live/core_internal.h"

struct action *actions_add(struct core *core, enum action_kind kind, struct reason reason)
{
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
