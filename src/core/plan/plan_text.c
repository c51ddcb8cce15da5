/* plan_text.c: formats plans. */
#include "core/plan.h"

#include "core/format.h"

static struct str plan_text_type_name(const struct plan_input *input, uint32_t type)
{
    return type < input->type_count ? input->types[type].name : STR("none");
}

static struct str request_text(const struct plan_input *input, const struct request *request,
                               struct arena *arena)
{
    if (!request || request->amount_count == 0) {
        return STR("an empty request");
    }
    return format_request(input->names, request, arena);
}

static struct str too_large_text(const struct plan_input *input, const struct refusal *refusal,
                                 struct arena *arena)
{
    struct str name = intern_text(input->names, refusal->resource);
    struct str wanted = format_amount_of(name, refusal->wanted, arena);
    if (refusal->type >= input->type_count) {
        return arena_printf(arena, "%.*s: no node type has this resource", STR_ARG(wanted));
    }
    struct str offered = format_amount(name, refusal->offered, arena);
    struct str type = plan_text_type_name(input, refusal->type);
    return arena_printf(arena, "%.*s: no node type has that much; the largest is %.*s with %.*s",
                        STR_ARG(wanted), STR_ARG(type), STR_ARG(offered));
}

struct str plan_reason_text(const struct plan_input *input, const struct refusal *refusal,
                            struct arena *arena)
{
    struct str request = request_text(input, refusal->request, arena);
    struct str type = plan_text_type_name(input, refusal->type);
    long long limit = (long long)refusal->limit;
    switch (refusal->cause) {
    case REFUSED_TOO_LARGE:
        return too_large_text(input, refusal, arena);
    case REFUSED_COMBINATION:
        return arena_printf(arena, "%.*s: no single node type has all of it", STR_ARG(request));
    case REFUSED_LABELS:
        return arena_printf(arena,
                            "%.*s: node types that are large enough, such as %.*s, lack the labels",
                            STR_ARG(request), STR_ARG(type));
    case REFUSED_TYPE_LIMIT:
        return arena_printf(arena,
                            "%.*s: every node type that fits is at its max_workers (%.*s: "
                            "%lld)",
                            STR_ARG(request), STR_ARG(type), limit);
    case REFUSED_CLUSTER_LIMIT:
        return arena_printf(arena, "%.*s: the cluster is at its limit of %lld nodes",
                            STR_ARG(request), limit);
    case REFUSED_TOGETHER:
        return arena_printf(arena,
                            "%.*s: each request fits alone, but the group does not fit at "
                            "once",
                            STR_ARG(request));
    case REFUSED_UNAVAILABLE: {
        struct str wait = format_span(refusal->limit, arena);
        return arena_printf(arena,
                            "%.*s: %.*s would fit, but cannot be launched now; next try in %.*s",
                            STR_ARG(request), STR_ARG(type), STR_ARG(wait));
    }
    case REFUSED_PRICE_UNKNOWN:
        return arena_printf(arena,
                            "%.*s: %.*s would fit, but its price is unknown and max_hourly_cost "
                            "is set",
                            STR_ARG(request), STR_ARG(type));
    case REFUSED_STOPPED:
        return arena_printf(arena,
                            "%.*s: %.*s would fit, but is no longer launched after %lld "
                            "failures; fix the cause (shoal explain shows it) and run shoal up",
                            STR_ARG(request), STR_ARG(type), limit);
    }
    return STR("");
}

static struct str price_text(const struct plan_input *input, const struct plan_launch *launch,
                             struct arena *arena)
{
    if (input->strategy != PLAN_PRICE) {
        return STR("");
    }
    if (launch->price == PRICE_UNKNOWN) {
        return STR(" at an unknown price");
    }
    struct str each = format_price(input->types[launch->type].price, arena);
    return arena_printf(arena, " at %.*s", STR_ARG(each));
}

struct str plan_launch_text(const struct plan_input *input, const struct plan_launch *launch,
                            struct arena *arena)
{
    static const char *const causes[LAUNCH_CAUSE_COUNT] = {
        [LAUNCH_MIN_NODES] = "to keep min_workers",
        [LAUNCH_CONSTRAINT] = "for request_resources",
        [LAUNCH_GANGS] = "for placement groups",
        [LAUNCH_DEMAND] = "for pending demand",
    };
    struct str name = plan_text_type_name(input, launch->type);
    struct str price = price_text(input, launch, arena);
    struct str text = arena_printf(arena, "%lldx %.*s%.*s:", (long long)launch->count,
                                   STR_ARG(name), STR_ARG(price));
    const char *separator = " ";
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        if (launch->count_by_cause[i] > 0) {
            text = arena_printf(arena, "%.*s%s%lld %s", STR_ARG(text), separator,
                                (long long)launch->count_by_cause[i], causes[i]);
            separator = ", ";
        }
    }
    if (launch->saving > 0) {
        struct str saving = format_price(launch->saving, arena);
        text = arena_printf(arena,
                            "%.*s; all launches together cost %.*s less than with Ray's "
                            "planner",
                            STR_ARG(text), STR_ARG(saving));
    }
    return text;
}

struct str plan_end_text(const struct plan_input *input, const struct plan_end *end,
                         struct arena *arena)
{
    struct str type = plan_text_type_name(input, plan_node_at(input, end->node).type);
    switch (end->cause) {
    case END_NONE:
        break;
    case END_OUTDATED:
        return arena_printf(arena, "%.*s: its node type was changed or removed", STR_ARG(type));
    case END_MAX_OF_TYPE:
        return arena_printf(arena, "%.*s: more nodes than its max_workers of %lld", STR_ARG(type),
                            (long long)end->limit);
    case END_MAX_NODES:
        return arena_printf(arena, "%.*s: more nodes in the cluster than the limit of %lld",
                            STR_ARG(type), (long long)end->limit);
    case END_IDLE:
        return arena_printf(arena, "%.*s: idle for %lld s, longer than the limit of %lld s",
                            STR_ARG(type), (long long)(end->idle_ms / 1000),
                            (long long)(end->limit / 1000));
    }
    return STR("");
}
