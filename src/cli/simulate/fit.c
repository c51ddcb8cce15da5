/* fit.c: plans one piece of each class of work. */
#include "cli/simulate/fit.h"

/* Only the head exists, idle, with all resources of its type. */
static struct plan_input empty_cluster(const struct core_setup *setup, struct plan_node *head)
{
    const struct core_settings *settings = &setup->settings;
    const struct plan_type *type = &settings->types[settings->head_type];
    *head = (struct plan_node){.type = settings->head_type,
                               .is_head = true,
                               .is_running = true,
                               .launch_hash = NAME_NONE,
                               .capacities = type->capacities,
                               .capacity_count = type->capacity_count,
                               .labels = type->labels};
    return (struct plan_input){.strategy = PLAN_RAY,
                               .names = settings->names,
                               .types = settings->types,
                               .type_count = settings->type_count,
                               .nodes = head,
                               .node_count = 1,
                               .max_nodes = settings->max_workers + 1,
                               .idle_timeout_ms = PLAN_NO_LIMIT,
                               .conserves_gpus = settings->conserves_gpus};
}

static struct gang gang_of(struct arena *arena, const struct work_class *class,
                           const struct workload *workload)
{
    struct request *requests = ARENA_ARRAY(arena, (size_t) class->bundles, struct request);
    struct placement *placement = ARENA_NEW(arena, struct placement);
    bool is_strict = gang_is_strict(class->gang) && workload->gang_label_count > 0;
    if (is_strict) {
        placement->kind = class->gang == GANG_STRICT_PACK ? PLACEMENT_AFFINITY
                                                          : PLACEMENT_ANTI_AFFINITY;
        placement->label = workload->gang_labels[0];
    }
    for (int64_t i = 0; i < class->bundles; i++) {
        requests[i] = class->request;
        requests[i].placements = is_strict ? placement : NULL;
        requests[i].placement_count = is_strict;
    }
    return (struct gang){requests, (size_t) class->bundles};
}

/* NULL if it fits. */
static const struct refusal *refusal_of(struct arena *arena, struct plan_input *input,
                                        const struct work_class *class,
                                        const struct workload *workload)
{
    struct plan *plan = ARENA_NEW(arena, struct plan);
    struct gang *gang = ARENA_NEW(arena, struct gang);
    struct demand *demand = ARENA_NEW(arena, struct demand);
    if (class->gang == GANG_NONE) {
        *demand = (struct demand){class->request, 1};
        input->demands = demand;
        input->demand_count = 1;
    } else {
        *gang = gang_of(arena, class, workload);
        input->gangs = gang;
        input->gang_count = 1;
    }
    plan_decide(input, arena, plan);
    return plan->unmet_count > 0        ? &plan->unmet[0].refusal
           : plan->unmet_gang_count > 0 ? &plan->unmet_gangs[0].refusal
                                        : NULL;
}

void fit_check(struct arena *arena, const struct core_setup *setup, const struct workload *workload,
               const struct workload_file *file, struct diag_list *diags)
{
    for (size_t i = 0; i < workload->class_count; i++) {
        struct plan_node head;
        struct plan_input input = empty_cluster(setup, &head);
        const struct refusal *refusal = refusal_of(arena, &input, &workload->classes[i], workload);
        if (refusal) {
            struct diag *diag = diag_warn(diags, "never-fits", file->classes[i].place,
                                          "this work cannot run on any node type of the cluster "
                                          "file");
            diag_hint(diags, diag, "%.*s", STR_ARG(plan_reason_text(&input, refusal, arena)));
        }
    }
}
