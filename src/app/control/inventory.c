/*
 * inventory.c: lists the cloud's instances, one listing at a time: often while machines start or
 * terminate, rarely otherwise.
 */
#include "app/control/inventory.h"

#include "app/control/controller_internal.h"
#include "app/control/launch_request.h"
#include "base/require.h"
#include "provider/launch_token.h"

/* ---- instance numbers ---- */

struct numbering {
    const struct machine *machines;
    size_t count;
    uint64_t launch;
    uint64_t *instances; /* INSTANCE_NONE until numbered */
};

static bool write_numbers(struct controller *controller, void *context, struct err *err)
{
    struct numbering *numbering = context;
    for (size_t i = 0; i < numbering->count; i++) {
        uint64_t *instance = &numbering->instances[i];
        bool is_new = *instance == INSTANCE_NONE;
        if (is_new &&
            !journal_number(controller->journal, numbering->machines[i].id, instance, err)) {
            return false;
        }
        struct journal_launched launched = {numbering->launch, *instance,
                                            controller_time_ms(controller)};
        if (numbering->launch != 0 && !journal_launched(controller->journal, &launched, err)) {
            return false;
        }
    }
    return numbering->launch == 0 ||
           journal_settle(controller->journal, numbering->launch, OUTCOME_DONE, err);
}

/* A machine was terminated by the cloud, by hand, or by a new lease holder. */
static void doubt_if_ended(struct controller *controller, uint64_t instance,
                           const struct machine *machine)
{
    const struct node *node = core_find(controller->core, instance);
    if (!machine_is_live(machine) && node && node->state != NODE_TERMINATING &&
        node->state != NODE_GONE && controller->has_listed) {
        lease_recheck(controller);
    }
}

bool inventory_ingest(struct controller *controller, const struct machine *machines, size_t count,
                      uint64_t launch, uint64_t *ret_instances)
{
    struct numbering numbering = {machines, count, launch, ret_instances};
    bool has_new = launch != 0;
    for (size_t i = 0; i < count; i++) {
        const struct known *known = machine_table_find_id(&controller->machine_table,
                                                          machines[i].id);
        bool is_a_head = machine_is_head(&machines[i]);
        ret_instances[i] = is_a_head ? HEAD_INSTANCE : known ? known->instance : INSTANCE_NONE;
        has_new = has_new || ret_instances[i] == INSTANCE_NONE;
    }
    if (has_new && !journaling_write(&controller->journaling, write_numbers, &numbering)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_a_head = ret_instances[i] == HEAD_INSTANCE;
        require(ret_instances[i] != INSTANCE_NONE, "every machine has a number");
        if (is_a_head && !heads_prefer(&controller->heads, &machines[i])) {
            continue;
        }
        if (machine_table_put(&controller->machine_table, ret_instances[i], &machines[i], is_a_head,
                              controller_now(controller))) {
            notify_changed(&controller->notifier, ret_instances[i]);
            controller->listing_pause_ms = LISTING_FIRST_MS;
            doubt_if_ended(controller, ret_instances[i], &machines[i]);
        }
        struct known *known = machine_table_find(&controller->machine_table, ret_instances[i]);
        require(known && known->instance == ret_instances[i], "the machine is in the table");
        require(known->is_head == is_a_head, "the head has its own number");
        if (known->needs_set_up && machines[i].private_ip.len > 0) {
            known->needs_set_up = false;
            notify_set_up(&controller->notifier, known->instance);
        }
    }
    return true;
}

void controller_learn(struct controller *controller, const struct machine *machines, size_t count)
{
    uint64_t *instances = ARENA_ARRAY(&controller->scratch, count, uint64_t);
    if (inventory_ingest(controller, machines, count, 0, instances)) {
        heads_observe(&controller->heads, machines, count);
    }
    inventory_expedite(controller);
}

/* ---- listings for the core ---- */

