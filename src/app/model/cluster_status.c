/* model/cluster_status.c: the fields of pending demands and events, and their names. */
#include "app/model/cluster_status.h"

static const char *const demand_sources[DEMAND_SOURCE_COUNT] = {
    [DEMAND_TASKS] = "tasks",
    [DEMAND_PLACEMENT_GROUP] = "placement_group",
    [DEMAND_REQUEST_RESOURCES] = "request_resources",
    [DEMAND_TRAINING] = "training",
};

static const char *const event_kinds[CLUSTER_EVENT_COUNT] = {
    [CLUSTER_EVENT_LAUNCH] = "launch",
    [CLUSTER_EVENT_JOIN] = "join",
    [CLUSTER_EVENT_DRAIN] = "drain",
    [CLUSTER_EVENT_TERMINATE] = "terminate",
    [CLUSTER_EVENT_SPOT_INTERRUPTION] = "spot_interruption",
    [CLUSTER_EVENT_FAILURE] = "failure",
    [CLUSTER_EVENT_LAUNCH_FAILED] = "launch_failed",
    [CLUSTER_EVENT_INFEASIBLE] = "infeasible",
    [CLUSTER_EVENT_AUTOSCALER] = "autoscaler",
};

static const struct field demand_fields[] = {
    FIELD_OF_CHOICE(struct pending_demand, source, "source", demand_sources, DEMAND_TASKS),
    FIELD(struct pending_demand, shape, "shape", FIELD_TEXT),
    FIELD(struct pending_demand, labels, "labels", FIELD_TEXT),
    FIELD(struct pending_demand, job, "job", FIELD_TEXT),
    FIELD(struct pending_demand, count, "count", FIELD_NUMBER),
    FIELD(struct pending_demand, unmet, "unschedulable", FIELD_NUMBER),
    FIELD(struct pending_demand, is_infeasible, "infeasible", FIELD_FLAG),
    FIELD(struct pending_demand, why, "reason", FIELD_TEXT),
    FIELD(struct pending_demand, since_ms, "since_ms", FIELD_NUMBER),
};
const struct field_table pending_demand_table = FIELD_TABLE(demand_fields);

static const struct field event_fields[] = {
    FIELD(struct cluster_event, number, "number", FIELD_NUMBER),
    FIELD(struct cluster_event, wall_ms, "at_ms", FIELD_NUMBER),
    FIELD_OF_CHOICE(struct cluster_event, kind, "kind", event_kinds, CLUSTER_EVENT_AUTOSCALER),
    FIELD(struct cluster_event, node, "node", FIELD_TEXT),
    FIELD(struct cluster_event, text, "text", FIELD_TEXT),
    FIELD(struct cluster_event, reason, "reason", FIELD_TEXT),
};
const struct field_table cluster_event_table = FIELD_TABLE(event_fields);

struct str pending_demand_text(const struct pending_demand *demand, struct arena *arena)
{
    if (demand->job.len > 0) {
        return arena_printf(arena, "%.*s of training job %.*s", STR_ARG(demand->shape),
                            STR_ARG(demand->job));
    }
    return demand->labels.len > 0 ? arena_printf(arena, "%.*s with %.*s", STR_ARG(demand->shape),
                                                 STR_ARG(demand->labels))
                                  : demand->shape;
}

const char *cluster_event_kind_name(enum cluster_event_kind kind)
{
    return event_kinds[kind];
}

enum cluster_event_kind cluster_event_kind_of(struct str name)
{
    for (unsigned kind = 0; kind < CLUSTER_EVENT_COUNT; kind++) {
        if (str_is(name, event_kinds[kind])) {
            return (enum cluster_event_kind)kind;
        }
    }
    return CLUSTER_EVENT_AUTOSCALER;
}
