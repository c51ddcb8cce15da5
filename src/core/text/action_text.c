/* action_text.c: formats actions and their reasons. */
#include "core/action.h"

#include "core/node_state.h"
#include "core/text/offering_text.h"

/* Describes what a node was doing in the state that timed out. */
static const char *action_text_state_text(unsigned state)
{
    static const char *const words[NODE_STATE_COUNT] = {
        [NODE_GONE] = "gone",
        [NODE_REQUESTED] = "requested without a reply",
        [NODE_LAUNCHING] = "launching",
        [NODE_BOOTING] = "booting without a reply from ssh",
        [NODE_SETTING_UP] = "setting up",
        [NODE_READY] = "ready",
        [NODE_IDLE] = "idle",
        [NODE_DRAINING] = "draining",
        [NODE_FAILED] = "failed",
        [NODE_TERMINATING] = "terminating",
        [NODE_UNLISTED] = "in Ray but not listed by the cloud",
    };
    return state < NODE_STATE_COUNT ? words[state] : "?";
}

/* The original reason of a drain; its numbers were reported when the drain began. */
static const char *first_reason_words(int64_t kind)
{
    static const char *const words[REASON_KIND_COUNT] = {
        [REASON_NEEDED] = "it was needed",
        [REASON_REPEATED] = "its request was sent again",
        [REASON_CLOUD_RUNS_IT] = "its instance is running",
        [REASON_IDLE] = "it was idle",
        [REASON_OUTDATED] = "its node type was changed or removed",
        [REASON_TYPE_LIMIT] = "there were more nodes of its type than max_workers",
        [REASON_CLUSTER_LIMIT] = "the cluster had more nodes than max_workers",
        [REASON_DRAINED] = "it was drained",
        [REASON_NOTICE] = "the cloud is reclaiming it",
        [REASON_CLOUD_ENDED] = "the cloud terminated it",
        [REASON_RAY_DEAD] = "Ray declared it dead",
        [REASON_LOST_CONTACT] = "Ray no longer listed it",
        [REASON_SETUP_FAILED] = "its setup failed",
        [REASON_TOO_SLOW] = "it took too long",
        [REASON_DOWN] = "the cluster is being deleted",
    };
    return kind >= 0 && kind < REASON_KIND_COUNT ? words[kind] : "?";
}

/* "2 for the work of worker-3 and 1 more node, which are going away" */
static struct str take_over_text(const struct action *action, struct str leaver,
                                 struct arena *arena)
{
    long long count = (long long)action_takes_over(action);
    long long more = action->reason.limit > 1 ? (long long)action->reason.limit - 1 : 0;
    if (more == 0) {
        return arena_printf(arena, "%lld to replace %.*s, which is being terminated", count,
                            STR_ARG(leaver));
    }
    return arena_printf(arena,
                        "%lld to replace %.*s and %lld more node%s, which are being terminated",
                        count, STR_ARG(leaver), more, more > 1 ? "s" : "");
}

/* "3 for pending requests, 1 to keep min_workers" */
static struct str causes_text(const struct action *action, struct str leaver, struct arena *arena)
{
    static const char *const causes[LAUNCH_CAUSE_COUNT] = {
        [LAUNCH_MIN_NODES] = "to keep min_workers",
        [LAUNCH_CONSTRAINT] = "for request_resources",
        [LAUNCH_GANGS] = "for placement groups",
        [LAUNCH_DEMAND] = "for pending requests",
    };
    int64_t taken_over = action_takes_over(action);
    struct str text = STR("");
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        int64_t count = action->count_by_cause[i] - (i == LAUNCH_DEMAND ? taken_over : 0);
        if (count != 0) {
            text = arena_printf(arena, "%.*s%s%lld %s", STR_ARG(text), text.len > 0 ? ", " : "",
                                (long long)count, causes[i]);
        }
    }
    if (taken_over > 0) {
        struct str last = take_over_text(action, leaver, arena);
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), text.len > 0 ? ", " : "",
                            STR_ARG(last));
    }
    return text.len > 0 ? text : STR("needed");
}

/* "idle for 5 min 10 s, 5 min allowed" */
static struct str too_long_text(const char *what, const struct reason *reason, struct arena *arena)
{
    struct str taken = format_span(reason->amount, arena);
    struct str allowed = format_span(reason->limit, arena);
    return arena_printf(arena, "%s for %.*s (limit: %.*s)", what, STR_ARG(taken), STR_ARG(allowed));
}

struct str action_reason_text(const struct action *action, struct arena *arena)
{
    return action_reason_text_with(
        action, arena_printf(arena, "instance %llu", (unsigned long long)action->instance), arena);
}

