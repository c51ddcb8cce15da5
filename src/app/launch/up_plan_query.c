/*
 * up_plan_query.c: makes the plan from the preflight, one listing and the journal on this machine.
 * Creates and changes nothing, neither in the cloud nor here.
 */
#include "app/control/launch_request.h"
#include "app/launch/adopt.h"
#include "app/launch/cluster_session.h"
#include "app/launch/head_plan.h"
#include "app/launch/launch_prices.h"
#include "app/launch/up_plan.h"
#include "app/preflight.h"
#include "app/type_zones.h"

struct look {
    struct cluster_session launch;
    struct up_plan *plan;
};

/* Did the last `up` from here apply this configuration? */
static bool is_applied(struct cluster_session *launch)
{
    struct str wanted;
    struct str applied;
    struct err err;
    return launch->journal && head_plan_wanted(launch, &wanted, &err) &&
           journal_get(launch->journal, "applied", launch->arena, &applied, &err) && applied.ptr &&
           str_eq(applied, wanted);
}

static bool look_at_head(struct cluster_session *launch, const struct machine *head,
                         struct up_plan_input *input, struct err *err)
{
    struct head_spec spec = {.launch = launch,
                             .id = head->id,
                             .private_ip = head->private_ip,
                             .public_ip = head->public_ip,
                             .machine = head->type,
                             .is_spot = head->market == MARKET_SPOT};
    input->is_update = !is_applied(launch);
    if (head->state >= MACHINE_STOPPING || !input->is_update) {
        input->restarts_head = launch->setup->restart_only && head->state < MACHINE_STOPPING;
        return true;
    }
    return head_plan_restarts(&spec, &input->restarts_head, err);
}

static const struct machine *find_head(const struct machine *machines, size_t count)
{
    const struct machine *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (machine_is_head(&machines[i]) && machines[i].state < MACHINE_ENDING &&
            (!found || machines[i].state < found->state)) {
            found = &machines[i];
        }
    }
    return found;
}

static bool up_plan_query_make(struct look *look, const struct machine *machines, size_t count,
                               struct err *err)
{
    struct cluster_session *launch = &look->launch;
    struct up_plan_input input = {.config = launch->config,
                                  .core = &launch->core,
                                  .machines = machines,
                                  .machine_count = count};
    const struct machine *head = find_head(machines, count);
    if (!launch_config_hashes(launch->config, launch->arena, &input.config_hashes, err) ||
        !launch_hash(launch->config, launch->config->head_type, launch->arena,
                     &input.head_launch_hash, err) ||
        (head && !look_at_head(launch, head, &input, err))) {
        return false;
    }
    up_plan_make(&input, launch->arena, look->plan);
    return true;
}

/* Copies the strings: the provider owns the machines only during the call. */
static void keep_texts(struct up_plan *plan, struct arena *arena)
{
    plan->head_id = arena_str(arena, plan->head_id);
    for (size_t i = 0; i < plan->step_count; i++) {
        struct up_step *step = &plan->steps[i];
        step->type = arena_str(arena, step->type);
        step->machine = arena_str(arena, step->machine);
        step->id = arena_str(arena, step->id);
    }
}

static void up_plan_query_on_listed(void *context, const struct provider_answer *answer,
                                    const struct machine *machines, size_t count)
{
    struct look *look = context;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        launch_end(&look->launch, &answer->err);
    } else if (!up_plan_query_make(look, machines, count, &err)) {
        launch_end(&look->launch, &err);
    } else {
        keep_texts(look->plan, look->launch.arena);
        launch_end(&look->launch, NULL);
    }
}

static void up_plan_query_on_prices(void *context)
{
    struct look *look = context;
    struct cluster_session *launch = &look->launch;
    core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    launch->provider->ops->list(launch->provider, up_plan_query_on_listed, look);
}

static void up_plan_query_on_surveyed(void *context, const struct provider_answer *answer,
                                      const struct finding *findings, size_t count)
{
    struct look *look = context;
    struct provider *provider = look->launch.provider;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        launch_end(&look->launch, &answer->err);
    } else if (!launch_is_fit(&look->launch, findings, count, &err)) {
        launch_end(&look->launch, &err);
    } else {
        look->launch.core.book.disks = type_disks_ask(provider, look->launch.config,
                                                      look->launch.arena);
        look->launch.type_zones = type_zones_ask(provider, look->launch.config, look->launch.arena);
        launch_prices_wait(&look->launch, up_plan_query_on_prices, look);
    }
}

bool launcher_plan(const struct launcher_setup *setup, struct arena *arena,
                   struct up_plan *ret_plan, struct err *err)
{
    struct look look = {.launch = {.setup = setup, .arena = arena}, .plan = ret_plan};
    struct cluster_session *launch = &look.launch;
    struct err ignored;
    bool ok = launch_open(launch, err);
    if (ok && adopt_records(launch, &ignored)) { /* if not, the preflight says why */
        ok = cluster_state_open(setup->config, false, arena, &launch->state, err);
    }
    if (ok && !journal_open(launch->state.folder, NULL, &launch->journal, &ignored)) {
        launch->journal = NULL; /* no `up` was ever run from here */
    }
    if (ok) {
        if (setup->hooks.findings) {
            launch_prices_start(launch);
            preflight_run(launch->provider, launch->config, launch_scope(launch), arena,
                          up_plan_query_on_surveyed, &look);
        } else {
            launch->provider->ops->list(launch->provider, up_plan_query_on_listed, &look);
        }
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
    }
    launch_close(launch);
    return ok;
}
