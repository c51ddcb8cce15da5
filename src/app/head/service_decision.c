/*
 * service_decision.c: why demand is pending, from the state of Ray and the last decision.
 *
 * A decision points into memory of its step, so the parts needed later are copied. Only unmet
 * requests are copied, which are few however many are pending.
 */
#include "app/head/service_decision.h"

#include "app/head/explain/pending_reason.h"
#include "io/xalloc.h"

#include <string.h>

enum { INFEASIBLE_MAX = 16 }; /* reported individually */

struct unmet_note {
    uint32_t index;
    int64_t count;
    struct refusal refusal;    /* for demands the index identifies the request */
    struct pending_reason why; /* reason for gangs and the constraint */
};

struct last_decision {
    struct head_context *head;
    const struct launch_failures *failures;
    struct ray_load load; /* latest load, in memory of the Ray view */
    uint64_t load_number;
    struct arena memory; /* memory of the following fields */
    uint64_t judged;     /* load_number of the load it was made for; 0 if none */
    int64_t wall_ms;     /* time of the decision */
    enum permission launching, ending;
    bool has_stance;
    struct unmet_note *demands, *gangs;
    size_t demand_count, gang_count;
    bool is_constraint_unmet;
    struct unmet_note constraint;
    struct hold *holds;
    size_t hold_count;
};

struct last_decision *decision_open(struct head_context *head,
                                    const struct launch_failures *failures)
{
    struct last_decision *decision = HEAP_NEW(struct last_decision);
    decision->head = head;
    decision->failures = failures;
    arena_init(&decision->memory);
    return decision;
}

void decision_close(struct last_decision *decision)
{
    if (decision) {
        arena_clear(&decision->memory);
        free(decision);
    }
}

void decision_note_load(struct last_decision *decision, const struct ray_load *load)
{
    decision->load = *load;
    decision->load_number++;
}

/* ---- the last decision ---- */

static struct pending_reason why(const struct last_decision *decision,
                                 const struct refusal *refusal, struct arena *arena)
{
    return pending_refused(&decision->head->core.settings, refusal,
                           launch_failures_text(decision->failures), arena);
}

static void copy_unmet(struct last_decision *decision, const struct plan *plan)
{
    struct arena *memory = &decision->memory;
    decision->demands = ARENA_ARRAY(memory, plan->unmet_count, struct unmet_note);
    decision->demand_count = plan->unmet_count;
    for (size_t i = 0; i < plan->unmet_count; i++) {
        const struct plan_unmet *unmet = &plan->unmet[i];
        decision->demands[i] = (struct unmet_note){
            .index = unmet->demand, .count = unmet->count, .refusal = unmet->refusal};
    }
    decision->gangs = ARENA_ARRAY(memory, plan->unmet_gang_count, struct unmet_note);
    decision->gang_count = plan->unmet_gang_count;
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        const struct plan_unmet_gang *unmet = &plan->unmet_gangs[i];
        decision->gangs[i] = (struct unmet_note){.index = unmet->gang,
                                                 .count = 1,
                                                 .refusal = unmet->refusal,
                                                 .why = why(decision, &unmet->refusal, memory)};
    }
    decision->is_constraint_unmet = plan->is_constraint_unmet;
    if (plan->is_constraint_unmet) {
        decision->constraint = (struct unmet_note){
            .refusal = plan->constraint_refusal,
            .why = why(decision, &plan->constraint_refusal, memory)};
    }
}

void decision_apply(struct last_decision *decision, const struct core_answer *answer)
{
    decision->launching = answer->launching;
    decision->ending = answer->ending;
    decision->has_stance = true;
    if (!answer->is_decision) {
        return;
    }
    arena_clear(&decision->memory);
    arena_init(&decision->memory);
    decision->judged = decision->load_number;
    decision->wall_ms = clock_wall_ms(loop_clock(decision->head->session.loop));
    copy_unmet(decision, &answer->plan);
    decision->holds = ARENA_ARRAY(&decision->memory, answer->hold_count, struct hold);
    decision->hold_count = answer->hold_count;
    if (answer->hold_count > 0) {
        memcpy(decision->holds, answer->holds, answer->hold_count * sizeof(*answer->holds));
    }
}