struct str action_reason_text_with(const struct action *action, struct str leaver,
                                   struct arena *arena)
{
    const struct reason *reason = &action->reason;
    long long limit = (long long)reason->limit;
    switch ((enum reason_kind)reason->kind) {
    case REASON_NEEDED:
        return causes_text(action, leaver, arena);
    case REASON_REPEATED:
        return STR("no definite reply so far");
    case REASON_CLOUD_RUNS_IT:
        return STR("its instance is running");
    case REASON_IDLE:
        return too_long_text("idle", reason, arena);
    case REASON_OUTDATED:
        return reason->amount == 1 ? STR("its node type is no longer in the file")
                                   : STR("its node_config was changed in the file");
    case REASON_TYPE_LIMIT:
        return arena_printf(arena, "more nodes of its type than its max_workers of %lld", limit);
    case REASON_CLUSTER_LIMIT:
        return arena_printf(arena, "more nodes in the cluster than the limit of %lld", limit);
    case REASON_DRAINED:
        return arena_printf(arena, "drained, because %s", first_reason_words(reason->amount));
    case REASON_NOTICE: /* its time is on the core's own clock */
        return STR("the cloud is reclaiming it");
    case REASON_CLOUD_ENDED:
        return STR("terminated by the cloud, or manually");
    case REASON_RAY_DEAD:
        return STR("Ray declared it dead");
    case REASON_LOST_CONTACT:
        return too_long_text("not listed by Ray", reason, arena);
    case REASON_SETUP_FAILED:
        return STR("its setup failed");
    case REASON_TOO_SLOW:
        return too_long_text(action_text_state_text(reason->state), reason, arena);
    case REASON_DOWN:
        return STR("the cluster is being deleted");
    case REASON_KIND_COUNT:
        break;
    }
    return STR("?");
}

/* "terminate instance 17 (g5.xlarge in us-east-1a, spot)" */
static struct str instance_text(const char *verb, const struct action *action,
                                const struct core_settings *settings, struct arena *arena)
{
    struct str offering = format_offering(settings, action->offering, arena);
    return arena_printf(arena, "%s instance %llu (%.*s)", verb,
                        (unsigned long long)action->instance, STR_ARG(offering));
}

static struct str launch_text(const struct action *action, const struct core_settings *settings,
                              struct arena *arena)
{
    struct str offering = format_priced_offering(settings, action->offering, arena);
    const char *again = action->reason.kind == REASON_REPEATED ? " again" : "";
    return arena_printf(arena, "launch %u.%u%s: %lld x %.*s", LAUNCH_ARG(action->launch), again,
                        (long long)action->count, STR_ARG(offering));
}

/* Whether the raylet may refuse; empty except for drains. */
static struct str terms_text(const struct action *action, struct arena *arena)
{
    if (action->kind != ACTION_DRAIN) {
        return STR("");
    }
    if (action->is_rejectable) {
        return STR("; it can refuse if it is busy");
    }
    struct str until = format_seconds(action->drain_until, arena);
    return arena_printf(arena, "; its work can continue until %.*s", STR_ARG(until));
}

static struct str deed_text(const struct action *action, const struct core_settings *settings,
                            struct arena *arena)
{
    bool is_again = action->reason.kind == REASON_REPEATED;
    switch (action->kind) {
    case ACTION_LAUNCH:
        return launch_text(action, settings, arena);
    case ACTION_TERMINATE:
        return instance_text(is_again ? "retry terminating" : "terminate", action, settings, arena);
    case ACTION_SET_UP:
        return instance_text("set up", action, settings, arena);
    case ACTION_DRAIN:
        return instance_text("drain", action, settings, arena);
    case ACTION_KIND_COUNT:
        break;
    }
    return STR("?");
}

struct str action_text(const struct action *action, const struct core_settings *settings,
                       struct arena *arena)
{
    struct str deed = deed_text(action, settings, arena);
    struct str reason = action_reason_text(action, arena);
    struct str terms = terms_text(action, arena);
    return arena_printf(arena, "%.*s: %.*s%.*s", STR_ARG(deed), STR_ARG(reason), STR_ARG(terms));
}

struct str change_text(const struct change *change, struct arena *arena)
{
    struct str who = change->instance == INSTANCE_NONE
                         ? arena_printf(arena, "an instance of launch %u.%u",
                                        LAUNCH_ARG(change->launch))
                         : arena_printf(arena, "instance %llu",
                                        (unsigned long long)change->instance);
    const char *to = node_state_name((enum node_state)change->to);
    if (change->from == NODE_GONE) {
        return arena_printf(arena, "%.*s: %s", STR_ARG(who), to);
    }
    return arena_printf(arena, "%.*s: %s -> %s", STR_ARG(who),
                        node_state_name((enum node_state)change->from), to);
}
