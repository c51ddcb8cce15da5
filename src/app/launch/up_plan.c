/* up_plan.c: compares the file with the listing. */
#include "app/launch/up_plan.h"

#include "provider/machine_tags.h"

struct up_plan_planner {
    const struct up_plan_input *input;
    struct arena *arena;
    struct up_plan *plan;
    size_t step_capacity;
    int64_t *present; /* by type: workers that are kept */
    int64_t workers;  /* all running workers, including outdated ones */
    int64_t leaving;  /* price of the workers to be drained */
    bool has_unknown; /* part of the current price is unknown */
};

static bool up_plan_exists(const struct machine *machine)
{
    return machine->state == MACHINE_PENDING || machine->state == MACHINE_RUNNING;
}

static bool is_stopped(const struct machine *machine)
{
    return machine->state == MACHINE_STOPPING || machine->state == MACHINE_STOPPED;
}

static int64_t up_plan_price_of(const struct up_plan_planner *planner,
                                const struct machine *machine)
{
    return core_setup_price(planner->input->core, machine);
}

static struct up_step *up_plan_add_step(struct up_plan_planner *planner, struct up_step step)
{
    struct up_plan *plan = planner->plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        struct up_step *same = &plan->steps[i];
        if (same->kind == step.kind && same->is_head == step.is_head &&
            same->is_spot == step.is_spot && str_eq(same->type, step.type) &&
            str_eq(same->machine, step.machine) && str_eq(same->why, step.why)) {
            same->count += step.count;
            return same;
        }
    }
    ARENA_GROW(planner->arena, plan->steps, plan->step_count, planner->step_capacity);
    plan->steps[plan->step_count] = step;
    return &plan->steps[plan->step_count++];
}

/* ---- running instances ---- */

