/* event_text.c: formats events. */
#include "core/event.h"

#include "core/text/load_text.h"
#include "core/text/offering_text.h"

const char *outcome_text(enum outcome outcome)
{
    static const char *const words[OUTCOME_COUNT] = {
        [OUTCOME_DONE] = "done",
        [OUTCOME_UNKNOWN] = "no definite reply; it may have taken effect",
        [OUTCOME_THROTTLED] = "throttled; retry later",
        [OUTCOME_CAPACITY] = "no capacity",
        [OUTCOME_QUOTA] = "over the account's quota",
        [OUTCOME_DENIED] = "not allowed or not authenticated",
        [OUTCOME_INVALID] = "the request is invalid",
        [OUTCOME_MISMATCH] = "its token was used for another request; another controller is active",
        [OUTCOME_NOT_FOUND] = "not found",
        [OUTCOME_NO_LEASE] = "not sent; the lease had expired",
    };
    return outcome < OUTCOME_COUNT ? words[outcome] : "?";
}

static const char *cloud_words(enum cloud_state state)
{
    static const char *const words[CLOUD_STATE_COUNT] = {
        [CLOUD_PENDING] = "pending",
        [CLOUD_RUNNING] = "running",
        [CLOUD_ENDING] = "terminating",
        [CLOUD_GONE] = "terminated",
    };
    return state < CLOUD_STATE_COUNT ? words[state] : "?";
}

static const char *setup_words(enum setup_news news)
{
    static const char *const words[SETUP_NEWS_COUNT] = {
        [SETUP_CONTACT] = "ssh works, the steps are running",
        [SETUP_DONE] = "done; ray start succeeded",
        [SETUP_FAILED] = "failed",
        [SETUP_BLOCKED] = "failed; another node would fail, too",
    };
    return news < SETUP_NEWS_COUNT ? words[news] : "?";
}

static const char *drain_words(enum drain_answer answer)
{
    static const char *const words[DRAIN_ANSWER_COUNT] = {
        [DRAIN_ACCEPTED] = "accepted; it takes no new work",
        [DRAIN_REFUSED] = "refused; it is no longer idle",
        [DRAIN_UNKNOWN] = "no answer",
    };
    return answer < DRAIN_ANSWER_COUNT ? words[answer] : "?";
}

static struct str lease_text(const struct event *event, struct arena *arena)
{
    unsigned long long epoch = event->lease.epoch;
    if (event->lease.until == 0) {
        return arena_printf(arena, "lease %llu lost", epoch);
    }
    struct str until = format_seconds(event->lease.until, arena);
    return arena_printf(arena, "lease %llu held until %.*s", epoch, STR_ARG(until));
}

static struct str intent_text(const struct event *event, const struct core_settings *settings,
                              struct arena *arena)
{
    struct str offering = format_offering(settings, event->intent.offering, arena);
    return arena_printf(arena, "launch %u.%u recorded: %lld x %.*s",
                        LAUNCH_ARG(event->intent.launch), (long long)event->intent.count,
                        STR_ARG(offering));
}

/* "listing as of 12.000: 3 machines (1 pending, 2 running)" */
static struct str listing_text(const struct listing *listing, struct arena *arena)
{
    size_t counts[CLOUD_STATE_COUNT] = {0};
    struct str parts = STR("");
    for (size_t i = 0; i < listing->count; i++) {
        counts[listing->items[i].state]++;
    }
    for (unsigned state = 0; state < CLOUD_STATE_COUNT; state++) {
        if (counts[state] > 0) {
            parts = arena_printf(arena, "%.*s%s%zu %s", STR_ARG(parts), parts.len > 0 ? ", " : "",
                                 counts[state], cloud_words((enum cloud_state)state));
        }
    }
    struct str asked_at = format_seconds(listing->asked_at, arena);
    return arena_printf(arena, "listing as of %.*s: %zu instance%s%s%.*s%s%s", STR_ARG(asked_at),
                        listing->count, listing->count == 1 ? "" : "s",
                        listing->count > 0 ? " (" : "", STR_ARG(parts),
                        listing->count > 0 ? ")" : "", listing->is_complete ? "" : ", incomplete");
}

