/* execute.c: executes the core's actions. Terminations of one turn are one call. */
#include "app/control/controller_internal.h"

#include "io/xalloc.h"

void execute_decline(struct controller *controller, const struct action *action)
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
    controller_apply_later(controller, &event);
}

/* ---- terminate ---- */

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
        controller_apply(controller, &event);
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        notify_warning(controller, answer, "cannot terminate instances (%zu): %s", call->count,
                       answer->err.text);
    }
    call_free(call);
    inventory_expedite(controller);
}

/* Journaled but not in any listing: too new, or long gone. */
static void not_found(struct controller *controller, const struct action *action)
{
    struct event event = controller_event(controller, EVENT_TERMINATE_REPLY);
    event.terminate_reply.instance = action->instance;
    event.terminate_reply.outcome = OUTCOME_NOT_FOUND;
    controller_apply_later(controller, &event);
}

/* As Ray does: spot machines and pending machines cannot be stopped. */
static bool is_stopped_only(const struct controller *controller, const struct machine *machine)
{
    return controller->setup.keeps_stopped && controller->setup.goal == GOAL_DOWN &&
           machine->market == MARKET_ON_DEMAND && machine->state != MACHINE_PENDING;
}

/* Stops or terminates, for the machines that need that call. */
static void terminate(struct controller *controller, const struct action *actions, size_t count,
                      bool is_stop)
{
    const struct provider_ops *ops = controller->provider->ops;
    struct str *ids = ARENA_ARRAY(&controller->scratch, count, struct str);
    struct call *call = call_begin(controller);
    size_t known_count = 0;
    call->instances = heap_zeroed((count + 1) * sizeof(*call->instances));
    for (size_t i = 0; i < count; i++) {
        const struct known *known = machine_table_find(&controller->machine_table,
                                                       actions[i].instance);
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

/* ---- set up ---- */

/* Waits for the next listing if the machine has no address yet or the journal was not written. */
static void execute_set_up(struct controller *controller, uint64_t instance, bool is_written)
{
    struct known *known = machine_table_find(&controller->machine_table, instance);
    if (known && (known->machine->private_ip.len == 0 || !is_written)) {
        known->needs_set_up = true;
    } else {
        notify_set_up(controller, instance);
    }
}

/* ---- drain ---- */

/* Declined without a drain hook or for an unknown node. */
static void execute_drain(struct controller *controller, const struct action *action)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    struct managed_node managed_node;
    if (hooks->drain && controller_find(controller, action->instance, &managed_node) &&
        !managed_node.is_head) {
        hooks->drain(hooks->context, &managed_node, action);
    } else {
        execute_decline(controller, action);
    }
}

/* ---- all actions ---- */

/* The actions that may still start, launches first. Declines the others. */
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
                execute_decline(controller, &actions[i]);
            } else {
                journaling_add_action(controller, &actions[i]);
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

void execute_actions(struct controller *controller, const struct action *actions, size_t count)
{
    size_t launches = 0;
    size_t kept_count;
    if (count == 0) {
        journaling_write_later(controller); /* no action depends on these records */
        return;
    }
    struct action *kept = sort_out(controller, actions, count, &launches, &kept_count);
    /* Launches write their intents and the pending records in their own transaction. */
    if (launches > 0) {
        launching_send(controller, kept, launches);
    }
    /* Drain and terminate also when the disk is full: they save money, and a later controller sees
     * their effect in Ray and in a listing. */
    bool is_written = journaling_write(controller, NULL, NULL);
    for (size_t i = launches; i < kept_count; i++) {
        if (kept[i].kind == ACTION_SET_UP) {
            execute_set_up(controller, kept[i].instance, is_written);
        } else if (kept[i].kind == ACTION_DRAIN) {
            execute_drain(controller, &kept[i]);
        }
    }
    if (kept_count > launches) {
        terminate(controller, kept + launches, kept_count - launches, false);
        terminate(controller, kept + launches, kept_count - launches, true);
    }
}
