/* pending_reason.c: causes and texts for pending requests. */
#include "app/head/explain/pending_reason.h"

#include "core/format.h"

enum { WORDS_SHAPES = 3 };

const char *permission_text(enum permission permission, bool is_ending)
{
    switch (permission) {
    case PERMIT_OK:
    case PERMIT_QUIET: /* the pause ends before the user must do anything */
        return "";
    case PERMIT_NOT_STARTED:
        return "still loading the journal";
    case PERMIT_NO_LEASE:
        return "this service does not hold the cluster lease";
    case PERMIT_FENCED:
        return "another controller has taken over this cluster";
    case PERMIT_HEAD_FAILED:
        return "the setup of the head failed";
    case PERMIT_NO_LISTING:
    case PERMIT_COUNT:
        break;
    }
    return is_ending ? "no recent state from the cloud or from Ray"
                     : "the instances have not been listed yet";
}

/* ---- unmet requests ---- */

static struct str refused_text(const struct core_settings *settings, const struct refusal *refusal,
                               const char *trouble, struct arena *arena)
{
    struct plan_input input = {
        .names = settings->names, .types = settings->types, .type_count = settings->type_count};
    struct refusal shown = *refusal;
    if (shown.cause == REFUSED_CLUSTER_LIMIT) { /* show max_workers, without the head */
        struct str request = shown.request ? format_request(input.names, shown.request, arena)
                                           : STR("");
        return arena_printf(arena, "%.*s: the cluster is at its max_workers of %lld",
                            STR_ARG(request), (long long)settings->max_workers);
    }
    if (shown.cause == REFUSED_TYPE_LIMIT && shown.type < input.type_count) {
        shown.limit = input.types[shown.type].max_nodes; /* not reduced by terminating nodes */
    }
    struct str text = plan_reason_text(&input, &shown, arena);
    if (shown.cause == REFUSED_UNAVAILABLE && trouble[0] != '\0') {
        text = arena_printf(arena, "%.*s (%s)", STR_ARG(text), trouble);
    }
    return text;
}

struct pending_reason pending_refused(const struct core_settings *settings,
                                      const struct refusal *refusal, const char *trouble,
                                      struct arena *arena)
{
    static const enum pending_cause causes[] = {
        [REFUSED_TOO_LARGE] = CAUSE_TOO_LARGE,
        [REFUSED_COMBINATION] = CAUSE_COMBINATION,
        [REFUSED_LABELS] = CAUSE_LABELS,
        [REFUSED_TYPE_LIMIT] = CAUSE_TYPE_LIMIT,
        [REFUSED_CLUSTER_LIMIT] = CAUSE_CLUSTER_LIMIT,
        [REFUSED_TOGETHER] = CAUSE_TOGETHER,
        [REFUSED_UNAVAILABLE] = CAUSE_UNAVAILABLE,
        [REFUSED_PRICE_UNKNOWN] = CAUSE_PRICE_UNKNOWN,
        [REFUSED_STOPPED] = CAUSE_STOPPED,
    };
    return (struct pending_reason){causes[refusal->cause],
                                   refused_text(settings, refusal, trouble, arena)};
}

/* ---- launches held back ---- */

static struct str held_text(const struct core_settings *settings, const struct hold *hold,
                            enum permission launching, const char *trouble, struct arena *arena)
{
    struct str type = settings->types[hold->type].name;
    switch (hold->cause) {
    case HOLD_PERMISSION:
        return arena_printf(arena, "launches are paused: %s", permission_text(launching, false));
    case HOLD_UNAVAILABLE:
        return arena_printf(arena, "%.*s cannot be launched now%s%s", STR_ARG(type),
                            trouble[0] != '\0' ? ": " : "", trouble);
    case HOLD_ROOM:
        return STR("terminating instances still count against max_workers");
    case HOLD_RAMP:
        return arena_printf(arena,
                            "upscaling_speed: more %.*s nodes are launched after the pending ones "
                            "have joined",
                            STR_ARG(type));
    case HOLD_PRICE:
        return arena_printf(arena, "another %.*s would cost more than max_hourly_cost allows",
                            STR_ARG(type));
    case HOLD_PRICE_UNKNOWN:
        return arena_printf(arena, "the price of %.*s is unknown and max_hourly_cost is set",
                            STR_ARG(settings->has_unpriced_head ? STR("the head") : type));
    case HOLD_TROUBLE:
        return STR("waits for another launch, or for cloud API errors to end");
    case HOLD_STOPPED:
        return arena_printf(arena,
                            "%.*s: no more launches after %lld failures; fix what failed (shoal "
                            "explain shows it) and run shoal up",
                            STR_ARG(type), (long long)hold->limit);
    case HOLD_TRIAL:
        return arena_printf(arena,
                            "the setup of a %.*s node failed; no further nodes of this type "
                            "are launched until one is set up",
                            STR_ARG(type));
    case HOLD_CAUSE_COUNT:
        break;
    }
    return STR("");
}

