/*
 * decide.c: runs the planner and turns its plan into launches and terminations.
 *
 * The planner sees the nodes that offer resources now or soon. Departing nodes offer nothing but
 * still count, so they reduce the limits. A type that is not available now has no room, so the
 * planner chooses another.
 */
#include "base/require.h"
#include "core/live/node_facts.h"

#include <string.h>

struct draft {
    struct core *core;
    struct plan_input input;
    uint32_t *positions;       /* by plan node: its position in the table */
    struct role_counts *types; /* node counts, including those that this decision adds */
    struct role_counts all;
    int64_t price;
    int64_t *taking_over; /* by type: launches for displaced work; or NULL */
    bool takes_over;      /* such launches were made */
    bool leaves_out_full; /* nodes on which nothing fits are only counted */
    struct hold *holds;   /* capacity for every launch and every cause */
    size_t hold_count, hold_capacity;
};

static int64_t decide_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A time that has passed is not worth a decision: what is blocked now waits for an event. */
static void decide_by(struct core *core, int64_t at)
{
    if (at > core->now) {
        core->decide_at = decide_least(core->decide_at, at);
    }
}

/* A node that has just joined is not idle: the work it was launched for may still arrive. */
static int64_t idle_time(struct core *core, const struct node *node, uint32_t type)
{
    int64_t timeout = idle_timeout_of(core, type);
    if (node->state != NODE_IDLE || timeout == PLAN_NO_LIMIT) {
        return 0;
    }
    int64_t from = idle_counts_from(core, node);
    if (core->now < from) {
        decide_by(core, from);
        return 0;
    }
    int64_t idle = core->ray_seen_at - node->idle_since;
    if (idle <= timeout) { /* only a view of Ray proves that the timeout has passed */
        core->idle_over_at = decide_least(core->idle_over_at, node->idle_since + timeout + 1);
    }
    return idle > 0 ? idle : 0;
}

/* Fills in one node for the planner on demand: copying all of them would be expensive. */
static void describe_node(void *context, size_t index, struct plan_node *ret_node)
{
    struct draft *draft = context;
    require(index < draft->input.node_count, "the planner asks for a node that it was given");
    struct core *core = draft->core;
    const struct node *node = &core->nodes[draft->positions[index]];
    uint32_t type = node_type(core, node);
    *ret_node = (struct plan_node){.type = type,
                                   .is_head = node->is_head,
                                   .is_running = node->is_head ||
                                                 node_state_table[node->state].is_running,
                                   .launch_hash = NAME_NONE,
                                   .idle_ms = idle_time(core, node, type),
                                   .capacities = node->capacities,
                                   .capacity_count = node->capacity_count,
                                   .labels = {node->labels, node->label_count}};
}

/* Are all limits respected, now and after filling up min_workers? */
static bool is_within_limits(const struct draft *draft)
{
    const struct core_settings *settings = draft->core->settings;
    int64_t all = 0;
    for (size_t i = 0; i < settings->type_count; i++) {
        const struct plan_type *type = &settings->types[i];
        int64_t given = role_counts_offering(&draft->types[i]);
        int64_t most = given > type->min_nodes ? given : type->min_nodes;
        if (type->max_nodes != PLAN_NO_LIMIT && most > type->max_nodes) {
            return false;
        }
        all += most;
    }
    return all <= settings->max_workers;
}

static void decide_count_nodes(struct draft *draft, struct arena *scratch)
{
    struct core *core = draft->core;
    size_t type_count = core->settings->type_count;
    node_counts_update(core);
    decide_by(core, core->rested_at);
    draft->types = ARENA_ARRAY(scratch, type_count, struct role_counts);
    memcpy(draft->types, core->tallies, type_count * sizeof(*draft->types));
    draft->all = core->all;
    draft->price = core->price;
    draft->leaves_out_full = draft->leaves_out_full && is_within_limits(draft);
    require(role_counts_offering(&draft->all) + draft->all.counts[ROLE_OTHER] <=
                (int64_t)core->used_nodes,
            "the counted nodes exist");
}

static bool is_given(const struct draft *draft, enum role role)
{
    return role == ROLE_HEAD || role == ROLE_PENDING || role == ROLE_RUNNING ||
           (role == ROLE_FULL && !draft->leaves_out_full);
}

