/* heads.c: keeps one head, whose id is in the journal. */
#include "app/control/heads.h"

#include "app/control/controller_internal.h"

enum { SURPLUS_AGAIN_MS = 10 * 1000, SURPLUS_MAX = 16 };

static bool heads_is_living(const struct machine *machine)
{
    return machine->state != MACHINE_ENDING && machine->state != MACHINE_GONE;
}

static bool is_running(const struct machine *machine)
{
    return machine->state == MACHINE_PENDING || machine->state == MACHINE_RUNNING;
}

static bool heads_is_named(const struct controller *controller, const struct machine *machine)
{
    return str_eq(controller->head_id, machine->id);
}

static bool heads_is_set_up(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-status"), "up-to-date");
}

void heads_init(struct controller *controller)
{
    struct err err;
    if (!journal_get(controller->journal, "head-id", &controller->life, &controller->head_id,
                     &err)) {
        controller->head_id = STR(""); /* an unreadable journal is reported elsewhere */
    }
}

bool heads_prefer(const struct controller *controller, const struct machine *machine)
{
    const struct known *head = machine_table_find(&controller->machine_table, HEAD_INSTANCE);
    if (!head || str_eq(head->machine->id, machine->id)) {
        return true;
    }
    if (heads_is_living(machine) != heads_is_living(head->machine)) {
        return heads_is_living(machine);
    }
    if (heads_is_named(controller, machine) != heads_is_named(controller, head->machine)) {
        return heads_is_named(controller, machine);
    }
    if (heads_is_set_up(machine) != heads_is_set_up(head->machine)) {
        return heads_is_set_up(machine);
    }
    return machine->launched_at > head->machine->launched_at;
}

static bool write_name(struct controller *controller, void *context, struct err *err)
{
    const struct str *id = context;
    return journal_set(controller->journal, "head-id", *id, err);
}

static void heads_on_ended(void *context, const struct provider_answer *answer)
{
    struct controller *controller = call_end(context);
    if (!controller) {
        return;
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        notify_warning(controller, answer, "cannot terminate a second head: %s", answer->err.text);
    }
    inventory_expedite(controller);
}

static bool may_end(struct controller *controller)
{
    if (controller->is_over) {
        return false;
    }
    controller->waits_to_end_head = !lease_is_confirmed(controller);
    if (controller->waits_to_end_head) {
        controller_renew(controller); /* the renewal triggers a listing, which tries again */
    }
    return !controller->waits_to_end_head;
}

static void end_surplus(struct controller *controller, const struct str *ids, size_t count)
{
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    int64_t now = controller_now(controller);
    bool is_told = controller->surplus_at > 0;
    if (is_told && now < controller->surplus_at + SURPLUS_AGAIN_MS) {
        return;
    }
    if (!may_end(controller)) {
        return;
    }
    if (!is_told) {
        notify_warning(controller, &answer,
                       "%.*s is a second head, but this cluster uses %.*s; terminating the second "
                       "head",
                       STR_ARG(ids[0]), STR_ARG(controller->head_id));
    }
    controller->surplus_at = now;
    controller->provider->ops->terminate(controller->provider, ids, count, heads_on_ended,
                                         call_begin(controller));
}

/* Two heads are set up and the journal names neither: the user must choose. */
static void tell_doubt(struct controller *controller, struct str one, struct str other)
{
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    if (controller->surplus_at == 0) {
        controller->surplus_at = controller_now(controller);
        notify_warning(controller, &answer,
                       "%.*s and %.*s are both set up as the head of this cluster; terminate the "
                       "one you do not need",
                       STR_ARG(one), STR_ARG(other));
    }
}

void heads_hear(struct controller *controller, const struct machine *machines, size_t count)
{
    const struct known *kept = machine_table_find(&controller->machine_table, HEAD_INSTANCE);
    struct str surplus[SURPLUS_MAX];
    size_t surplus_count = 0;
    controller->waits_to_end_head = false;
    if (!kept || !heads_is_living(kept->machine)) {
        return;
    }
    bool was_named = heads_is_named(controller, kept->machine);
    if (!was_named && controller->setup.public_key.len == 0) {
        return; /* the service's journal names its own head: this listing is stale */
    }
    for (size_t i = 0; i < count && surplus_count < SURPLUS_MAX; i++) {
        if (!machine_is_head(&machines[i]) || !is_running(&machines[i]) ||
            str_eq(machines[i].id, kept->machine->id)) {
            continue;
        }
        if (!was_named && heads_is_set_up(&machines[i])) {
            tell_doubt(controller, machines[i].id, kept->machine->id);
            return;
        }
        surplus[surplus_count++] = arena_str(&controller->scratch, machines[i].id);
    }
    if (!was_named) {
        struct str id = arena_str(&controller->life, kept->machine->id);
        if (!journaling_write(controller, write_name, &id)) {
            return;
        }
        controller->head_id = id;
    }
    if (surplus_count > 0) {
        end_surplus(controller, surplus, surplus_count);
    }
}