/* ---- infeasible requests ---- */

struct fitting {
    const struct request *request;
    bool fits;
};

static void try_node(void *context, const struct managed_node *managed_node)
{
    struct fitting *fitting = context;
    const struct node *node = managed_node->node;
    if (fitting->fits || !node ||
        !(managed_node->is_head || node_state_table[node->state].is_running)) {
        return;
    }
    fitting->fits = pending_fits(node->capacities, node->capacity_count, fitting->request);
}

/* By its cause, unless a node fits it: one started by hand may have resources that no type has. */
static bool is_infeasible(const struct last_decision *decision, const struct refusal *refusal,
                          const struct request *request)
{
    struct fitting fitting = {.request = request};
    if (refusal->cause != REFUSED_TOO_LARGE && refusal->cause != REFUSED_COMBINATION &&
        refusal->cause != REFUSED_LABELS) {
        return false;
    }
    if (request && decision->head->controller && refusal->cause != REFUSED_LABELS) {
        controller_each(decision->head->controller, try_node, &fitting);
    }
    return !fitting.fits;
}

static const struct request *demand_request(const struct last_decision *decision, uint32_t index)
{
    return index < decision->load.demand_count ? &decision->load.demands[index].request : NULL;
}

static bool is_demand_infeasible(const struct last_decision *decision,
                                 const struct unmet_note *note)
{
    return is_infeasible(decision, &note->refusal, demand_request(decision, note->index));
}

/* Was the decision made for the current load? */
static bool is_current(const struct last_decision *decision)
{
    return decision->judged == decision->load_number && decision->judged > 0;
}

static bool has_infeasible(const struct last_decision *decision)
{
    bool has = decision->is_constraint_unmet &&
               is_infeasible(decision, &decision->constraint.refusal, NULL);
    for (size_t i = 0; i < decision->demand_count && i < INFEASIBLE_MAX && !has; i++) {
        has = is_demand_infeasible(decision, &decision->demands[i]);
    }
    for (size_t i = 0; i < decision->gang_count && i < INFEASIBLE_MAX && !has; i++) {
        has = is_infeasible(decision, &decision->gangs[i].refusal, NULL);
    }
    return has && is_current(decision);
}

/* ---- reasons ---- */

/* The plan has room for it on a node whose launch is held back. */
static struct pending_reason held_why(const struct last_decision *decision,
                                      const struct request *request, struct arena *arena)
{
    return pending_held_back(&decision->head->core.settings, request, decision->holds,
                             decision->hold_count, decision->launching,
                             launch_failures_text(decision->failures), arena);
}

static void tell_why(struct pending_demand *demand, struct pending_reason why)
{
    demand->why = why.text;
    demand->cause = why.cause;
}

static void judge_demands(const struct last_decision *decision, struct pending_demand *demands,
                          struct arena *arena)
{
    for (size_t i = 0; i < decision->demand_count; i++) {
        const struct unmet_note *note = &decision->demands[i];
        struct refusal refusal = note->refusal;
        if (note->index < decision->load.demand_count) {
            refusal.request = demand_request(decision, note->index);
            demands[note->index].unmet = note->count;
            tell_why(&demands[note->index], why(decision, &refusal, arena));
            demands[note->index].is_infeasible = is_demand_infeasible(decision, note);
        }
    }
    for (size_t i = 0; i < decision->load.demand_count && decision->hold_count > 0; i++) {
        if (demands[i].unmet == 0) {
            tell_why(&demands[i], held_why(decision, &decision->load.demands[i].request, arena));
            demands[i].unmet = demands[i].why.len > 0 ? demands[i].count : 0;
        }
    }
}