static void give_nodes(struct draft *draft, struct arena *scratch)
{
    struct core *core = draft->core;
    size_t most = (size_t)role_counts_offering(&draft->all) + 1;
    most -= draft->leaves_out_full ? (size_t)draft->all.counts[ROLE_FULL] : 0;
    draft->positions = ARENA_ARRAY(scratch, most, uint32_t);
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (is_given(draft, (enum role)core->marks[i].role)) {
            require(draft->input.node_count < most, "the number of nodes agrees with the roles");
            draft->positions[draft->input.node_count++] = i;
        }
    }
    draft->input.node_at = describe_node;
    draft->input.node_context = draft;
    if (draft->leaves_out_full) {
        int64_t *full = ARENA_ARRAY(scratch, core->settings->type_count, int64_t);
        for (size_t i = 0; i < core->settings->type_count; i++) {
            full[i] = draft->types[i].counts[ROLE_FULL];
        }
        draft->input.full_nodes = full;
    }
}

/* Departing nodes reduce the room for launches; nodes are terminated only if the planner's nodes
 * alone exceed the limit. */
static int64_t narrow(int64_t limit, const struct role_counts *tally)
{
    int64_t room = limit - tally->counts[ROLE_OTHER];
    if (limit == PLAN_NO_LIMIT) {
        return limit;
    }
    return role_counts_offering(tally) <= room ? room
                                               : decide_least(role_counts_offering(tally), limit);
}

/* There is a price limit, and the price of this offering or of what runs is unknown. */
static bool is_priceless(const struct core *core, uint32_t offering)
{
    return core->settings->max_price != PLAN_NO_LIMIT &&
           (core->settings->offerings[offering].price == PRICE_UNKNOWN || core->unpriced > 0 ||
            core->settings->has_unpriced_head);
}

/* The first offering of a type that may be tried now, or the offering count if none. Offerings with
 * recent interruptions come last, but are used if there is no other. */
uint32_t decide_open_offering(const struct core *core, uint32_t type)
{
    uint32_t count = (uint32_t)core->settings->offering_count;
    uint32_t warned = count;
    if (type_is_paused(core, type)) {
        return count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (core->settings->offerings[i].type != type ||
            breaker_is_open(&core->offering_breakers[i], core->now) || is_priceless(core, i)) {
            continue;
        }
        if (!breaker_is_open(&core->offering_warnings[i], core->now)) {
            return i;
        }
        warned = warned < count ? warned : i;
    }
    return warned;
}

/* Sets current prices and limits. A type that is not available now has no room. */
static void fit_type(struct draft *draft, uint32_t number)
{
    struct core *core = draft->core;
    const struct plan_type *written = &core->settings->types[number];
    const struct role_counts *tally = &draft->types[number];
    struct plan_type *type = &core->types[number];
    uint32_t offering = decide_open_offering(core, number);
    type->max_nodes = narrow(written->max_nodes, tally);
    type->min_nodes = written->min_nodes;
    if (offering < core->settings->offering_count) {
        type->price = core->settings->offerings[offering].price;
    } else {
        int64_t present = role_counts_offering(tally);
        bool is_more = written->max_nodes != PLAN_NO_LIMIT && present > written->max_nodes;
        type->price = PRICE_UNKNOWN;
        type->max_nodes = is_more ? written->max_nodes : present;
        type->min_nodes = decide_least(written->min_nodes, present);
    }
    require(type->max_nodes == PLAN_NO_LIMIT || type->max_nodes >= 0,
            "the limit of a type is not negative");
    require(type->max_nodes == PLAN_NO_LIMIT || written->max_nodes == PLAN_NO_LIMIT ||
                type->max_nodes <= written->max_nodes,
            "the limit of the file holds");
    /* To the planner the head is a node of its type, but max_workers excludes it. */
    if (core->settings->head_instance != INSTANCE_NONE && number == core->settings->head_type &&
        type->max_nodes != PLAN_NO_LIMIT) {
        type->max_nodes++;
        type->min_nodes += core->settings->min_excludes_head;
    }
}

static int64_t paused_until(const struct core *core, uint32_t type)
{
    int64_t set_ups = core->type_breakers[type].cool_until;
    int64_t deaths = core->type_deaths[type].cool_until;
    return set_ups > deaths ? set_ups : deaths;
}

