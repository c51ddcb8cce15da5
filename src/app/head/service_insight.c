/*
 * service_insight.c: what waits and why, from what Ray says and what was decided last.
 *
 * A decision points into memory that lives as long as its step. What people may ask about later is
 * copied here: few requests have no place, so that costs little however many wait.
 */
#include "app/head/explain/insight_why.h"
#include "app/head/service_parts.h"
#include "io/heap.h"

#include <string.h>

enum { INFEASIBLE_MAX = 16 }; /* that are told one by one, and reported */

struct unmet_note {
    uint32_t index;
    int64_t count;
    struct refusal refusal; /* of demands its request is found by the index */
    struct insight_why why; /* of gangs and the constraint */
};

struct judgement {
    struct ray_load load; /* as last told; the mirror's memory */
    uint64_t load_number;
    struct arena memory; /* of what follows */
    uint64_t judged;     /* the number of the load that it is about; 0: none */
    int64_t wall_ms;     /* when */
    enum stance launching, ending;
    bool has_stance;
    struct unmet_note *demands, *gangs;
    size_t demand_count, gang_count;
    bool is_constraint_unmet;
    struct unmet_note constraint;
    struct hold *holds;
    size_t hold_count;
};

void service_open_judgement(struct service *service)
{
    service->judgement = HEAP_NEW(struct judgement);
    arena_init(&service->judgement->memory);
}

void service_close_judgement(struct service *service)
{
    if (service->judgement) {
        arena_clear(&service->judgement->memory);
        free(service->judgement);
        service->judgement = NULL;
    }
}

void service_note_load(struct service *service, const struct ray_load *load)
{
    service->judgement->load = *load;
    service->judgement->load_number++;
}

/* ---- a decision, copied ---- */

static struct insight_why why(const struct service *service, const struct refusal *refusal,
                              struct arena *arena)
{
    return insight_refused(&service->core.settings, refusal, service->launch_trouble, arena);
}

static void copy_unmet(struct service *service, const struct plan *plan)
{
    struct judgement *judgement = service->judgement;
    struct arena *memory = &judgement->memory;
    judgement->demands = ARENA_ARRAY(memory, plan->unmet_count, struct unmet_note);
    judgement->demand_count = plan->unmet_count;
    for (size_t i = 0; i < plan->unmet_count; i++) {
        const struct plan_unmet *unmet = &plan->unmet[i];
        judgement->demands[i] = (struct unmet_note){
            .index = unmet->demand, .count = unmet->count, .refusal = unmet->refusal};
    }
    judgement->gangs = ARENA_ARRAY(memory, plan->unmet_gang_count, struct unmet_note);
    judgement->gang_count = plan->unmet_gang_count;
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        const struct plan_unmet_gang *unmet = &plan->unmet_gangs[i];
        judgement->gangs[i] = (struct unmet_note){.index = unmet->gang,
                                                  .count = 1,
                                                  .refusal = unmet->refusal,
                                                  .why = why(service, &unmet->refusal, memory)};
    }
    judgement->is_constraint_unmet = plan->is_constraint_unmet;
    if (plan->is_constraint_unmet) {
        judgement->constraint = (struct unmet_note){
            .refusal = plan->constraint_refusal,
            .why = why(service, &plan->constraint_refusal, memory)};
    }
}

void service_judge(struct service *service, const struct core_answer *answer)
{
    struct judgement *judgement = service->judgement;
    judgement->launching = answer->launching;
    judgement->ending = answer->ending;
    judgement->has_stance = true;
    if (!answer->is_decision) {
        return;
    }
    arena_clear(&judgement->memory);
    arena_init(&judgement->memory);
    judgement->judged = judgement->load_number;
    judgement->wall_ms = clock_wall_ms(loop_clock(service->session.loop));
    copy_unmet(service, &answer->plan);
    judgement->holds = ARENA_ARRAY(&judgement->memory, answer->hold_count, struct hold);
    judgement->hold_count = answer->hold_count;
    if (answer->hold_count > 0) {
        memcpy(judgement->holds, answer->holds, answer->hold_count * sizeof(*answer->holds));
    }
}

/* ---- what could never be met ---- */

struct fitting {
    const struct request *request;
    bool fits;
};

static void try_node(void *context, const struct controlled *controlled)
{
    struct fitting *fitting = context;
    const struct node *node = controlled->node;
    if (fitting->fits || !node || !(controlled->is_head || life_table[node->state].is_running)) {
        return;
    }
    fitting->fits = insight_fits(node->capacities, node->capacity_count, fitting->request);
}

