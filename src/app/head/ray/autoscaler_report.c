/* autoscaler_report.c: failed launches, pending nodes and node types for the report to Ray. */
#include "app/head/ray/autoscaler_report.h"

#include "core/resource.h"

/* ---- failed launches ---- */

bool report_failures_note(struct report_failures *failures, const struct report_failure *failure)
{
    size_t at = 0;
    while (at < failures->count && failures->items[at].type != failure->type) {
        at++;
    }
    if (at == REPORT_FAILURES_MAX) {
        return false;
    }
    failures->count += at == failures->count;
    failures->items[at] = *failure;
    return true;
}

bool report_failures_forget(struct report_failures *failures, uint32_t type)
{
    for (size_t i = 0; i < failures->count; i++) {
        if (failures->items[i].type == type) {
            failures->items[i] = failures->items[--failures->count];
            return true;
        }
    }
    return false;
}

struct ray_failed_request *report_failures_list(const struct report_failures *failures,
                                                const struct type_facts *facts, struct arena *arena)
{
    struct ray_failed_request *list = ARENA_ARRAY(arena, failures->count,
                                                  struct ray_failed_request);
    for (size_t i = 0; i < failures->count; i++) {
        const struct report_failure *failure = &failures->items[i];
        list[i] = (struct ray_failed_request){
            .machine = facts[failure->type].machine,
            .type = facts[failure->type].name,
            .count = failure->count,
            .reason = str_from(failure->reason),
            .asked_s = failure->asked_ms / 1000,
            .failed_s = failure->failed_ms / 1000,
        };
    }
    return list;
}

/* ---- pending nodes ---- */

void report_requests_add(struct report_requests *requests, const struct type_facts *facts,
                         int64_t asked_s, struct arena *arena)
{
    for (size_t i = 0; i < requests->count; i++) {
        struct ray_pending_request *known = &requests->items[i];
        if (str_eq(known->type, facts->name)) {
            known->count++;
            known->asked_s = asked_s < known->asked_s ? asked_s : known->asked_s;
            return;
        }
    }
    ARENA_PUSH(arena, requests->items, requests->count,
               requests->capacity) = (struct ray_pending_request){
        .machine = facts->machine, .type = facts->name, .count = 1, .asked_s = asked_s};
}

struct str report_details(const struct node_view *view, struct arena *arena)
{
    struct str details = str_from(node_phase_text(view->phase));
    if (view->steps > 0 && view->step > 0) {
        details = arena_printf(arena, "%.*s, step %zu of %zu", STR_ARG(details), view->step,
                               view->steps);
    }
    return details;
}

/* ---- version and node types ---- */

int64_t report_version(int64_t last, int64_t wall_ms)
{
    int64_t version = wall_ms * 1000;
    return version > last ? version : last + 1;
}

struct gcs_group *report_groups(const struct core_settings *settings, struct arena *arena)
{
    struct gcs_group *groups = ARENA_ARRAY(arena, settings->type_count, struct gcs_group);
    for (size_t i = 0; i < settings->type_count; i++) {
        const struct plan_type *type = &settings->types[i];
        struct ray_quantity *quantities = ARENA_ARRAY(arena, type->capacity_count,
                                                      struct ray_quantity);
        for (size_t j = 0; j < type->capacity_count; j++) {
            quantities[j] = (struct ray_quantity){
                intern_text(settings->names, type->capacities[j].name),
                (double)type->capacities[j].total / RESOURCE_UNIT};
        }
        groups[i] = (struct gcs_group){.name = type->name,
                                       .resources = quantities,
                                       .resource_count = type->capacity_count,
                                       .min_count = type->min_nodes,
                                       .max_count = type->max_nodes};
    }
    return groups;
}