/* "termination of instance 17 answered: done" */
static struct str answer_text(const char *call, uint64_t instance, const char *answer,
                              struct arena *arena)
{
    return arena_printf(arena, "%s of instance %llu answered: %s", call,
                        (unsigned long long)instance, answer);
}

static struct str notice_text(const struct event *event, struct arena *arena)
{
    struct str until = format_seconds(event->notice.until, arena);
    return arena_printf(arena, "instance %llu: interruption notice; the cloud reclaims it at %.*s",
                        (unsigned long long)event->notice.instance, STR_ARG(until));
}

static struct str asked_text(const char *what, const struct event *event, struct arena *arena)
{
    struct str asked_at = format_seconds(event->asked_at, arena);
    return arena_printf(arena, "%s as of %.*s", what, STR_ARG(asked_at));
}

static struct str ray_text(const struct event *event, const struct names *names,
                           struct arena *arena)
{
    if (event->kind == EVENT_RAY_LOAD) {
        struct str load = ray_load_text(&event->ray_load, names, arena);
        return arena_printf(arena, "demand in Ray: %.*s", STR_ARG(load));
    }
    struct str node = ray_node_text(&event->ray_node, names, arena);
    return arena_printf(arena, "instance %llu in Ray: %.*s",
                        (unsigned long long)event->ray_node.instance, STR_ARG(node));
}

static struct str fact_text(const struct event *event, const struct core_settings *settings,
                            struct arena *arena)
{
    switch (event->kind) {
    case EVENT_START:
        return STR("start");
    case EVENT_GOAL:
        return event->goal == GOAL_RUN ? STR("goal: run the cluster")
                                       : STR("goal: delete the cluster");
    case EVENT_LEASE:
        return lease_text(event, arena);
    case EVENT_INTENT:
        return intent_text(event, settings, arena);
    case EVENT_LAUNCHED:
        return arena_printf(arena, "launch %u.%u answered: instance %llu",
                            LAUNCH_ARG(event->launched.launch),
                            (unsigned long long)event->launched.instance);
    case EVENT_LAUNCH_REPLY:
        return arena_printf(arena, "launch %u.%u answered: %s",
                            LAUNCH_ARG(event->launch_reply.launch),
                            outcome_text(event->launch_reply.outcome));
    case EVENT_RECORDS_END:
        return arena_printf(arena, "end of records: no other controller has acted since lease %llu",
                            (unsigned long long)event->records.sole_writer_epoch);
    case EVENT_LISTING:
        return listing_text(&event->listing, arena);
    case EVENT_TERMINATE_REPLY:
        return answer_text("termination", event->terminate_reply.instance,
                           outcome_text(event->terminate_reply.outcome), arena);
    case EVENT_SETUP_REPLY:
        return arena_printf(arena, "setup of instance %llu: %s%s",
                            (unsigned long long)event->setup_reply.instance,
                            setup_words(event->setup_reply.news),
                            event->setup_reply.is_unused ? ", before Ray was started" : "");
    case EVENT_DRAIN_REPLY:
        return answer_text("drain", event->drain_reply.instance,
                           drain_words(event->drain_reply.answer), arena);
    case EVENT_NOTICE:
        return notice_text(event, arena);
    case EVENT_RAY_NODE:
    case EVENT_RAY_LOAD:
        return ray_text(event, settings->names, arena);
    case EVENT_RAY_SEEN:
        return asked_text("Ray state", event, arena);
    case EVENT_TICK:
        return STR("tick");
    case EVENT_RAY_RESTARTED:
        return STR("Ray restarted");
    case EVENT_HEAD:
        return event->head == HEAD_FAILED       ? STR("the setup of the head failed")
               : event->head == HEAD_SETTING_UP ? STR("the head is being set up")
                                                : STR("the head is up");
    case EVENT_PRICES:
        return STR("prices have changed");
    case EVENT_KIND_COUNT:
        break;
    }
    return STR("?");
}

struct str event_text(const struct event *event, const struct core_settings *settings,
                      struct arena *arena)
{
    struct str at = format_seconds(event->at, arena);
    struct str fact = fact_text(event, settings, arena);
    return arena_printf(arena, "%.*s %.*s", STR_ARG(at), STR_ARG(fact));
}