static void fit_types(struct draft *draft)
{
    struct core *core = draft->core;
    for (uint32_t i = 0; i < core->settings->type_count; i++) {
        fit_type(draft, i);
    }
    for (size_t i = 0; i < core->settings->offering_count; i++) {
        if (breaker_is_open(&core->offering_breakers[i], core->now)) {
            decide_by(core, core->offering_breakers[i].cool_until);
        }
    }
    for (size_t i = 0; i < core->settings->type_count; i++) {
        if (type_is_paused(core, (uint32_t)i)) {
            decide_by(core, paused_until(core, (uint32_t)i));
        }
    }
}

static void draft_input(struct draft *draft, struct arena *scratch)
{
    struct core *core = draft->core;
    const struct core_settings *settings = core->settings;
    bool sees_ray = ray_view_is_fresh(core);
    struct displaced all = {0};
    if (sees_ray) {
        evictions_gather(core, scratch, &all);
    }
    draft->input = (struct plan_input){
        .strategy = settings->strategy,
        .work_budget = settings->work_budget,
        .names = settings->names,
        .types = core->types,
        .type_count = settings->type_count,
        .demands = all.demands,
        .demand_count = all.count,
        .gangs = sees_ray ? core->load.gangs : NULL,
        .gang_count = sees_ray ? core->load.gang_count : 0,
        .constraint = sees_ray ? core->load.constraint : NULL,
        .constraint_count = sees_ray ? core->load.constraint_count : 0,
        .idle_timeout_ms = core->ending == PERMIT_OK ? settings->idle_timeout : PLAN_NO_LIMIT,
        .conserves_gpus = settings->conserves_gpus};
    draft->leaves_out_full = sees_ray && draft->input.constraint_count == 0 && !all.is_any;
    decide_count_nodes(draft, scratch);
    give_nodes(draft, scratch);
    fit_types(draft);
    draft->input.max_nodes = narrow(settings->max_workers, &draft->all) +
                             (settings->head_instance != INSTANCE_NONE);
}

static int64_t taken(const struct role_counts *tally)
{
    return role_counts_offering(tally) + tally->counts[ROLE_OTHER];
}

static void decide_hold(struct draft *draft, uint32_t type, int64_t count, enum hold_cause cause)
{
    if (count > 0) {
        int64_t limit = cause == HOLD_STOPPED ? STRIKES : 0;
        require(draft->hold_count < draft->hold_capacity, "the held launches fit");
        require(type < draft->core->settings->type_count && cause < HOLD_CAUSE_COUNT,
                "a launch is held for a type and a cause");
        draft->holds[draft->hold_count++] = (struct hold){type, count, cause, limit};
    }
}

/* Holds back the launches beyond `most`. */
static int64_t hold_beyond(struct draft *draft, uint32_t type, int64_t count, int64_t most,
                           enum hold_cause cause)
{
    most = most > 0 ? most : 0;
    require(count >= 0, "the number of launches is not negative");
    decide_hold(draft, type, count - most, cause);
    return decide_least(count, most);
}

/* How many of the planned instances may be requested now. The ramp applies to demand only; explicit
 * requests of the user are launched at once. */
static int64_t room_for(struct draft *draft, const struct plan_launch *planned)
{
    const struct core *core = draft->core;
    const struct core_settings *settings = core->settings;
    uint32_t type = planned->type;
    const struct role_counts *tally = &draft->types[type];
    int64_t most = settings->max_workers - taken(&draft->all);
    if (settings->types[type].max_nodes != PLAN_NO_LIMIT) {
        most = decide_least(most, settings->types[type].max_nodes - taken(tally));
    }
    most = decide_least(most, (int64_t)settings->node_capacity - core->used_nodes);
    int64_t count = hold_beyond(draft, type, planned->count, most, HOLD_ROOM);
    int64_t failed = core->type_breakers[type].refusals;
    if (failed > 0 && !core->type_works[type]) {
        int64_t trials = STRIKES - failed - tally->counts[ROLE_PENDING];
        /* The setup of the head may fail for the same cause. */
        count = hold_beyond(draft, type, count, core->head == HEAD_UP ? trials : 0, HOLD_TRIAL);
    }
    if (settings->upscaling_permille != PLAN_NO_LIMIT) {
        int64_t running = tally->counts[ROLE_RUNNING] + tally->counts[ROLE_FULL];
        int64_t ramp = (settings->upscaling_permille * running + 999) / 1000;
        int64_t free = (ramp > 1 ? ramp : 1) - tally->counts[ROLE_PENDING];
        int64_t asked = planned->count_by_cause[LAUNCH_MIN_NODES] +
                        planned->count_by_cause[LAUNCH_CONSTRAINT];
        count = hold_beyond(draft, type, count, asked + (free > 0 ? free : 0), HOLD_RAMP);
    }
    return count;
}

