/* heads.c: keeps one head, whose id is in the journal. */
#include "app/control/heads.h"

#include "app/control/control_events.h"
#include "app/control/inventory.h"
#include "app/control/lease.h"
#include "base/require.h"

enum { SURPLUS_AGAIN_MS = 10 * 1000, SURPLUS_MAX = 16 };

static bool is_running(const struct machine *machine)
{
    return machine->state == MACHINE_PENDING || machine->state == MACHINE_RUNNING;
}

static bool heads_is_named(const struct heads *heads, const struct machine *machine)
{
    return str_eq(heads->head_id, machine->id);
}

static bool heads_is_set_up(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-status"), "up-to-date");
}

void heads_init(struct heads *heads)
{
    struct err err;
    if (!journal_get(heads->journal, "head-id", heads->life, &heads->head_id, &err)) {
        heads->head_id = STR(""); /* an unreadable journal is reported elsewhere */
    }
}

bool heads_prefer(const struct heads *heads, const struct machine *machine)
{
    const struct known *head = machine_table_find(heads->machines, HEAD_INSTANCE);
    if (!head || str_eq(head->machine->id, machine->id)) {
        return true;
    }
    if (machine_is_live(machine) != machine_is_live(head->machine)) {
        return machine_is_live(machine);
    }
    if (heads_is_named(heads, machine) != heads_is_named(heads, head->machine)) {
        return heads_is_named(heads, machine);
    }
    if (heads_is_set_up(machine) != heads_is_set_up(head->machine)) {
        return heads_is_set_up(machine);
    }
    return machine->launched_at > head->machine->launched_at;
}

struct naming {
    struct journal *journal;
    struct str id;
};

static bool write_name(struct controller *controller, void *context, struct err *err)
{
    const struct naming *naming = context;
    (void)controller;
    return journal_set(naming->journal, "head-id", naming->id, err);
}

static void heads_on_ended(void *context, const struct provider_answer *answer)
{
    struct controller *controller = call_end(context);
    if (!controller) {
        return;
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        notify_warning(controller_notifier(controller), answer,
                       "cannot terminate a second head: %s", answer->err.text);
    }
    inventory_expedite(controller);
}

static bool may_end(struct heads *heads)
{
    if (lease_is_over(heads->controller)) {
        return false;
    }
    heads->waits_to_end_head = !lease_is_confirmed(heads->controller);
    if (heads->waits_to_end_head) {
        controller_renew(heads->controller); /* the renewal triggers a listing, which tries again */
    }
    return !heads->waits_to_end_head;
}

static void end_surplus(struct heads *heads, const struct str *ids, size_t count)
{
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    int64_t now = loop_now_ms(heads->loop);
    require(count > 0 && count <= SURPLUS_MAX, "there are other heads, at most this many");
    require(heads->surplus_at <= now, "others were reported before now");
    for (size_t i = 0; i < count; i++) {
        require(!str_eq(ids[i], heads->head_id), "the head in use is never terminated");
    }
    bool is_told = heads->surplus_at > 0;
    if (is_told && now < heads->surplus_at + SURPLUS_AGAIN_MS) {
        return;
    }
    if (!may_end(heads)) {
        return;
    }
    if (!is_told) {
        notify_warning(heads->notifier, &answer,
                       "%.*s is a second head, but this cluster uses %.*s; terminating the second "
                       "head",
                       STR_ARG(ids[0]), STR_ARG(heads->head_id));
    }
    heads->surplus_at = now;
    heads->provider->ops->terminate(heads->provider, ids, count, heads_on_ended,
                                    call_begin(heads->calls));
}

/* Two heads are set up and the journal names neither: the user must choose. */
static void tell_doubt(struct heads *heads, struct str one, struct str other)
{
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    if (heads->surplus_at == 0) {
        heads->surplus_at = loop_now_ms(heads->loop);
        notify_warning(heads->notifier, &answer,
                       "%.*s and %.*s are both set up as the head of this cluster; terminate the "
                       "one you do not need",
                       STR_ARG(one), STR_ARG(other));
    }
}

void heads_observe(struct heads *heads, const struct machine *machines, size_t count)
{
    const struct known *kept = machine_table_find(heads->machines, HEAD_INSTANCE);
    struct str surplus[SURPLUS_MAX];
    size_t surplus_count = 0;
    heads->waits_to_end_head = false;
    if (!kept || !machine_is_live(kept->machine)) {
        return;
    }
    bool was_named = heads_is_named(heads, kept->machine);
    if (!was_named && heads->setup->public_key.len == 0) {
        return; /* the service's journal names its own head: this listing is stale */
    }
    for (size_t i = 0; i < count && surplus_count < SURPLUS_MAX; i++) {
        if (!machine_is_head(&machines[i]) || !is_running(&machines[i]) ||
            str_eq(machines[i].id, kept->machine->id)) {
            continue;
        }
        if (!was_named && heads_is_set_up(&machines[i])) {
            tell_doubt(heads, machines[i].id, kept->machine->id);
            return;
        }
        require(surplus_count < SURPLUS_MAX, "there is room for another head");
        surplus[surplus_count++] = arena_str(heads->scratch, machines[i].id);
    }
    if (!was_named) {
        struct naming naming = {heads->journal, arena_str(heads->life, kept->machine->id)};
        if (!journaling_write(heads->journaling, write_name, &naming)) {
            return;
        }
        heads->head_id = naming.id;
    }
    if (surplus_count > 0) {
        end_surplus(heads, surplus, surplus_count);
    }
}
