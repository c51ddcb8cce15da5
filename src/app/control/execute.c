/* execute.c: executes the core's actions. Terminations of one turn are one call. */
#include "app/control/execute.h"

#include "app/control/control_events.h"
#include "app/control/inventory.h"
#include "app/control/launching.h"
#include "base/require.h"
#include "io/xalloc.h"

/* ---- terminate ---- */

static void on_terminate(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (!controller) {
        return;
    }
    require(call->count > 0 && call->instances, "the call was about instances");
    for (size_t i = 0; i < call->count; i++) {
        struct event event = controller_event(controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = call->instances[i];
        event.terminate_reply.outcome = answer->outcome;
        controller_apply(controller, &event);
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        notify_warning(controller_notifier(controller), answer,
                       "cannot terminate instances (%zu): %s", call->count, answer->err.text);
    }
    call_free(call);
    inventory_expedite(controller);
}

/* Journaled but not in any listing: too new, or long gone. */
static void not_found(const struct executor *executor, const struct action *action)
{
    struct event event = controller_event(executor->controller, EVENT_TERMINATE_REPLY);
    event.terminate_reply.instance = action->instance;
    event.terminate_reply.outcome = OUTCOME_NOT_FOUND;
    controller_apply_later(executor->controller, &event);
}

/* As Ray does: spot machines and pending machines cannot be stopped. */
static bool is_stopped_only(const struct executor *executor, const struct machine *machine)
{
    return executor->setup->keeps_stopped && executor->setup->goal == GOAL_DOWN &&
           machine->market == MARKET_ON_DEMAND && machine->state != MACHINE_PENDING;
}

/* Stops or terminates, for the machines that need that call. */
static void terminate(const struct executor *executor, const struct action *actions, size_t count,
                      bool is_stop)
{
    const struct provider_ops *ops = executor->provider->ops;
    struct str *ids = ARENA_ARRAY(executor->scratch, count, struct str);
    struct call *call = call_begin(executor->calls);
    size_t known_count = 0;
    call->instances = heap_zeroed((count + 1) * sizeof(*call->instances));
    for (size_t i = 0; i < count; i++) {
        const struct known *known = machine_table_find(executor->machines, actions[i].instance);
        if (actions[i].kind != ACTION_TERMINATE) {
            continue;
        }
        if (!known) {
            if (!is_stop) {
                not_found(executor, &actions[i]);
            }
            continue;
        }
        if (is_stopped_only(executor, known->machine) != is_stop) {
            continue;
        }
        require(known->instance == actions[i].instance,
                "the table finds the machine by its number");
        require(!known->is_head, "the core never terminates the head");
        require(known_count < count, "one machine for each action at most");
        ids[known_count] = known->machine->id;
        call->instances[known_count++] = known->instance;
    }
    call->count = known_count;
    if (known_count == 0) {
        (void)call_end(call);
        call_free(call);
        return;
    }
    (is_stop ? ops->stop : ops->terminate)(executor->provider, ids, known_count, on_terminate,
                                           call);
}

/* ---- set up ---- */

/* Waits for the next listing if the machine has no address yet or the journal was not written. */
static void execute_set_up(const struct executor *executor, uint64_t instance, bool is_written)
{
    struct known *known = machine_table_find(executor->machines, instance);
    if (known && (known->machine->private_ip.len == 0 || !is_written)) {
        known->needs_set_up = true;
    } else {
        notify_set_up(executor->notifier, instance);
    }
}

/* ---- drain ---- */

/* Declined without a drain hook or for an unknown node. */
static void execute_drain(const struct executor *executor, const struct action *action)
{
    const struct controller_hooks *hooks = &executor->setup->hooks;
    struct managed_node managed_node;
    if (hooks->drain && controller_find(executor->controller, action->instance, &managed_node) &&
        !managed_node.is_head) {
        hooks->drain(hooks->context, &managed_node, action);
    } else {
        controller_decline(executor->controller, action);
    }
}

/* ---- all actions ---- */

/* The actions that may still start, launches first. Declines the others. */
static struct action *sort_out(const struct executor *executor, const struct action *actions,
                               size_t count, size_t *ret_launches, size_t *ret_count)
{
    struct action *kept = ARENA_ARRAY(executor->scratch, count, struct action);
    size_t kept_count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            bool is_launch = actions[i].kind == ACTION_LAUNCH;
            if (is_launch != (pass == 0)) {
                continue;
            }
            if (loop_now_ms(executor->loop) >= actions[i].not_after) {
                controller_decline(executor->controller, &actions[i]);
            } else {
                journaling_add_action(executor->journaling, &actions[i]);
                kept[kept_count++] = actions[i];
            }
        }
        if (pass == 0) {
            *ret_launches = kept_count;
        }
    }
    require(*ret_launches <= kept_count, "launches are the first of the kept actions");
    require(kept_count <= count, "not more actions are kept than there are");
    *ret_count = kept_count;
    return kept;
}

void execute_actions(const struct executor *executor, const struct action *actions, size_t count)
{
    size_t launches = 0;
    size_t kept_count;
    if (count == 0) {
        journaling_write_later(executor->journaling); /* no action depends on these records */
        return;
    }
    struct action *kept = sort_out(executor, actions, count, &launches, &kept_count);
    /* Launches write their intents and the pending records in their own transaction. */
    if (launches > 0) {
        launching_send(executor->controller, kept, launches);
    }
    /* Drain and terminate also when the disk is full: they save money, and a later controller sees
     * their effect in Ray and in a listing. */
    bool is_written = journaling_write(executor->journaling, NULL, NULL);
    for (size_t i = launches; i < kept_count; i++) {
        require(kept[i].kind != ACTION_LAUNCH, "launches come first");
        require(kept[i].instance != INSTANCE_NONE, "an action is about an instance");
        if (kept[i].kind == ACTION_SET_UP) {
            execute_set_up(executor, kept[i].instance, is_written);
        } else if (kept[i].kind == ACTION_DRAIN) {
            execute_drain(executor, &kept[i]);
        }
    }
    if (kept_count > launches) {
        terminate(executor, kept + launches, kept_count - launches, false);
        terminate(executor, kept + launches, kept_count - launches, true);
    }
}
