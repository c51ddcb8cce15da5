/* act.c: what the core asks for, carried out; ends of one turn are one call. */
#include "app/control/controller_parts.h"

#include "io/heap.h"

void act_decline(struct controller *controller, const struct action *action)
{
    struct event event;
    if (action->kind == ACTION_LAUNCH) {
        event = controller_event(controller, EVENT_LAUNCH_REPLY);
        event.launch_reply.launch = action->launch;
        event.launch_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_TERMINATE) {
        event = controller_event(controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = action->instance;
        event.terminate_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_DRAIN) {
        event = controller_event(controller, EVENT_DRAIN_REPLY);
        event.drain_reply.instance = action->instance;
        event.drain_reply.answer = DRAIN_UNKNOWN;
    } else {
        return;
    }
    controller_tell_later(controller, &event);
}

/* ---- ending ---- */

static void on_terminate(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (!controller) {
        return;
    }
    for (size_t i = 0; i < call->count; i++) {
        struct event event = controller_event(controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = call->instances[i];
        event.terminate_reply.outcome = answer->outcome;
        controller_tell(controller, &event);
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        news_trouble(controller, answer, "ending %zu machines: %s", call->count, answer->err.text);
    }
    call_free(call);
    look_soon(controller);
}

/* From the records, and no listing has shown it yet: too new, or long gone. */
static void not_found(struct controller *controller, const struct action *action)
{
    struct event event = controller_event(controller, EVENT_TERMINATE_REPLY);
    event.terminate_reply.instance = action->instance;
    event.terminate_reply.outcome = OUTCOME_NOT_FOUND;
    controller_tell_later(controller, &event);
}

/* As Ray: a spot machine cannot be stopped, and neither can one that is still on its way. */
static bool is_stopped_only(const struct controller *controller, const struct machine *machine)
{
    return controller->setup.keeps_stopped && controller->setup.goal == GOAL_DOWN &&
           machine->market == MARKET_ON_DEMAND && machine->state != MACHINE_PENDING;
}

/* Those that are stopped, or those that are ended. */
static void terminate(struct controller *controller, const struct action *actions, size_t count,
                      bool is_stop)
{
    const struct provider_ops *ops = controller->provider->ops;
    struct str *ids = ARENA_ARRAY(&controller->scratch, count, struct str);
    struct call *call = call_begin(controller);
    size_t known_count = 0;
    call->instances = heap_zeroed((count + 1) * sizeof(*call->instances));
    for (size_t i = 0; i < count; i++) {
        const struct known *known = roster_find(&controller->roster, actions[i].instance);
        if (actions[i].kind != ACTION_TERMINATE) {
            continue;
        }
        if (!known) {
            if (!is_stop) {
                not_found(controller, &actions[i]);
            }
            continue;
        }
        if (is_stopped_only(controller, known->machine) != is_stop) {
            continue;
        }
        ids[known_count] = known->machine->id;
        call->instances[known_count++] = known->instance;
    }
    call->count = known_count;
    if (known_count == 0) {
        (void)call_end(call);
        call_free(call);
        return;
    }
    (is_stop ? ops->stop : ops->terminate)(controller->provider, ids, known_count, on_terminate,
                                           call);
}

/* ---- setting up ---- */

/* Nobody can reach a machine without an address: then it is asked for when it has one. */
static void set_up(struct controller *controller, uint64_t instance)
{
    struct known *known = roster_find(&controller->roster, instance);
    if (known && known->machine->private_ip.len == 0) {
        known->needs_set_up = true;
    } else {
        news_set_up(controller, instance);
    }
}

/* ---- draining ---- */

/* Where nobody asks raylets, and of a node that is not known, nothing may be concluded. */
static void drain(struct controller *controller, const struct action *action)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    struct controlled controlled;
    if (hooks->drain && controller_find(controller, action->instance, &controlled) &&
        !controlled.is_head) {
        hooks->drain(hooks->context, &controlled, action);
    } else {
        act_decline(controller, action);
    }
}

/* ---- all of them ---- */

static void decline_all(struct controller *controller, const struct action *actions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        act_decline(controller, &actions[i]);
    }
}

/* Those that may still be started, launches first; how many of them are launches. */
static struct action *sort_out(struct controller *controller, const struct action *actions,
                               size_t count, size_t *ret_launches, size_t *ret_count)
{
    struct action *kept = ARENA_ARRAY(&controller->scratch, count, struct action);
    size_t kept_count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            bool is_launch = actions[i].kind == ACTION_LAUNCH;
            if (is_launch != (pass == 0)) {
                continue;
            }
            if (controller_now(controller) >= actions[i].not_after) {
                act_decline(controller, &actions[i]);
            } else {
                records_note_action(controller, &actions[i]);
                kept[kept_count++] = actions[i];
            }
        }
        if (pass == 0) {
            *ret_launches = kept_count;
        }
    }
    *ret_count = kept_count;
    return kept;
}

void act_on(struct controller *controller, const struct action *actions, size_t count)
{
    size_t launches = 0;
    size_t kept_count;
    if (count == 0) {
        records_write_later(controller); /* nothing is done on the strength of it */
        return;
    }
    struct action *kept = sort_out(controller, actions, count, &launches, &kept_count);
    /* Launches write their intents, and what was noted, in one transaction of their own. */
    if (launches > 0) {
        launching_send(controller, kept, launches);
    }
    if (!records_write(controller, NULL, NULL)) {
        decline_all(controller, kept + launches, kept_count - launches);
        return;
    }
    for (size_t i = launches; i < kept_count; i++) {
        if (kept[i].kind == ACTION_SET_UP) {
            set_up(controller, kept[i].instance);
        } else if (kept[i].kind == ACTION_DRAIN) {
            drain(controller, &kept[i]);
        }
    }
    if (kept_count > launches) {
        terminate(controller, kept + launches, kept_count - launches, false);
        terminate(controller, kept + launches, kept_count - launches, true);
    }
}