static int64_t affordable(struct draft *draft, const struct offering *offering, int64_t count)
{
    int64_t most = draft->core->settings->max_price;
    if (most == PLAN_NO_LIMIT) {
        return count;
    }
    return offering->price == 0 ? count
                                : hold_beyond(draft, offering->type, count,
                                              (most - draft->price) / offering->price, HOLD_PRICE);
}

/* Takes `count` from the causes, in order. */
static void share_causes(struct plan_launch *launch, int64_t count, int64_t *ret_by_cause)
{
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        int64_t part = decide_least(count, launch->count_by_cause[i]);
        launch->count_by_cause[i] -= part;
        ret_by_cause[i] = part;
        count -= part;
        require(part >= 0 && count >= 0, "no cause gets more nodes than were requested");
    }
}

/* Launches that replace departing nodes come first. */
static void note_take_over(struct draft *draft, uint32_t type, struct action *action)
{
    if (!draft->taking_over || draft->taking_over[type] <= 0) {
        return;
    }
    int64_t count = decide_least(action->count_by_cause[LAUNCH_DEMAND], draft->taking_over[type]);
    if (count > 0) {
        struct departing departing = evictions_departing(draft->core, type);
        draft->taking_over[type] -= count;
        require(draft->taking_over[type] >= 0, "no more launches replace nodes than planned");
        draft->takes_over = true;
        action->instance = departing.first;
        action->reason.amount = count;
        action->reason.limit = departing.count;
    }
}

static bool launch_once(struct draft *draft, struct plan_launch *planned, uint32_t offering,
                        int64_t count)
{
    require(count > 0 && count <= draft->core->settings->max_per_call,
            "a call launches at most max_per_call");
    require(offering < draft->core->settings->offering_count,
            "the offering is in the cluster file");
    require(draft->core->settings->offerings[offering].type == planned->type,
            "the offering has the type of the launch");
    require(draft->core->launching == PERMIT_OK, "launching is permitted");
    struct core *core = draft->core;
    if (core->launch_count == LAUNCH_CAPACITY || api_breaker_blocks(core)) {
        decide_by(core, core->trouble.is_probing ? INT64_MAX : core->trouble.retry_at);
        return false;
    }
    struct action *action = actions_add(core, ACTION_LAUNCH,
                                        (struct reason){.kind = REASON_NEEDED});
    if (!action) {
        return false;
    }
    uint64_t number = launches_next_number(core);
    struct launch *launch = launches_open(core, number, offering, count);
    share_causes(planned, count, launch->count_by_cause);
    launch->is_asked = true;
    action->launch = number;
    action->offering = offering;
    action->count = count;
    memcpy(action->count_by_cause, launch->count_by_cause, sizeof(action->count_by_cause));
    note_take_over(draft, planned->type, action);
    draft->types[planned->type].counts[ROLE_PENDING] += count;
    draft->all.counts[ROLE_PENDING] += count;
    draft->price += count * core->settings->offerings[offering].price;
    require(taken(&draft->all) <= core->settings->max_workers, "never more nodes than max_workers");
    require(core->settings->types[planned->type].max_nodes == PLAN_NO_LIMIT ||
                taken(&draft->types[planned->type]) <=
                    core->settings->types[planned->type].max_nodes,
            "never more nodes of a type than its max_workers");
    require(core->settings->max_price == PLAN_NO_LIMIT ||
                core->settings->offerings[offering].price == 0 ||
                draft->price <= core->settings->max_price,
            "never more expensive than max_price");
    api_breaker_note_call(core);
    return true;
}