/* By its cause; but a node that was started by hand may have what no type of the file has. */
static bool is_infeasible(const struct service *service, const struct refusal *refusal,
                          const struct request *request)
{
    struct fitting fitting = {.request = request};
    if (refusal->cause != REFUSED_TOO_LARGE && refusal->cause != REFUSED_COMBINATION &&
        refusal->cause != REFUSED_LABELS) {
        return false;
    }
    if (request && service->controller && refusal->cause != REFUSED_LABELS) {
        controller_each(service->controller, try_node, &fitting);
    }
    return !fitting.fits;
}

static const struct request *demand_request(const struct judgement *judgement, uint32_t index)
{
    return index < judgement->load.demand_count ? &judgement->load.demands[index].request : NULL;
}

static bool is_demand_infeasible(const struct service *service, const struct unmet_note *note)
{
    return is_infeasible(service, &note->refusal, demand_request(service->judgement, note->index));
}

/* Is the decision about what the mirror has now? */
static bool is_current(const struct judgement *judgement)
{
    return judgement->judged == judgement->load_number && judgement->judged > 0;
}

static bool has_infeasible(const struct service *service)
{
    const struct judgement *judgement = service->judgement;
    bool has = judgement->is_constraint_unmet &&
               is_infeasible(service, &judgement->constraint.refusal, NULL);
    for (size_t i = 0; i < judgement->demand_count && i < INFEASIBLE_MAX && !has; i++) {
        has = is_demand_infeasible(service, &judgement->demands[i]);
    }
    for (size_t i = 0; i < judgement->gang_count && i < INFEASIBLE_MAX && !has; i++) {
        has = is_infeasible(service, &judgement->gangs[i].refusal, NULL);
    }
    return has && is_current(judgement);
}

/* ---- why it waits ---- */

/* The plan has a place for it on a machine that is not launched now. */
static struct insight_why held_why(const struct service *service, const struct request *request,
                                   struct arena *arena)
{
    const struct judgement *judgement = service->judgement;
    return insight_held_back(&service->core.settings, request, judgement->holds,
                             judgement->hold_count, judgement->launching, service->launch_trouble,
                             arena);
}

static void tell_why(struct insight_demand *demand, struct insight_why why)
{
    demand->why = why.text;
    demand->cause = why.cause;
}

static void judge_demands(const struct service *service, struct insight_demand *demands,
                          struct arena *arena)
{
    const struct judgement *judgement = service->judgement;
    for (size_t i = 0; i < judgement->demand_count; i++) {
        const struct unmet_note *note = &judgement->demands[i];
        struct refusal refusal = note->refusal;
        if (note->index < judgement->load.demand_count) {
            refusal.request = demand_request(judgement, note->index);
            demands[note->index].unmet = note->count;
            tell_why(&demands[note->index], why(service, &refusal, arena));
            demands[note->index].is_infeasible = is_demand_infeasible(service, note);
        }
    }
    for (size_t i = 0; i < judgement->load.demand_count && judgement->hold_count > 0; i++) {
        if (demands[i].unmet == 0) {
            tell_why(&demands[i], held_why(service, &judgement->load.demands[i].request, arena));
            demands[i].unmet = demands[i].why.len > 0 ? demands[i].count : 0;
        }
    }
}

static void judge_rest(const struct service *service, struct insight_demand *gangs,
                       struct insight_demand *constraint)
{
    const struct judgement *judgement = service->judgement;
    for (size_t i = 0; i < judgement->gang_count; i++) {
        const struct unmet_note *note = &judgement->gangs[i];
        if (note->index < judgement->load.gang_count) {
            gangs[note->index].unmet = gangs[note->index].count;
            tell_why(&gangs[note->index], note->why);
            gangs[note->index].is_infeasible = is_infeasible(service, &note->refusal, NULL);
        }
    }
    for (size_t i = 0; i < judgement->load.constraint_count && judgement->is_constraint_unmet;
         i++) {
        constraint[i].unmet = constraint[i].count;
        tell_why(&constraint[i], judgement->constraint.why);
        constraint[i].is_infeasible = is_infeasible(service, &judgement->constraint.refusal, NULL);
    }
}