uint32_t inventory_type_of(const struct core_setup *setup, const struct machine *machine)
{
    struct str name = machine_tag_value(machine, "ray-user-node-type");
    for (uint32_t i = 0; i < setup->settings.type_count; i++) {
        bool is_it = name.len > 0 ? str_eq(setup->facts[i].name, name)
                                  : str_eq(setup->facts[i].machine, machine->type);
        if (is_it) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* The offering a machine came from. If its zone or market is no longer in the file, the closest of
 * its type; if its type is not, OFFERING_GONE. */
static uint32_t offering_of(const struct controller *controller, const struct machine *machine)
{
    const struct core_settings *settings = &controller->settings;
    uint32_t type = inventory_type_of(controller->setup.core, machine);
    uint32_t zone = intern_find(settings->names, machine->zone);
    uint32_t best = OFFERING_GONE;
    int best_fit = 0;
    for (uint32_t i = 0; i < settings->offering_count; i++) {
        const struct offering *offering = &settings->offerings[i];
        int fit = 1 + (offering->market == machine->market) + 2 * (offering->zone == zone);
        if (offering->type == type && fit > best_fit) {
            best = i;
            best_fit = fit;
        }
    }
    return best;
}

/*
 * A stopped or stopping machine waits for reuse: the core sees it as gone or does not see it at
 * all, unless it is being started, when the listing may be stale. When everything is to be
 * terminated, it is reported as running so that it is terminated too.
 */
static bool still_state_of(const struct controller *controller, uint64_t instance,
                           const struct machine *machine, enum cloud_state *ret_state)
{
    const struct node *node = core_find(controller->core, instance);
    bool is_down = controller->setup.goal == GOAL_DOWN;
    if (is_down && !controller->setup.keeps_stopped) {
        *ret_state = CLOUD_RUNNING;
        return true;
    }
    *ret_state = machine->state == MACHINE_STOPPED ? CLOUD_GONE : CLOUD_ENDING;
    return node && (node->state == NODE_TERMINATING ||
                    !reuse_was_started(&controller->reuser, node->launch, machine->id));
}

static bool cloud_state_of(const struct controller *controller, uint64_t instance,
                           const struct machine *machine, enum cloud_state *ret_state)
{
    switch (machine->state) {
    case MACHINE_PENDING:
        *ret_state = CLOUD_PENDING;
        return true;
    case MACHINE_RUNNING:
        *ret_state = CLOUD_RUNNING;
        return true;
    case MACHINE_ENDING:
        *ret_state = CLOUD_ENDING;
        return true;
    case MACHINE_GONE:
        *ret_state = CLOUD_GONE;
        return true;
    case MACHINE_STOPPING:
    case MACHINE_STOPPED:
        return still_state_of(controller, instance, machine, ret_state);
    case MACHINE_STATE_COUNT:
        break;
    }
    return false;
}

/* Was it launched with a different node_config than its type has now? False if unknown. */
static bool inventory_is_outdated(struct controller *controller, const struct machine *machine)
{
    uint32_t type = inventory_type_of(controller->setup.core, machine);
    struct str own = machine_tag_value(machine, TAG_NODE_CONFIG);
    struct err err; /* ignored; a launch reports problems of the file */
    if (controller->settings.keeps_outdated || type == UINT32_MAX || own.len == 0 ||
        (!controller->config_hashes &&
         !launch_config_hashes(controller->setup.config, &controller->life,
                               &controller->config_hashes, &err))) {
        return false;
    }
    struct str now = controller->config_hashes[type];
    return !str_eq(own, now);
}

static void tell_listing(struct controller *controller, const struct machine *machines,
                         size_t count, const uint64_t *instances, int64_t asked_at)
{
    struct listed *items = ARENA_ARRAY(&controller->scratch, count, struct listed);
    struct event event = controller_event(controller, EVENT_LISTING);
    for (size_t i = 0; i < count; i++) {
        struct listed *item = &items[event.listing.count];
        if (instances[i] == HEAD_INSTANCE ||
            !cloud_state_of(controller, instances[i], &machines[i], &item->state)) {
            continue;
        }
        item->instance = instances[i];
        item->offering = offering_of(controller, &machines[i]);
        require(item->offering == OFFERING_GONE ||
                    item->offering < controller->settings.offering_count,
                "an offering of the file, or none");
        item->is_outdated = inventory_is_outdated(controller, &machines[i]);
        item->price = core_setup_price(controller->setup.core, &machines[i]);
        item->launch = 0;
        if (!launch_number_parse(machine_tag_value(&machines[i], TAG_LAUNCH), &item->launch)) {
            item->launch = 0;
        }
        event.listing.count++;
    }
    require(event.listing.count <= count, "the core sees not more machines than were listed");
    require(asked_at <= event.at, "the listing was requested before now");
    event.listing.items = items;
    event.listing.asked_at = asked_at;
    event.listing.is_complete = true;
    controller_apply(controller, &event);
}

/* ---- absent machines ---- */

/* Absent from a second listing and not in use: drop it. */
static bool inventory_is_over(void *context, const struct known *known)
{
    const struct controller *controller = context;
    return known->seen_in != controller->listings && known->machine->state == MACHINE_GONE &&
           !known->is_head && !known->has_change && !core_find(controller->core, known->instance);
}

static void notice_absence(struct controller *controller, int64_t asked_at)
{
    machine_table_drop(&controller->machine_table, inventory_is_over, controller);
    for (size_t i = 0; i < controller->machine_table.count; i++) {
        struct known *known = &controller->machine_table.items[i];
        require(known->seen_in <= controller->listings, "a machine is in listings of the past");
        require(known->since <= controller_now(controller), "a machine was first seen before now");
        bool must_show = asked_at >= known->since + controller->settings.times.horizon;
        bool is_absent = known->seen_in != controller->listings &&
                         (known->is_head ? must_show
                                         : !core_find(controller->core, known->instance));
        if (is_absent && known->machine->state != MACHINE_GONE) {
            known->machine->state = MACHINE_GONE;
            notify_changed(&controller->notifier, known->instance);
        }
    }
}

/* ---- leftovers ---- */

static void on_left_ended(void *context, const struct provider_answer *answer)
{
    struct controller *controller = call_end(context);
    if (!controller) {
        return;
    }
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        notify_warning(&controller->notifier, answer,
                       "cannot terminate a worker that shut itself down: %s", answer->err.text);
    }
    inventory_expedite(controller);
}

/* EC2 terminates a worker that shuts itself down. Other clouds only stop it. */
static void inventory_end_left(struct controller *controller, const struct machine *machines,
                               size_t count)
{
    struct str *ids = ARENA_ARRAY(&controller->scratch, count, struct str);
    int64_t now = controller_now(controller);
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (machines[i].is_left) {
            ids[left++] = machines[i].id;
        }
    }
    bool was_asked = controller->left_at > 0 && now < controller->left_at + LEFT_AGAIN_MS;
    if (left > 0 && !was_asked && !lease_is_over(controller)) {
        controller->left_at = now;
        controller->provider->ops->terminate(controller->provider, ids, left, on_left_ended,
                                             call_begin(&controller->calls));
    }
}

