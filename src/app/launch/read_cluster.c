/* read_cluster.c: lists the instances of a cluster for the confirmation prompt of `down`. */
#include "app/cloud_provider.h"
#include "app/launch/cluster_session.h"
#include "app/launch/down_decide.h"

struct seeing {
    struct cluster_session launch;
    struct launcher_seen *seen;
};

static void read_cluster_on_listed(void *context, const struct provider_answer *answer,
                                   const struct machine *machines, size_t count)
{
    struct seeing *seeing = context;
    struct arena *arena = seeing->launch.arena;
    struct launcher_seen *seen = seeing->seen;
    if (answer->outcome != OUTCOME_DONE) {
        launch_end(&seeing->launch, &answer->err);
        return;
    }
    int64_t *kept = ARENA_ARRAY(arena, seeing->launch.config->node_type_count, int64_t);
    struct machine *own = ARENA_ARRAY(arena, count, struct machine);
    for (size_t i = 0; i < count; i++) {
        const struct machine *machine = &machines[i];
        bool is_head = machine_is_head(machine);
        if (machine->state >= MACHINE_ENDING || ending_is_foreign(machine) ||
            (is_head && seeing->launch.setup->is_workers_only) ||
            (seeing->launch.setup->keeps_min &&
             ending_keeps(seeing->launch.config, machine, kept))) {
            continue;
        }
        bool runs = machine->state < MACHINE_STOPPING;
        int64_t price = runs ? core_setup_price(&seeing->launch.core, machine) : 0;
        seen->price += price > 0 ? price : 0;
        seen->is_priced = seen->is_priced && price != PRICE_UNKNOWN;
        own[seen->count++] = (struct machine){.id = arena_str(arena, machine->id),
                                              .type = arena_str(arena, machine->type),
                                              .state = machine->state,
                                              .market = machine->market};
    }
    seen->machines = own;
    launch_end(&seeing->launch, NULL);
}

/* As the last `up` from here found them; without them, prices are unknown. */
static void read_cluster_prices(struct cluster_session *launch)
{
    struct err ignored;
    diag_list_init(&launch->diags, launch->arena);
    if (!core_setup_make(launch->arena, launch->config, NULL, &launch->diags, &launch->core,
                         &ignored)) {
        launch->core = (struct core_setup){0};
    } else if (cluster_state_open(launch->config, false, launch->arena, &launch->state, &ignored) &&
               journal_open(launch->state.folder, NULL, &launch->journal, &ignored)) {
        if (!launch_place_as_before(launch, &ignored)) {
            launch->core.book.table = (struct price_table){0};
        }
    }
}

bool launcher_see(const struct launcher_setup *setup, struct arena *arena,
                  struct launcher_seen *ret_seen, struct err *err)
{
    struct seeing seeing = {.launch = {.setup = setup, .arena = arena}, .seen = ret_seen};
    struct cluster_session *launch = &seeing.launch;
    *ret_seen = (struct launcher_seen){.is_priced = true};
    launch->session = setup->session;
    launch->config = setup->config;
    if (!cloud_provider_open(launch->session, launch->config, setup->profile, arena,
                             &launch->provider, err)) {
        return false;
    }
    read_cluster_prices(launch);
    launch->provider->ops->list_by(launch->provider, &(struct machine_query){0},
                                   read_cluster_on_listed, &seeing);
    bool ok = cloud_session_run(launch->session, err);
    if (ok && !launch->is_ok) {
        *err = launch->err;
        ok = false;
    }
    launch_close(launch);
    return ok;
}
