/* insight_why.c: causes and words for what waits. */
#include "app/head/explain/insight_why.h"

#include "core/words.h"

enum { WORDS_SHAPES = 3 };

const char *insight_stance_words(enum stance stance, bool is_ending)
{
    switch (stance) {
    case STANCE_ACTING:
        return "";
    case STANCE_NOT_STARTED:
        return "what was written down is still being read";
    case STANCE_NO_LEASE:
        return "the lease of the cluster is not ours at the moment";
    case STANCE_FENCED:
        return "somebody else acts for this cluster";
    case STANCE_NO_LISTING:
    case STANCE_COUNT:
        break;
    }
    return is_ending ? "the cloud or Ray is out of sight, or was seen again only just now"
                     : "the cloud was not seen yet";
}

/* ---- it has no place ---- */

static struct str refused_text(const struct core_settings *settings, const struct refusal *refusal,
                               const char *trouble, struct arena *arena)
{
    struct plan_input input = {
        .names = settings->names, .types = settings->types, .type_count = settings->type_count};
    struct refusal shown = *refusal;
    if (shown.cause == REFUSED_CLUSTER_LIMIT) { /* to people it is max_workers, without the head */
        struct str request = shown.request ? words_request(input.names, shown.request, arena)
                                           : STR("");
        return arena_printf(arena, "%.*s: the cluster is at its max_workers of %lld",
                            STR_ARG(request), (long long)settings->max_workers);
    }
    if (shown.cause == REFUSED_TYPE_LIMIT && shown.type < input.type_count) {
        shown.limit = input.types[shown.type].max_nodes; /* narrowed by those on their way out */
    }
    struct str text = plan_reason_text(&input, &shown, arena);
    if (shown.cause == REFUSED_UNAVAILABLE && trouble[0] != '\0') {
        text = arena_printf(arena, "%.*s (%s)", STR_ARG(text), trouble);
    }
    return text;
}

struct insight_why insight_refused(const struct core_settings *settings,
                                   const struct refusal *refusal, const char *trouble,
                                   struct arena *arena)
{
    static const enum insight_cause causes[] = {
        [REFUSED_TOO_LARGE] = CAUSE_TOO_LARGE,
        [REFUSED_COMBINATION] = CAUSE_COMBINATION,
        [REFUSED_LABELS] = CAUSE_LABELS,
        [REFUSED_TYPE_LIMIT] = CAUSE_TYPE_LIMIT,
        [REFUSED_CLUSTER_LIMIT] = CAUSE_CLUSTER_LIMIT,
        [REFUSED_TOGETHER] = CAUSE_TOGETHER,
        [REFUSED_UNAVAILABLE] = CAUSE_UNAVAILABLE,
        [REFUSED_PRICE_UNKNOWN] = CAUSE_PRICE_UNKNOWN,
    };
    return (struct insight_why){causes[refusal->cause],
                                refused_text(settings, refusal, trouble, arena)};
}

/* ---- its machine is not launched ---- */

static struct str held_text(const struct core_settings *settings, const struct hold *hold,
                            enum stance launching, const char *trouble, struct arena *arena)
{
    struct str type = settings->types[hold->type].name;
    switch (hold->cause) {
    case HOLD_STANCE:
        return arena_printf(arena, "nothing is launched now: %s",
                            insight_stance_words(launching, false));
    case HOLD_UNAVAILABLE:
        return arena_printf(arena, "%.*s cannot be had now%s%s", STR_ARG(type),
                            trouble[0] != '\0' ? ": " : "", trouble);
    case HOLD_ROOM:
        return STR("machines on their way out still count against max_workers");
    case HOLD_RAMP:
        return arena_printf(arena, "upscaling_speed: more %.*s when those before have come",
                            STR_ARG(type));
    case HOLD_PRICE:
        return arena_printf(arena, "another %.*s would cost more than max_hourly_cost allows",
                            STR_ARG(type));
    case HOLD_PRICE_UNKNOWN:
        return arena_printf(arena, "the price of %.*s is not known and there is a max_hourly_cost",
                            STR_ARG(type));
    case HOLD_TROUBLE:
        return STR("the cloud answers badly: it is tried again soon");
    case HOLD_CAUSE_COUNT:
        break;
    }
    return STR("");
}

struct insight_why insight_held(const struct core_settings *settings, const struct hold *hold,
                                enum stance launching, const char *trouble, struct arena *arena)
{
    static const enum insight_cause causes[HOLD_CAUSE_COUNT] = {
        [HOLD_STANCE] = CAUSE_PASSING,  [HOLD_UNAVAILABLE] = CAUSE_UNAVAILABLE,
        [HOLD_ROOM] = CAUSE_PASSING,    [HOLD_RAMP] = CAUSE_RAMP,
        [HOLD_PRICE] = CAUSE_PRICE,     [HOLD_PRICE_UNKNOWN] = CAUSE_PRICE_UNKNOWN,
        [HOLD_TROUBLE] = CAUSE_PASSING,
    };
    return (struct insight_why){causes[hold->cause],
                                held_text(settings, hold, launching, trouble, arena)};
}

bool insight_fits(const struct capacity *capacities, size_t count, const struct request *request)
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

struct insight_why insight_held_back(const struct core_settings *settings,
                                     const struct request *request, const struct hold *holds,
                                     size_t hold_count, enum stance launching, const char *trouble,
                                     struct arena *arena)
{
    for (size_t i = 0; i < hold_count; i++) {
        const struct plan_type *type = &settings->types[holds[i].type];
        if (insight_fits(type->capacities, type->capacity_count, request)) {
            return insight_held(settings, &holds[i], launching, trouble, arena);
        }
    }
    return (struct insight_why){CAUSE_NONE, STR("")};
}

/* ---- what waits ---- */

static struct str shape_words(const struct names *names, const struct request *request,
                              struct arena *arena)
{
    struct str text = STR("{");
    for (size_t i = 0; i < request->amount_count; i++) {
        struct str name = words_name(names, request->amounts[i].name, arena);
        struct str amount = words_amount(names_text(names, request->amounts[i].name),
                                         request->amounts[i].amount, arena);
        text = arena_printf(arena, "%.*s%s%.*s: %.*s", STR_ARG(text), i > 0 ? ", " : "",
                            STR_ARG(name), STR_ARG(amount));
    }
    return arena_printf(arena, "%.*s}", STR_ARG(text));
}

/* The demand with the highest count below that of `last`, or with the same behind it. */
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

struct str insight_load_words(const struct names *names, const struct ray_load *load,
                              struct arena *arena)
{
    struct str text = STR("");
    size_t at = next_largest(load, SIZE_MAX);
    for (size_t shown = 0; shown < WORDS_SHAPES && at != SIZE_MAX; shown++) {
        struct str shape = shape_words(names, &load->demands[at].request, arena);
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