static void judge_rest(const struct last_decision *decision, struct pending_demand *gangs,
                       struct pending_demand *constraint)
{
    for (size_t i = 0; i < decision->gang_count; i++) {
        const struct unmet_note *note = &decision->gangs[i];
        if (note->index < decision->load.gang_count) {
            gangs[note->index].unmet = gangs[note->index].count;
            tell_why(&gangs[note->index], note->why);
            gangs[note->index].is_infeasible = is_infeasible(decision, &note->refusal, NULL);
        }
    }
    for (size_t i = 0; i < decision->load.constraint_count && decision->is_constraint_unmet; i++) {
        constraint[i].unmet = constraint[i].count;
        tell_why(&constraint[i], decision->constraint.why);
        constraint[i].is_infeasible = is_infeasible(decision, &decision->constraint.refusal, NULL);
    }
}

static struct pending_demand *judged_demands(const struct last_decision *decision,
                                             struct arena *arena, size_t *ret_count)
{
    struct pending_demand *demands = NULL;
    size_t count = 0;
    ray_view_demands(decision->head->ray.view, arena, &demands, &count);
    const struct ray_load *load = &decision->load;
    size_t expected = load->demand_count + load->gang_count + load->constraint_count;
    if (is_current(decision) && count == expected) {
        judge_demands(decision, demands, arena);
        judge_rest(decision, demands + load->demand_count,
                   demands + load->demand_count + load->gang_count);
    }
    *ret_count = count;
    return demands;
}

/* ---- for the report, events and drivers ---- */

void decision_each_infeasible(const struct last_decision *decision, infeasible_fn *take,
                              void *context)
{
    struct arena arena;
    size_t count;
    size_t told = 0;
    if (!has_infeasible(decision)) {
        return;
    }
    arena_init(&arena);
    const struct pending_demand *demands = judged_demands(decision, &arena, &count);
    for (size_t i = 0; i < count && told < INFEASIBLE_MAX; i++) {
        if (demands[i].is_infeasible) {
            take(context, &demands[i]);
            told++;
        }
    }
    arena_clear(&arena);
}

struct infeasible {
    struct arena *arena;
    struct str singles[INFEASIBLE_MAX], gangs[INFEASIBLE_MAX];
    size_t single_count, gang_count;
};

static void take_infeasible(void *context, const struct pending_demand *demand)
{
    struct infeasible *found = context;
    struct str bytes = arena_str(found->arena, demand->bytes);
    if (demand->source == DEMAND_TASKS) {
        found->singles[found->single_count++] = bytes;
    } else if (demand->source == DEMAND_PLACEMENT_GROUP) {
        found->gangs[found->gang_count++] = bytes;
    }
}

void decision_add_infeasible(const struct last_decision *decision, struct arena *arena,
                             struct ray_report *report)
{
    struct infeasible *found = ARENA_NEW(arena, struct infeasible);
    found->arena = arena;
    decision_each_infeasible(decision, take_infeasible, found);
    report->infeasible = found->singles;
    report->infeasible_count = found->single_count;
    report->infeasible_gangs = found->gangs;
    report->infeasible_gang_count = found->gang_count;
}

struct str decision_load_text(const struct last_decision *decision, struct arena *arena)
{
    return pending_load_text(decision->head->core.settings.names, &decision->load, arena);
}

/* ---- why fewer run than min_workers ---- */

struct present {
    const struct core_settings *settings;
    int64_t *counts; /* by type: running and pending nodes */
};

static void count_present(void *context, const struct managed_node *managed_node)
{
    struct present *present = context;
    const struct node *node = managed_node->node;
    if (node && !managed_node->is_head && (!node->is_outdated || node->is_waiting) &&
        node->offering < present->settings->offering_count &&
        (node_state_table[node->state].is_pending || node_state_table[node->state].is_running)) {
        present->counts[present->settings->offerings[node->offering].type]++;
    }
}