static size_t up_plan_type_of(const struct up_plan_input *input, const struct machine *machine)
{
    struct str name = machine_tag_value(machine, "ray-user-node-type");
    for (size_t i = 0; i < input->config->node_type_count; i++) {
        if (str_eq(input->config->node_types[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool differs(const struct up_plan_input *input, const struct machine *machine, size_t type)
{
    struct str own = machine_tag_value(machine, TAG_NODE_CONFIG);
    struct str now = input->config_hashes[type];
    return !input->core->settings.keeps_outdated && own.len > 0 && now.len > 0 && !str_eq(own, now);
}

bool up_plan_head_differs(const struct up_plan_input *input, const struct machine *head)
{
    struct str own = machine_tag_value(head, "ray-launch-config");
    if (machine_tag_value(head, TAG_NODE_CONFIG).len > 0) {
        return differs(input, head, input->config->head_type);
    }
    return !input->core->settings.keeps_outdated && own.len > 0 &&
           input->head_launch_hash.len > 0 && !str_eq(own, input->head_launch_hash);
}

static void take_worker(struct up_plan_planner *planner, const struct machine *machine)
{
    const struct up_plan_input *input = planner->input;
    size_t type = up_plan_type_of(input, machine);
    bool is_gone = type == SIZE_MAX;
    planner->workers++;
    if (is_gone ? input->core->settings.keeps_outdated : !differs(input, machine, type)) {
        if (!is_gone) {
            planner->present[type]++;
        }
        return;
    }
    planner->plan->changed += is_gone ? 0 : 1;
    planner->plan->max_unavailable = input->core->settings.max_unavailable;
    int64_t price = up_plan_price_of(planner, machine);
    planner->leaving += price > 0 ? price : 0;
    up_plan_add_step(
        planner, (struct up_step){.kind = UP_DRAIN,
                                  .is_spot = machine->market == MARKET_SPOT,
                                  .type = machine_tag_value(machine, "ray-user-node-type"),
                                  .machine = machine->type,
                                  .id = machine->id,
                                  .why = is_gone ? STR("its node type is no longer in the file")
                                                 : STR("its node_config was changed in the file"),
                                  .count = 1,
                                  .price = price});
}

static void take_head(struct up_plan_planner *planner, const struct machine *machine)
{
    const struct up_plan_input *input = planner->input;
    const struct type_facts *facts = &input->core->facts[input->config->head_type];
    struct up_step step = {.is_head = true,
                           .is_spot = machine->market == MARKET_SPOT,
                           .type = facts->name,
                           .machine = machine->type,
                           .wanted = facts->machine,
                           .id = machine->id,
                           .count = 1,
                           .price = up_plan_price_of(planner, machine)};
    planner->plan->has_head = true;
    planner->plan->head_id = machine->id;
    if (up_plan_head_differs(input, machine)) {
        step.kind = UP_REPLACE;
        up_plan_add_step(planner, step);
    } else if (is_stopped(machine)) {
        step.kind = UP_START;
        up_plan_add_step(planner, step);
    }
}

static void up_plan_take_machine(struct up_plan_planner *planner, const struct machine *machine)
{
    bool is_head = str_is(machine_tag_value(machine, "ray-node-type"), "head");
    if (!up_plan_exists(machine) && !(is_head && is_stopped(machine))) {
        return;
    }
    if (up_plan_exists(machine)) {
        int64_t price = up_plan_price_of(planner, machine);
        planner->plan->price_now += price > 0 ? price : 0;
        planner->has_unknown = planner->has_unknown || price == PRICE_UNKNOWN;
    }
    if (is_head) {
        take_head(planner, machine);
    } else {
        take_worker(planner, machine);
    }
}

/* ---- missing instances ---- */

static void up_plan_launch(struct up_plan_planner *planner, size_t type, int64_t count,
                           bool is_head)
{
    const struct type_facts *facts = &planner->input->core->facts[type];
    if (count > 0) {
        up_plan_add_step(planner, (struct up_step){.kind = UP_LAUNCH,
                                                   .is_head = is_head,
                                                   .is_spot = facts->is_spot,
                                                   .type = facts->name,
                                                   .machine = facts->machine,
                                                   .count = count,
                                                   .price = facts->price});
    }
}

static void launch_missing(struct up_plan_planner *planner)
{
    const struct config *config = planner->input->config;
    int64_t room = config->max_workers - planner->workers;
    for (size_t i = 0; i < config->node_type_count; i++) {
        int64_t missing = config->node_types[i].min_workers - planner->present[i];
        int64_t most = room > 0 ? room : 0;
        int64_t count = missing < most ? missing : most;
        if (missing > 0) {
            up_plan_launch(planner, i, count, false);
            room -= count;
            planner->plan->held += missing - count;
        }
    }
}

static int64_t price_then(const struct up_plan_planner *planner)
{
    const struct up_plan *plan = planner->plan;
    int64_t price = plan->price_now - planner->leaving;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct up_step *step = &plan->steps[i];
        bool comes = step->kind == UP_LAUNCH || step->kind == UP_START;
        if (comes && step->price == PRICE_UNKNOWN) {
            return PRICE_UNKNOWN;
        }
        price += comes ? step->count * step->price : 0;
    }
    return planner->has_unknown ? PRICE_UNKNOWN : price;
}

void up_plan_make(const struct up_plan_input *input, struct arena *arena, struct up_plan *ret_plan)
{
    *ret_plan = (struct up_plan){.jobs = -1};
    struct up_plan_planner planner = {.input = input, .arena = arena, .plan = ret_plan};
    planner.present = ARENA_ARRAY(arena, input->config->node_type_count, int64_t);
    for (size_t i = 0; i < input->machine_count; i++) {
        up_plan_take_machine(&planner, &input->machines[i]);
    }
    if (!ret_plan->has_head) {
        up_plan_launch(&planner, input->config->head_type, 1, true);
    }
    launch_missing(&planner);
    ret_plan->is_update = ret_plan->has_head && input->is_update;
    if (ret_plan->has_head && input->restarts_head) {
        ret_plan->restarts = 1 + (size_t)planner.workers;
    }
    ret_plan->price_then = price_then(&planner);
    if (planner.has_unknown) {
        ret_plan->price_now = PRICE_UNKNOWN;
    }
}

bool up_plan_is_empty(const struct up_plan *plan)
{
    return plan->step_count == 0 && plan->restarts == 0 && !plan->is_update;
}
