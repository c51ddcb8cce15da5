/*
 * look.c: listings of the cloud, one at a time, often while machines come or go and rarely when
 * nothing does.
 */
#include "app/control/controller_parts.h"

#include "provider/launch_token.h"

/* ---- machines get numbers ---- */

static bool is_head(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-type"), "head");
}

static bool is_living(const struct machine *machine)
{
    return machine->state != MACHINE_ENDING && machine->state != MACHINE_GONE;
}

/* Of several heads, such as one that was replaced, the living one counts, then the younger. */
static bool is_better_head(const struct controller *controller, const struct machine *machine)
{
    const struct known *head = roster_find(&controller->roster, HEAD_INSTANCE);
    if (!head || str_eq(head->machine->id, machine->id)) {
        return true;
    }
    if (is_living(machine) != is_living(head->machine)) {
        return is_living(machine);
    }
    return machine->launched_at > head->machine->launched_at;
}

struct numbering {
    const struct machine *machines;
    size_t count;
    uint64_t launch;
    uint64_t *instances; /* 0: not known before */
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
                                            controller_wall(controller)};
        if (numbering->launch != 0 && !journal_launched(controller->journal, &launched, err)) {
            return false;
        }
    }
    return numbering->launch == 0 ||
           journal_settle(controller->journal, numbering->launch, OUTCOME_DONE, err);
}

/* Ended, and not by us: by the cloud, by hand, or by somebody who has taken the cluster. */
static void doubt_if_ended(struct controller *controller, uint64_t instance,
                           const struct machine *machine)
{
    const struct node *node = core_find(controller->core, instance);
    if (!is_living(machine) && node && node->state != NODE_TERMINATING &&
        node->state != NODE_GONE && controller->has_listed) {
        lead_doubt(controller);
    }
}

bool look_keep(struct controller *controller, const struct machine *machines, size_t count,
               uint64_t launch, uint64_t *ret_instances)
{
    struct numbering numbering = {machines, count, launch, ret_instances};
    bool has_new = launch != 0;
    for (size_t i = 0; i < count; i++) {
        const struct known *known = roster_find_id(&controller->roster, machines[i].id);
        bool is_a_head = is_head(&machines[i]);
        ret_instances[i] = is_a_head ? HEAD_INSTANCE : known ? known->instance : INSTANCE_NONE;
        has_new = has_new || ret_instances[i] == INSTANCE_NONE;
    }
    if (has_new && !records_write(controller, write_numbers, &numbering)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_a_head = ret_instances[i] == HEAD_INSTANCE;
        if (is_a_head && !is_better_head(controller, &machines[i])) {
            continue;
        }
        if (roster_put(&controller->roster, ret_instances[i], &machines[i], is_a_head,
                       controller_now(controller))) {
            news_changed(controller, ret_instances[i]);
            controller->listing_pause_ms = LISTING_FIRST_MS;
            doubt_if_ended(controller, ret_instances[i], &machines[i]);
        }
        struct known *known = roster_find(&controller->roster, ret_instances[i]);
        if (known->needs_set_up && machines[i].private_ip.len > 0) {
            known->needs_set_up = false;
            news_set_up(controller, known->instance);
        }
    }
    return true;
}

void controller_learn(struct controller *controller, const struct machine *machines, size_t count)
{
    uint64_t *instances = ARENA_ARRAY(&controller->scratch, count, uint64_t);
    (void)!look_keep(controller, machines, count, 0, instances);
    look_soon(controller);
}

/* ---- what the core is told ---- */