/* ---- interval ---- */

/* The answer of a launch in flight has its instances: no listing has to find them. */
static bool inventory_awaits(const struct controller *controller, uint64_t launch)
{
    const struct call *call = controller->calls.open;
    while (call && call->launch != launch) {
        call = call->next;
    }
    return call != NULL;
}

static bool is_busy(const struct controller *controller)
{
    if (controller_now(controller) < controller->expects_until) {
        return true;
    }
    for (size_t i = 0; i < controller->machine_table.count; i++) {
        const struct known *known = &controller->machine_table.items[i];
        enum machine_state state = known->machine->state;
        if (state == MACHINE_PENDING || state == MACHINE_STOPPING || state == MACHINE_ENDING ||
            known->needs_set_up) {
            return true;
        }
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        enum node_state state = (enum node_state)node->state;
        if ((state == NODE_LAUNCHING && !inventory_awaits(controller, node->launch)) ||
            state == NODE_TERMINATING) {
            return true;
        }
    }
    return false;
}

static int64_t pause_of(const struct controller *controller)
{
    int64_t pause = is_busy(controller) ? controller->listing_pause_ms : LISTING_MS;
    int64_t least = 2 * controller->listing_took_ms; /* leave time for work in a large cluster */
    if (controller->listing_failures > 0) {
        pause = (int64_t)RETRY_FIRST_MS
                << (controller->listing_failures < 5 ? controller->listing_failures : 5);
    }
    pause = pause > least ? pause : least;
    require(pause > 0, "there is a pause between two listings");
    return pause < LISTING_MS ? pause : LISTING_MS;
}