static void service_decision_add_held(const struct last_decision *decision, struct arena *arena,
                                      struct cluster_status *cluster_status)
{
    const struct core_settings *settings = &decision->head->core.settings;
    struct present present = {settings, ARENA_ARRAY(arena, settings->type_count, int64_t)};
    struct str *lines = ARENA_ARRAY(arena, decision->hold_count, struct str);
    if (decision->head->controller) {
        controller_each(decision->head->controller, count_present, &present);
    }
    for (size_t i = 0; i < decision->hold_count; i++) {
        const struct hold *hold = &decision->holds[i];
        int64_t missing = settings->types[hold->type].min_nodes - present.counts[hold->type];
        struct pending_reason why = pending_held(settings, hold, decision->launching,
                                                 launch_failures_text(decision->failures), arena);
        if (missing > 0 && why.text.len > 0) {
            lines[cluster_status->held_count++] = why.text;
        }
    }
    cluster_status->held = lines;
}

/* ---- cluster status ---- */

struct pricing {
    const struct head_context *head;
    int64_t sum;
    bool is_all_known;
    size_t count;
};

static void service_decision_add_price(void *context, const struct managed_node *managed_node)
{
    struct pricing *pricing = context;
    const struct core_settings *settings = &pricing->head->core.settings;
    const struct machine *machine = managed_node->machine;
    const struct node *node = managed_node->node;
    int64_t price = PRICE_UNKNOWN;
    if (!node || managed_node->is_head || !node_state_table[node->state].counts) {
        return;
    }
    if (machine) {
        price = core_setup_price(&pricing->head->core, machine);
    } else if (node->offering < settings->offering_count) {
        price = settings->offerings[node->offering].price;
    }
    pricing->count++;
    pricing->sum += price > 0 ? price : 0;
    pricing->is_all_known = pricing->is_all_known && price != PRICE_UNKNOWN;
}

static void add_prices(const struct last_decision *decision, struct cluster_status *cluster_status)
{
    const struct core_settings *settings = &decision->head->core.settings;
    int64_t head = decision->head->core.facts[settings->head_type].price;
    struct pricing pricing = {decision->head, head > 0 ? head : 0, head != PRICE_UNKNOWN, 1};
    if (decision->head->controller) {
        controller_each(decision->head->controller, service_decision_add_price, &pricing);
    }
    cluster_status->price = pricing.is_all_known ? pricing.sum : -1;
    cluster_status->billed_count = pricing.count;
    cluster_status->price_limit = settings->max_price == PLAN_NO_LIMIT
                                      ? -1
                                      : settings->max_price + (head > 0 ? head : 0);
}

/* Why launches are not permitted. */
static const char *launching_words(const struct last_decision *decision, struct arena *arena)
{
    struct str trouble = head_context_journal_text(decision->head, arena);
    return trouble.len > 0 ? trouble.ptr : permission_text(decision->launching, false);
}

void decision_cluster_status(const struct last_decision *decision, struct arena *arena,
                             struct cluster_status *ret)
{
    struct gcs_poller_figures figures = gcs_poller_figures(decision->head->ray.poller);
    bool is_acting = decision->head->controller && decision->head->is_leading &&
                     decision->has_stance;
    *ret = (struct cluster_status){
        .seen_ms = decision->head->ray.seen_wall_ms,
        .decided_ms = decision->wall_ms,
        .launching = is_acting ? launching_words(decision, arena) : "standing by",
        .ending = is_acting ? permission_text(decision->ending, true) : "standing by",
        .polls = figures.polls,
        .poll_ms = figures.poll_ms,
    };
    ret->demands = judged_demands(decision, arena, &ret->demand_count);
    ray_view_nodes(decision->head->ray.view, arena, &ret->nodes, &ret->node_count);
    add_prices(decision, ret);
    service_decision_add_held(decision, arena, ret);
}