uint32_t look_type_of(const struct controller *controller, const struct machine *machine)
{
    const struct core_setup *setup = controller->setup.core;
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

/*
 * The offering it came from. A zone or a market that the file does not have any more counts as the
 * next best of its type. A type that the file does not have is nothing to the core; but when
 * everything is to go, it goes as whatever comes first.
 */
static uint32_t offering_of(const struct controller *controller, const struct machine *machine)
{
    const struct core_settings *settings = &controller->settings;
    uint32_t type = look_type_of(controller, machine);
    uint32_t zone = names_find(settings->names, machine->zone);
    uint32_t best = UINT32_MAX;
    int best_fit = 0;
    for (uint32_t i = 0; i < settings->offering_count; i++) {
        const struct offering *offering = &settings->offerings[i];
        int fit = 1 + (offering->market == machine->market) + 2 * (offering->zone == zone);
        if (offering->type == type && fit > best_fit) {
            best = i;
            best_fit = fit;
        }
    }
    bool must_go = controller->setup.goal == GOAL_DOWN && settings->offering_count > 0;
    return best == UINT32_MAX && must_go ? 0 : best;
}

/*
 * A machine that stands still waits to be used again: to the core there is none, and one that it
 * knows has gone, unless it is just being started, when a listing may be older than that. When
 * everything is to go for good, it must go too.
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
                    !reuse_was_started(controller, node->launch, machine->id));
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
        item->launch = 0;
        if (!launch_number_parse(machine_tag_value(&machines[i], TAG_LAUNCH), &item->launch)) {
            item->launch = 0;
        }
        event.listing.count++;
    }
    event.listing.items = items;
    event.listing.asked_at = asked_at;
    event.listing.is_complete = true;
    controller_tell(controller, &event);
}

/* ---- what a listing does not show ---- */

/* Twice not shown, and nobody waits for it: it is forgotten. */
static bool is_over(void *context, const struct known *known)
{
    const struct controller *controller = context;
    return known->seen_in != controller->listings && known->machine->state == MACHINE_GONE &&
           !known->is_head && !known->has_news && !core_find(controller->core, known->instance);
}

static void notice_absence(struct controller *controller, int64_t asked_at)
{
    roster_drop(&controller->roster, is_over, controller);
    for (size_t i = 0; i < controller->roster.count; i++) {
        struct known *known = &controller->roster.items[i];
        bool must_show = asked_at >= known->since + controller->settings.times.horizon;
        bool is_absent = known->seen_in != controller->listings &&
                         (known->is_head ? must_show
                                         : !core_find(controller->core, known->instance));
        if (is_absent && known->machine->state != MACHINE_GONE) {
            known->machine->state = MACHINE_GONE;
            news_changed(controller, known->instance);
        }
    }
}

/* ---- the pace ---- */

static bool is_busy(const struct controller *controller)
{
    if (controller_now(controller) < controller->expects_until) {
        return true;
    }
    for (size_t i = 0; i < controller->roster.count; i++) {
        const struct known *known = &controller->roster.items[i];
        enum machine_state state = known->machine->state;
        if (state == MACHINE_PENDING || state == MACHINE_STOPPING || state == MACHINE_ENDING ||
            known->needs_set_up) {
            return true;
        }
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        enum node_state state = (enum node_state)core_node_at(controller->core, i)->state;
        if (state == NODE_REQUESTED || state == NODE_LAUNCHING || state == NODE_TERMINATING) {
            return true;
        }
    }
    return false;
}

static int64_t pause_of(const struct controller *controller)
{
    int64_t pause = is_busy(controller) ? controller->listing_pause_ms : LISTING_MS;
    int64_t least = 2 * controller->listing_took_ms; /* of a large cluster: leave room to work */
    if (controller->listing_failures > 0) {
        pause = (int64_t)RETRY_FIRST_MS
                << (controller->listing_failures < 5 ? controller->listing_failures : 5);
    }
    pause = pause > least ? pause : least;
    return pause < LISTING_MS ? pause : LISTING_MS;
}

void look_plan(struct controller *controller)
{
    if (!controller->has_started || controller->is_listing || controller->is_over) {
        return;
    }
    int64_t wait = controller->listed_at + pause_of(controller) - controller_now(controller);
    loop_timer_start(controller->listing_timer, wait > 0 ? wait : 0);
}

/* ---- listings ---- */

static void hear(struct controller *controller, const struct machine *machines, size_t count,
                 int64_t asked_at)
{
    uint64_t *instances = ARENA_ARRAY(&controller->scratch, count, uint64_t);
    int64_t pause = controller->listing_pause_ms * 5 / 4;
    controller->listing_pause_ms = pause < LISTING_MOST_MS ? pause : LISTING_MOST_MS;
    controller->listing_failures = 0;
    if (!controller->has_listed) {
        news_started(controller); /* before what it shows; told when all of it was heard */
    }
    if (!look_keep(controller, machines, count, 0, instances)) {
        return; /* numbers that are not written down are not used */
    }
    controller->has_listed = true;
    controller->listings++;
    for (size_t i = 0; i < count; i++) {
        struct known *known = roster_find(&controller->roster, instances[i]);
        if (known && str_eq(known->machine->id, machines[i].id)) {
            known->seen_in = controller->listings;
        }
    }
    tell_listing(controller, machines, count, instances, asked_at);
    notice_absence(controller, asked_at);
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
    controller->is_listing = false;
    controller->listed_at = controller_now(controller);
    controller->listing_took_ms = controller->listed_at - asked_at;
    if (answer->outcome == OUTCOME_DONE) {
        hear(controller, machines, count, asked_at);
    } else if (controller->listing_failures++ == 0) {
        news_trouble(controller, answer, "listing the machines: %s", answer->err.text);
    }
    if (controller->looks_again) {
        look_now(controller);
    } else {
        look_plan(controller);
    }
}

void look_now(struct controller *controller)
{
    if (!controller->has_started || controller->is_over) {
        return;
    }
    if (controller->is_listing) {
        controller->looks_again = true; /* the one under way was asked for too early */
        return;
    }
    controller->looks_again = false;
    controller->is_listing = true;
    loop_timer_stop(controller->listing_timer);
    controller->provider->ops->list(controller->provider, on_list, call_begin(controller));
}

static void on_timer(void *context)
{
    look_now(context);
}

void look_init(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    controller->listing_timer = loop_timer_new(controller->loop, on_timer, controller);
}

void look_soon(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    look_plan(controller);
}

void controller_look(struct controller *controller)
{
    controller->listing_pause_ms = LISTING_FIRST_MS;
    controller->expects_until = controller_now(controller) + LISTING_EXPECTS_MS;
    look_now(controller);
}
