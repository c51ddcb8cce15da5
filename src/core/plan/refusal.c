/* refusal.c: finds the reason why a request did not fit that a user can act on. */
#include "core/plan/refusal.h"

#include "core/resource.h"

static int64_t total_of(const struct plan_type *type, uint32_t name, const struct names *names)
{
    for (size_t i = 0; i < type->capacity_count; i++) {
        if (type->capacities[i].name == name) {
            return type->capacities[i].total;
        }
    }
    return resource_is_implicit(intern_text(names, name)) ? RESOURCE_UNIT : 0;
}

/* Finds the first amount that no type has; fills in resource, wanted, offered and type. */
static bool is_too_large(const struct plan_input *input, const struct request *request,
                         struct refusal *refusal)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *amount = &request->amounts[i];
        int64_t most = 0;
        uint32_t best = NAME_NONE;
        for (uint32_t j = 0; j < input->type_count; j++) {
            int64_t total = total_of(&input->types[j], amount->name, input->names);
            if (!input->types[j].is_gone && total > most) {
                most = total;
                best = j;
            }
        }
        if (amount->amount > most) {
            *refusal = (struct refusal){
                REFUSED_TOO_LARGE, request, amount->name, amount->amount, most, best, 0};
            return true;
        }
    }
    return false;
}

static bool type_is_large_enough(const struct plan_input *input, const struct plan_type *type,
                                 const struct request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *amount = &request->amounts[i];
        if (amount->amount > total_of(type, amount->name, input->names)) {
            return false;
        }
    }
    return !type->is_gone;
}

static bool type_has_labels(const struct plan_type *type, const struct request *request)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        size_t accepted = 0;
        while (accepted < selector->rule_count &&
               label_rule_accepts(&selector->rules[accepted],
                                  label_value(type->labels, selector->rules[accepted].key))) {
            accepted++;
        }
        if (accepted == selector->rule_count) {
            return true;
        }
    }
    return request->selector_count == 0;
}

struct refusal refusal_explain(const struct fleet *fleet, const struct request *request,
                               bool is_together)
{
    const struct plan_input *input = fleet->input;
    struct refusal refusal = {
        .cause = REFUSED_COMBINATION, .request = request, .resource = NAME_NONE, .type = NAME_NONE};
    if (is_too_large(input, request, &refusal)) {
        return refusal;
    }
    for (uint32_t i = 0; i < input->type_count; i++) {
        if (!type_is_large_enough(input, &input->types[i], request)) {
            continue;
        }
        refusal.type = i;
        refusal.limit = input->types[i].max_nodes;
        refusal.cause = REFUSED_LABELS;
        if (type_has_labels(&input->types[i], request)) {
            refusal.cause = REFUSED_TYPE_LIMIT;
            break;
        }
    }
    if (refusal.cause != REFUSED_TYPE_LIMIT) {
        return refusal;
    }
    if (input->max_nodes >= 0 && fleet->total_nodes >= input->max_nodes) {
        refusal.cause = REFUSED_CLUSTER_LIMIT;
        refusal.limit = input->max_nodes;
    } else if (is_together) {
        refusal.cause = REFUSED_TOGETHER;
    }
    return refusal;
}

struct refusal refusal_explain_all(const struct fleet *fleet, const struct request *requests,
                                   size_t count)
{
    struct refusal refusal = {.cause = REFUSED_TOGETHER, .type = NAME_NONE};
    for (size_t i = 0; i < count; i++) {
        refusal = refusal_explain(fleet, &requests[i], true);
        if (refusal.cause == REFUSED_TOO_LARGE || refusal.cause == REFUSED_COMBINATION ||
            refusal.cause == REFUSED_LABELS) {
            break;
        }
    }
    return refusal;
}