void inventory_schedule(struct controller *controller)
{
    if (!controller->has_started || controller->is_listing || controller->is_over) {
        return;
    }
    int64_t wait = controller->listed_at + pause_of(controller) - controller_now(controller);
    loop_timer_start(controller->listing_timer, wait > 0 ? wait : 0);
}

/* ---- listings ---- */

static void inventory_handle(struct controller *controller, const struct machine *machines,
                             size_t count, int64_t asked_at)
{
    uint64_t *instances = ARENA_ARRAY(&controller->scratch, count, uint64_t);
    int64_t pause = controller->listing_pause_ms * 5 / 4;
    controller->listing_pause_ms = pause < LISTING_MOST_MS ? pause : LISTING_MOST_MS;
    require(controller->listing_pause_ms >= LISTING_FIRST_MS, "pauses grow from the first one");
    controller->listing_failures = 0;
    if (!controller->has_listed) {
        notify_started(
            &controller->notifier); /* queued first, delivered after this listing was applied */
    }
    if (!inventory_ingest(controller, machines, count, 0, instances)) {
        return; /* numbers that are not journaled must not be used */
    }
    controller->has_listed = true;
    controller->listings++;
    for (size_t i = 0; i < count; i++) {
        struct known *known = machine_table_find(&controller->machine_table, instances[i]);
        if (known && str_eq(known->machine->id, machines[i].id)) {
            known->seen_in = controller->listings;
        }
    }
    heads_observe(&controller->heads, machines, count);
    tell_listing(controller, machines, count, instances, asked_at);
    notice_absence(controller, asked_at);
    inventory_end_left(controller, machines, count);
}

static void on_list(void *context, const struct provider_answer *answer,
                    const struct machine *machines, size_t count)
{
    struct call *call = context;
    int64_t asked_at = call->asked_at;
    struct controller *controller = call_end(call);
    if (!controller || controller->is_over) {
        return;
    }
    require(controller->is_listing, "one listing at a time");
    require(controller->has_started, "there are no listings before the start");
    controller->is_listing = false;
    controller->listed_at = controller_now(controller);
    controller->listing_took_ms = controller->listed_at - asked_at;
    require(controller->listing_took_ms >= 0, "a listing takes time");
    if (answer->outcome == OUTCOME_DONE) {
        inventory_handle(controller, machines, count, asked_at);
    } else if (controller->listing_failures++ == 0) {
        notify_warning(&controller->notifier, answer, "cannot list the instances: %s",
                       answer->err.text);
    }
    if (controller->lists_again) {
        inventory_refresh(controller);
    } else {
        inventory_schedule(controller);
    }
}

void inventory_refresh(struct controller *controller)
{
    if (!controller->has_started || controller->is_over) {
        return;
    }
    if (controller->is_listing) {
        controller->lists_again = true; /* the one in flight started too early */
        return;
    }
    controller->lists_again = false;
    controller->is_listing = true;
    loop_timer_stop(controller->listing_timer);
    controller->provider->ops->list(controller->provider, on_list, call_begin(&controller->calls));
}

static void inventory_on_timer(void *context)
{
    inventory_refresh(context);
}

void inventory_init(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    controller->listing_timer = loop_timer_new(controller->loop, inventory_on_timer, controller);
}

void inventory_expedite(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    inventory_schedule(controller);
}

void controller_refresh(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    controller->expects_until = controller_now(controller) + LISTING_EXPECTS_MS;
    inventory_refresh(controller);
}
