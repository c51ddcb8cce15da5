/* driver_messages.c: messages for drivers, in Ray's wording. */
#include "app/head/ray/driver_messages.h"

#include "core/resource.h"

static const char *const size_words[DRIVER_SIZES] = {"CPU", "GPU", "TPU"};

/* Ray's wording of a removal; NULL if it is not reported. */
static const char *const removal_words[REASON_KIND_COUNT] = {
    [REASON_IDLE] = "idle",
    [REASON_OUTDATED] = "outdated",
    [REASON_TYPE_LIMIT] = "max number of worker nodes per type reached",
    [REASON_CLUSTER_LIMIT] = "max number of worker nodes reached",
};

static uint32_t driver_messages_type_of(const struct driver_scene *scene,
                                        const struct action *action)
{
    const struct core_settings *settings = scene->settings;
    return action->offering < settings->offering_count ? settings->offerings[action->offering].type
                                                       : UINT32_MAX;
}

static int64_t count_additions(const struct driver_scene *scene, const struct core_answer *answer,
                               uint32_t type)
{
    int64_t count = 0;
    for (size_t i = 0; i < answer->action_count; i++) {
        const struct action *action = &answer->actions[i];
        count += driver_is_addition(action) && driver_messages_type_of(scene, action) == type
                     ? action->count
                     : 0;
    }
    return count;
}

static int64_t count_removals(const struct driver_scene *scene, const struct core_answer *answer,
                              uint32_t type, unsigned reason)
{
    int64_t count = 0;
    for (size_t i = 0; i < answer->action_count; i++) {
        const struct action *action = &answer->actions[i];
        count += action->kind == ACTION_TERMINATE && action->reason.kind == reason &&
                 driver_messages_type_of(scene, action) == type &&
                 !scene->is_told(scene->context, action->instance);
    }
    return count;
}

bool driver_lines(const struct driver_scene *scene, const struct core_answer *answer,
                  struct arena *arena)
{
    bool is_any = false;
    for (uint32_t type = 0; type < scene->settings->type_count; type++) {
        long long count = (long long)count_additions(scene, answer, type);
        if (count > 0) {
            is_any = true;
            scene->take(scene->context, arena_printf(arena, "Adding %lld node(s) of type %.*s.",
                                                     count, STR_ARG(scene->facts[type].name)));
        }
    }
    for (uint32_t type = 0; type < scene->settings->type_count; type++) {
        for (unsigned reason = 0; reason < REASON_KIND_COUNT; reason++) {
            const char *words = removal_words[reason];
            long long count = words ? (long long)count_removals(scene, answer, type, reason) : 0;
            if (count > 0) {
                is_any = true;
                scene->take(scene->context,
                            arena_printf(arena, "Removing %lld nodes of type %.*s (%s).", count,
                                         STR_ARG(scene->facts[type].name), words));
            }
        }
    }
    return is_any;
}

void driver_size_begin(struct driver_size *size, const struct core_settings *settings)
{
    *size = (struct driver_size){.settings = settings};
    for (size_t i = 0; i < DRIVER_SIZES; i++) {
        size->names[i] = intern_find(settings->names, str_from(size_words[i]));
    }
}

void driver_size_add(struct driver_size *size, const struct node *node, bool is_head)
{
    const struct core_settings *settings = size->settings;
    bool is_ours = node->offering < settings->offering_count;
    if (!is_ours || !(is_head || node_state_table[node->state].is_pending ||
                      node_state_table[node->state].is_running)) {
        return;
    }
    uint32_t number = is_head ? settings->head_type : settings->offerings[node->offering].type;
    const struct plan_type *type = &settings->types[number];
    bool is_seen = node->capacity_count > 0;
    const struct capacity *capacities = is_seen ? node->capacities : type->capacities;
    size_t count = is_seen ? node->capacity_count : type->capacity_count;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < DRIVER_SIZES; j++) {
            if (capacities[i].name == size->names[j] && capacities[i].total > 0) {
                size->sums[j] += capacities[i].total;
                size->has[j] = true;
            }
        }
    }
}

struct str driver_size_line(const struct driver_size *size, struct arena *arena)
{
    struct str text = STR("Resized to");
    for (size_t i = 0; i < DRIVER_SIZES; i++) {
        if (i == 0 || size->has[i]) {
            text = arena_printf(arena, "%.*s%s %lld %ss", STR_ARG(text), i > 0 ? "," : "",
                                (long long)(size->sums[i] / RESOURCE_UNIT), size_words[i]);
        }
    }
    return arena_printf(arena, "%.*s.", STR_ARG(text));
}

struct str driver_infeasible_line(const struct pending_demand *demand, struct arena *arena)
{
    static const char *const whats[DEMAND_SOURCE_COUNT] = {
        [DEMAND_TASKS] = "resource requests",
        [DEMAND_PLACEMENT_GROUP] = "placement group requests",
        [DEMAND_REQUEST_RESOURCES] = "cluster constraint",
        [DEMAND_TRAINING] = "replicas of a training job",
    };
    struct str labels = demand->labels.len > 0
                            ? arena_printf(arena, " with labels %.*s", STR_ARG(demand->labels))
                            : STR("");
    return arena_printf(arena,
                        "No available node types can fulfill %s %.*s*%lld%.*s: %.*s. Add "
                        "suitable node types to this cluster to resolve this issue.",
                        whats[demand->source], STR_ARG(demand->shape), (long long)demand->count,
                        STR_ARG(labels), STR_ARG(demand->why));
}