static struct insight_demand *judged_demands(const struct service *service, struct arena *arena,
                                             size_t *ret_count)
{
    const struct judgement *judgement = service->judgement;
    struct insight_demand *demands = NULL;
    size_t count = 0;
    ray_mirror_demands(service->mirror, arena, &demands, &count);
    const struct ray_load *load = &judgement->load;
    size_t expected = load->demand_count + load->gang_count + load->constraint_count;
    if (is_current(judgement) && count == expected) {
        judge_demands(service, demands, arena);
        judge_rest(service, demands + load->demand_count,
                   demands + load->demand_count + load->gang_count);
    }
    *ret_count = count;
    return demands;
}

/* ---- for the report, events and drivers ---- */

typedef void infeasible_fn(void *context, const struct insight_demand *demand);

static void each_infeasible(const struct service *service, infeasible_fn *take, void *context)
{
    struct arena arena;
    size_t count;
    size_t told = 0;
    if (!has_infeasible(service)) {
        return;
    }
    arena_init(&arena);
    const struct insight_demand *demands = judged_demands(service, &arena, &count);
    for (size_t i = 0; i < count && told < INFEASIBLE_MAX; i++) {
        if (demands[i].is_infeasible) {
            take(context, &demands[i]);
            told++;
        }
    }
    arena_clear(&arena);
}

struct infeasible {
    struct service *service;
    struct arena *arena;
    struct str singles[INFEASIBLE_MAX], gangs[INFEASIBLE_MAX];
    size_t single_count, gang_count;
};

static void take_infeasible(void *context, const struct insight_demand *demand)
{
    struct infeasible *found = context;
    struct str bytes = arena_str(found->arena, demand->bytes);
    service_happen_infeasible(found->service, demand);
    if (demand->source == INSIGHT_TASKS) {
        found->singles[found->single_count++] = bytes;
    } else if (demand->source == INSIGHT_GROUP) {
        found->gangs[found->gang_count++] = bytes;
    }
}

void service_infeasible(struct service *service, struct arena *arena, struct ray_report *report)
{
    struct infeasible *found = ARENA_NEW(arena, struct infeasible);
    found->service = service;
    found->arena = arena;
    each_infeasible(service, take_infeasible, found);
    report->infeasible = found->singles;
    report->infeasible_count = found->single_count;
    report->infeasible_gangs = found->gangs;
    report->infeasible_gang_count = found->gang_count;
}

struct str service_load_words(const struct service *service, struct arena *arena)
{
    return insight_load_words(service->core.settings.names, &service->judgement->load, arena);
}

/* ---- all of it ---- */

struct pricing {
    const struct service *service;
    int64_t sum;
    bool is_all_known;
};

static void add_price(void *context, const struct controlled *controlled)
{
    struct pricing *pricing = context;
    const struct core_settings *settings = &pricing->service->core.settings;
    const struct node *node = controlled->node;
    if (!node || controlled->is_head || !life_table[node->state].counts ||
        node->offering >= settings->offering_count) {
        return;
    }
    int64_t price = settings->offerings[node->offering].price;
    pricing->sum += price > 0 ? price : 0;
    pricing->is_all_known = pricing->is_all_known && price != PRICE_UNKNOWN;
}

static void add_prices(const struct service *service, struct insight *insight)
{
    const struct core_settings *settings = &service->core.settings;
    int64_t head = service->core.facts[settings->head_type].price;
    struct pricing pricing = {service, head > 0 ? head : 0, head != PRICE_UNKNOWN};
    if (service->controller) {
        controller_each(service->controller, add_price, &pricing);
    }
    insight->price = pricing.is_all_known ? pricing.sum : -1;
    insight->price_limit = settings->max_price == PLAN_NO_LIMIT
                               ? -1
                               : settings->max_price + (head > 0 ? head : 0);
}

void service_insight(const struct service *service, struct arena *arena, struct insight *ret)
{
    const struct judgement *judgement = service->judgement;
    struct ray_watch_figures figures = ray_watch_figures(service->ray);
    bool is_acting = service->controller && service->is_leading && judgement->has_stance;
    *ret = (struct insight){
        .seen_ms = service->seen_wall_ms,
        .decided_ms = judgement->wall_ms,
        .launching = is_acting ? insight_stance_words(judgement->launching, false) : "standing by",
        .ending = is_acting ? insight_stance_words(judgement->ending, true) : "standing by",
        .polls = figures.polls,
        .poll_ms = figures.poll_ms,
    };
    ret->demands = judged_demands(service, arena, &ret->demand_count);
    ray_mirror_nodes(service->mirror, arena, &ret->nodes, &ret->node_count);
    add_prices(service, ret);
}