struct pending_reason pending_held(const struct core_settings *settings, const struct hold *hold,
                                   enum permission launching, const char *trouble,
                                   struct arena *arena)
{
    static const enum pending_cause causes[HOLD_CAUSE_COUNT] = {
        [HOLD_PERMISSION] = CAUSE_PASSING, [HOLD_UNAVAILABLE] = CAUSE_UNAVAILABLE,
        [HOLD_ROOM] = CAUSE_PASSING,       [HOLD_RAMP] = CAUSE_RAMP,
        [HOLD_PRICE] = CAUSE_PRICE,        [HOLD_PRICE_UNKNOWN] = CAUSE_PRICE_UNKNOWN,
        [HOLD_TROUBLE] = CAUSE_PASSING,    [HOLD_STOPPED] = CAUSE_STOPPED,
        [HOLD_TRIAL] = CAUSE_PASSING,
    };
    return (struct pending_reason){causes[hold->cause],
                                   held_text(settings, hold, launching, trouble, arena)};
}

bool pending_fits(const struct capacity *capacities, size_t count, const struct request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *amount = &request->amounts[i];
        size_t at = 0;
        while (at < count && capacities[at].name != amount->name) {
            at++;
        }
        if (amount->amount > 0 && (at == count || capacities[at].total < amount->amount)) {
            return false;
        }
    }
    return true;
}

struct pending_reason pending_held_back(const struct core_settings *settings,
                                        const struct request *request, const struct hold *holds,
                                        size_t hold_count, enum permission launching,
                                        const char *trouble, struct arena *arena)
{
    for (size_t i = 0; i < hold_count; i++) {
        const struct plan_type *type = &settings->types[holds[i].type];
        if (pending_fits(type->capacities, type->capacity_count, request)) {
            return pending_held(settings, &holds[i], launching, trouble, arena);
        }
    }
    return (struct pending_reason){CAUSE_NONE, STR("")};
}

/* ---- pending load ---- */

static struct str pending_reason_shape_text(const struct names *names,
                                            const struct request *request, struct arena *arena)
{
    struct str text = STR("{");
    for (size_t i = 0; i < request->amount_count; i++) {
        struct str name = format_name(names, request->amounts[i].name, arena);
        struct str amount = format_amount(intern_text(names, request->amounts[i].name),
                                          request->amounts[i].amount, arena);
        text = arena_printf(arena, "%.*s%s%.*s: %.*s", STR_ARG(text), i > 0 ? ", " : "",
                            STR_ARG(name), STR_ARG(amount));
    }
    return arena_printf(arena, "%.*s}", STR_ARG(text));
}

/* The demand with the next lower count after `last`, or the same count at a later index. */
static size_t next_largest(const struct ray_load *load, size_t last)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < load->demand_count; i++) {
        int64_t count = load->demands[i].count;
        int64_t before = last == SIZE_MAX ? INT64_MAX : load->demands[last].count;
        bool is_next = count < before || (count == before && i > last && last != SIZE_MAX);
        if (is_next && count > 0 && (best == SIZE_MAX || count > load->demands[best].count)) {
            best = i;
        }
    }
    return best;
}

struct str pending_load_text(const struct names *names, const struct ray_load *load,
                             struct arena *arena)
{
    struct str text = STR("");
    size_t at = next_largest(load, SIZE_MAX);
    for (size_t shown = 0; shown < WORDS_SHAPES && at != SIZE_MAX; shown++) {
        struct str shape = pending_reason_shape_text(names, &load->demands[at].request, arena);
        text = arena_printf(arena, "%.*s%s%lld x %.*s", STR_ARG(text), shown > 0 ? ", " : "",
                            (long long)load->demands[at].count, STR_ARG(shape));
        at = next_largest(load, at);
    }
    if (load->gang_count > 0) {
        text = arena_printf(arena, "%.*s%s%zu placement group%s", STR_ARG(text),
                            text.len > 0 ? ", " : "", load->gang_count,
                            load->gang_count == 1 ? "" : "s");
    }
    return text;
}