/* Why a type has no open offering. */
static enum hold_cause closed_by(const struct core *core, uint32_t type)
{
    if (type_is_stopped(core, type)) {
        return HOLD_STOPPED;
    }
    for (uint32_t i = 0; i < core->settings->offering_count; i++) {
        if (core->settings->offerings[i].type == type && is_priceless(core, i)) {
            return HOLD_PRICE_UNKNOWN;
        }
    }
    return HOLD_UNAVAILABLE;
}

static void decide_launch(struct draft *draft, const struct plan_launch *planned)
{
    const struct core_settings *settings = draft->core->settings;
    struct plan_launch rest = *planned;
    uint32_t offering = decide_open_offering(draft->core, rest.type);
    if (draft->core->launching != PERMIT_OK || offering == settings->offering_count) {
        bool is_blind = draft->core->launching != PERMIT_OK;
        decide_hold(draft, rest.type, rest.count,
                    is_blind ? HOLD_PERMISSION : closed_by(draft->core, rest.type));
        return;
    }
    int64_t left = room_for(draft, &rest);
    left = affordable(draft, &settings->offerings[offering], left);
    require(left <= planned->count, "no more nodes are launched than planned");
    while (left > 0) {
        int64_t count = decide_least(left, launches_most(draft->core, offering));
        if (launches_is_probing(draft->core, offering) ||
            !launch_once(draft, &rest, offering, count)) {
            decide_hold(draft, rest.type, left, HOLD_TROUBLE);
            return;
        }
        left -= count;
    }
}

/* Reports a type that is unavailable and therefore below its minimum. */
static void hold_closed(struct draft *draft)
{
    const struct core *core = draft->core;
    for (uint32_t i = 0; i < core->settings->type_count; i++) {
        int64_t missing = core->settings->types[i].min_nodes -
                          role_counts_offering(&draft->types[i]);
        if (decide_open_offering(core, i) == core->settings->offering_count) {
            decide_hold(draft, i, missing, closed_by(core, i));
        }
    }
}

/* ---- refusals ---- */

static int64_t next_try(const struct core *core, uint32_t type)
{
    const struct core_settings *settings = core->settings;
    int64_t until = INT64_MAX;
    if (type_is_paused(core, type)) {
        return paused_until(core, type);
    }
    for (uint32_t i = 0; i < settings->offering_count; i++) {
        if (settings->offerings[i].type == type && !is_priceless(core, i)) {
            until = decide_least(until, core->offering_breakers[i].cool_until);
        }
    }
    return until == INT64_MAX ? core->now : until;
}

/* To the planner an unavailable type is full; refines the reason for users. */
static void decide_explain(const struct core *core, struct refusal *refusal)
{
    const struct core_settings *settings = core->settings;
    bool is_by_limit = refusal->cause == REFUSED_TYPE_LIMIT || refusal->cause == REFUSED_TOGETHER;
    if (!is_by_limit || refusal->type >= settings->type_count ||
        decide_open_offering(core, refusal->type) != settings->offering_count) {
        return;
    }
    enum hold_cause cause = closed_by(core, refusal->type);
    if (cause == HOLD_STOPPED) {
        refusal->cause = REFUSED_STOPPED;
        refusal->limit = STRIKES;
    } else {
        refusal->cause = cause == HOLD_PRICE_UNKNOWN ? REFUSED_PRICE_UNKNOWN : REFUSED_UNAVAILABLE;
        refusal->limit = next_try(core, refusal->type) - core->now;
    }
}

static void decide_explain_all(const struct core *core, struct plan *plan)
{
    for (size_t i = 0; i < plan->unmet_count; i++) {
        decide_explain(core, &plan->unmet[i].refusal);
    }
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        decide_explain(core, &plan->unmet_gangs[i].refusal);
    }
    if (plan->is_constraint_unmet) {
        decide_explain(core, &plan->constraint_refusal);
    }
}

static struct reason end_reason(const struct plan_end *end)
{
    require(end->cause <= END_IDLE, "the cause of the termination is valid");
    static const uint8_t kinds[] = {[END_NONE] = REASON_IDLE,
                                    [END_OUTDATED] = REASON_OUTDATED,
                                    [END_MAX_OF_TYPE] = REASON_TYPE_LIMIT,
                                    [END_MAX_NODES] = REASON_CLUSTER_LIMIT,
                                    [END_IDLE] = REASON_IDLE};
    return (struct reason){.kind = kinds[end->cause], .amount = end->idle_ms, .limit = end->limit};
}

static void decide_end(struct draft *draft, const struct plan_end *end)
{
    require(end->node < draft->input.node_count, "the planner terminates only nodes of its input");
    struct core *core = draft->core;
    struct node *node = &core->nodes[draft->positions[end->node]];
    struct reason reason = end_reason(end);
    require(!node->is_head, "the planner never terminates the head");
    if (node_state_table[node->state].is_pending) {
        if (node->instance != INSTANCE_NONE) {
            node_end(core, node, NODE_TERMINATING, reason);
        }
        return;
    }
    node_end(core, node, NODE_DRAINING, reason);
    node->is_drain_ours = end->cause == END_IDLE;
    node->until = core->now + core->settings->times.drain_grace;
}

/* The number of pending requests equal to this one. */
static int64_t waiting_like(const struct ray_load *load, uint32_t demand)
{
    int64_t count = 0;
    for (size_t i = demand; i < load->demand_count; i++) {
        if (request_same(&load->demands[i].request, &load->demands[demand].request)) {
            count += load->demands[i].count;
        }
    }
    return count;
}

/* Readers of the plan know only the load: removes refusals of displaced work. */
static void forget_displaced(const struct core *core, struct plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->unmet_count; i++) {
        struct plan_unmet unmet = plan->unmet[i];
        int64_t waiting = waiting_like(&core->load, unmet.demand);
        unmet.count = decide_least(unmet.count, waiting);
        if (waiting > 0) {
            plan->unmet[kept++] = unmet;
        }
    }
    plan->unmet_count = kept;
}

bool decide_is_due(const struct core *core)
{
    return core->is_changed || core->now >= core->decide_at ||
           permission_to_launch(core) != core->launching ||
           permission_to_terminate(core) != core->ending;
}

void decide(struct core *core, struct arena *scratch, struct core_answer *answer)
{
    struct draft draft = {.core = core};
    core->launching = permission_to_launch(core);
    core->ending = permission_to_terminate(core);
    core->is_changed = false;
    core->decide_at = INT64_MAX;
    core->idle_over_at = INT64_MAX;
    if (core->launching != PERMIT_OK && core->ending != PERMIT_OK) {
        return;
    }
    if (core->ending == PERMIT_OK) {
        outdated_end(core);
    }
    draft_input(&draft, scratch);
    plan_decide(&draft.input, scratch, &answer->plan);
    answer->is_decision = true;
    require(answer->plan.launch_count <= core->settings->type_count,
            "there is at most one launch per node type");
    require(answer->plan.end_count <= draft.input.node_count,
            "each node is terminated at most once");
    for (size_t i = 0; i < answer->plan.end_count && core->ending == PERMIT_OK; i++) {
        decide_end(&draft, &answer->plan.ends[i]);
    }
    draft.hold_capacity = answer->plan.launch_count * HOLD_CAUSE_COUNT + core->settings->type_count;
    draft.holds = ARENA_ARRAY(scratch, draft.hold_capacity, struct hold);
    bool is_any_displaced = draft.input.demand_count > core->load.demand_count;
    if (is_any_displaced && answer->plan.launch_count > 0) {
        draft.taking_over = evictions_launches(core, &draft.input, &answer->plan, scratch);
    }
    for (size_t i = 0; i < answer->plan.launch_count; i++) {
        decide_launch(&draft, &answer->plan.launches[i]);
    }
    if (draft.takes_over) {
        evictions_mark_replaced(core);
    }
    hold_closed(&draft);
    answer->holds = draft.holds;
    answer->hold_count = draft.hold_count;
    if (is_any_displaced) {
        forget_displaced(core, &answer->plan);
    }
    decide_explain_all(core, &answer->plan);
    if (core->ending == PERMIT_OK && core->launching == PERMIT_OK) {
        outdated_give_turn(core, draft.holds, draft.hold_count);
    }
    /* The effects of this decision are no reason to decide again. */
    core->is_changed = false;
}
