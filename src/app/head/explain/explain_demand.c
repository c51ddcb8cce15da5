/* explain_demand.c: why requests are pending. */
#include "app/head/explain/explain_internal.h"

#include "base/number.h"

enum { SHOWN_MAX = 4, RESOURCES_MAX = 32 };

/* ---- requested resources ---- */

/* "4", "0.5", "64 GiB" */
static bool explain_demand_read_amount(struct str text, int64_t *ret_amount)
{
    const double gib = 1073741824.0;
    const double most = 1e14;
    bool is_gib = str_ends(text, " GiB");
    double amount;
    if (!number_parse(is_gib ? str_sub(text, 0, text.len - 4) : text, &amount)) {
        return false;
    }
    amount *= is_gib ? gib : 1;
    *ret_amount = amount >= 0 && amount < most ? (int64_t)(amount * RESOURCE_UNIT) : 0;
    return amount >= 0 && amount < most;
}

/* The amounts of "{CPU: 4, GPU: 1} * 3, {...} (PACK)". False if it has another format. */
static bool explain_demand_read_shape(struct str shape, struct resource *items, size_t *ret_count)
{
    *ret_count = 0;
    while (str_find_char(shape, '{') != SIZE_MAX) {
        str_cut(&shape, '{');
        struct str inside = str_cut(&shape, '}');
        while (inside.len > 0) {
            struct str part = str_trim(str_cut(&inside, ','));
            size_t colon = str_find(part, ": ");
            int64_t amount;
            if (colon == SIZE_MAX || *ret_count == RESOURCES_MAX ||
                !explain_demand_read_amount(str_sub(part, colon + 2, part.len), &amount)) {
                return false;
            }
            items[(*ret_count)++] = (struct resource){str_sub(part, 0, colon), amount};
        }
    }
    return *ret_count > 0;
}

static bool explain_demand_fits_type(const struct config_node_type *type,
                                     const struct resource *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!resource_is_implicit(items[i].name) &&
            resource_amount(type->resources, items[i].name) < items[i].amount) {
            return false;
        }
    }
    return true;
}

/* The types whose resources fit it, as bits; 0 if none or unknown. */
static uint64_t explain_demand_fitting(const struct explain_scene *scene,
                                       const struct pending_demand *demand)
{
    struct resource items[RESOURCES_MAX];
    size_t count;
    uint64_t types = 0;
    if (!explain_demand_read_shape(demand->shape, items, &count)) {
        return 0;
    }
    for (size_t i = 0; i < scene->config->node_type_count && i < 64; i++) {
        const struct config_node_type *type = &scene->config->node_types[i];
        if (!type->is_head && type->max_workers > 0 &&
            explain_demand_fits_type(type, items, count)) {
            types |= (uint64_t)1 << i;
        }
    }
    return types;
}

static bool is_of(const struct explain_scene *scene, uint64_t types, struct str name)
{
    for (size_t i = 0; i < scene->config->node_type_count && i < 64; i++) {
        if ((types >> i & 1) != 0 && str_eq(scene->config->node_types[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* ---- answer ---- */

static void say_fit(struct explain_sheet *sheet, uint64_t types, int64_t since_ms, bool is_one)
{
    const struct config *config = sheet->scene->config;
    AUTO_BUF struct buf names;
    size_t count = 0;
    buf_init(&names, 1024);
    for (size_t i = 0; i < config->node_type_count && i < 64; i++) {
        if ((types >> i & 1) != 0 && count++ < SHOWN_MAX) {
            buf_addf(&names, "%s%.*s", count > 1 ? ", " : "",
                     STR_ARG(format_plain(config->node_types[i].name, sheet->arena)));
        }
    }
    struct str age = since_ms > 0 ? explain_age(sheet, since_ms) : STR("");
    const char *who = is_one ? "It fits" : "They fit";
    if (since_ms > 0 && count > 0) {
        explain_line(sheet, "Requested %.*s ago. %s node type%s %.*s%s.", STR_ARG(age), who,
                     count == 1 ? "" : "s", STR_ARG(buf_str(&names)),
                     count > SHOWN_MAX ? " and others" : "");
    } else if (since_ms > 0) {
        explain_line(sheet, "Requested %.*s ago.", STR_ARG(age));
    } else if (count > 0) {
        explain_line(sheet, "%s node type%s %.*s.", who, count == 1 ? "" : "s",
                     STR_ARG(buf_str(&names)));
    }
}

/* Lists pending nodes that could run it. */
static size_t say_coming(struct explain_sheet *sheet, uint64_t types)
{
    const struct explain_scene *scene = sheet->scene;
    AUTO_BUF struct buf names;
    size_t count = 0;
    buf_init(&names, 1024);
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        if (!explain_is_coming(view) || (types != 0 && !is_of(scene, types, view->type))) {
            continue;
        }
        if (count++ < SHOWN_MAX) {
            buf_addf(&names, "%s%.*s (%s", count > 1 ? ", " : "", STR_ARG(view->name),
                     node_phase_text(view->phase));
            if (view->step > 0) {
                buf_addf(&names, " %zu/%zu", view->step, view->steps);
            }
            buf_add_char(&names, ')');
        }
    }
    if (count > 0) {
        explain_line(sheet, "%zu node%s pending: %.*s%s.", count, count == 1 ? " is" : "s are",
                     STR_ARG(buf_str(&names)), count > SHOWN_MAX ? ", ..." : "");
    }
    return count;
}

/* What the user can do about a cause. */
static struct str fix_of(enum pending_cause cause)
{
    static const char *const fixes[PENDING_CAUSE_COUNT] = {
        [CAUSE_NONE] = "",
        [CAUSE_PASSING] = "",
        [CAUSE_TOO_LARGE] = "add a node type with enough of that resource, or request less",
        [CAUSE_COMBINATION] = "add a node type that has all of these resources",
        [CAUSE_LABELS] = "add the labels to a node type (labels), or request other labels",
        [CAUSE_TYPE_LIMIT] = "raise max_workers of that node type, or add a type that fits",
        [CAUSE_CLUSTER_LIMIT] = "raise max_workers of the cluster, or stop other jobs",
        [CAUSE_TOGETHER] = "raise max_workers, or request fewer bundles at once",
        [CAUSE_UNAVAILABLE] = ("allow another zone or instance type, or use on-demand instances"),
        [CAUSE_PRICE_UNKNOWN] = "set its price: metadata.shoal.prices: {m5.large: 0.096}",
        [CAUSE_PRICE] = "raise metadata.shoal.max_hourly_cost, or stop other jobs",
        [CAUSE_RAMP] = "raise upscaling_speed to launch more at once",
        [CAUSE_STOPPED] = "fix what failed, then run shoal up",
    };
    return str_from(fixes[cause]);
}

/* The cloud's error, unless the reason contains it. */
static void say_refusal(struct explain_sheet *sheet, struct str why)
{
    const struct cluster_event *event = explain_event(sheet->scene,
                                                      1u << CLUSTER_EVENT_LAUNCH_FAILED, STR(""));
    struct str said = !event ? STR("") : event->launch != 0 ? event->reason : event->text;
    struct str text = arena_str(sheet->arena, said);
    if (text.len > 0 && str_find(why, text.ptr) == SIZE_MAX) {
        explain_line(sheet, "%.*s ago: %.*s.", STR_ARG(explain_age(sheet, event->wall_ms)),
                     STR_ARG(text));
    }
}

static struct str explain_demand_question_of(struct explain_sheet *sheet,
                                             const struct pending_demand *demand)
{
    struct arena *arena = sheet->arena;
    struct str labels = demand->labels.len > 0
                            ? arena_printf(arena, " with %.*s", STR_ARG(demand->labels))
                            : STR("");
    bool is_one = demand->count == 1;
    if (demand->source == DEMAND_REQUEST_RESOURCES && demand->unmet > 0) {
        return arena_printf(arena, "Why is the requested %lld x %.*s%.*s not available?",
                            (long long)demand->count, STR_ARG(demand->shape), STR_ARG(labels));
    }
    if (demand->source == DEMAND_REQUEST_RESOURCES) {
        return arena_printf(arena, "What does request_resources() for %lld x %.*s%.*s do?",
                            (long long)demand->count, STR_ARG(demand->shape), STR_ARG(labels));
    }
    if (demand->source == DEMAND_TRAINING) {
        return arena_printf(arena, "Why does training job %.*s need %lld more replica%s of %.*s?",
                            STR_ARG(demand->job), (long long)demand->count, is_one ? "" : "s",
                            STR_ARG(demand->shape));
    }
    const char *what = demand->source == DEMAND_PLACEMENT_GROUP ? "placement group" : "request";
    return is_one ? arena_printf(arena, "Why is 1 %s of %.*s%.*s still waiting?", what,
                                 STR_ARG(demand->shape), STR_ARG(labels))
                  : arena_printf(arena, "Why are %lld %ss of %.*s%.*s still waiting?",
                                 (long long)demand->count, what, STR_ARG(demand->shape),
                                 STR_ARG(labels));
}

bool explain_requester(struct explain_sheet *sheet)
{
    const struct gcs_requesters *found = sheet->scene->requesters;
    if (!found || (found->run_count == 0 && !found->has_coordinator)) {
        return false;
    }
    if (found->run_count == 0) {
        explain_line(sheet, "Ray Train or Ray Data has run in this cluster; both request capacity "
                            "this way and renew it every 20 s.");
        return true;
    }
    bool is_one = found->run_count == 1;
    explain_line(sheet,
                 "%s active (%sjob %s%s%s). Ray Train and Ray Data request capacity this way and "
                 "renew it every 20 s.",
                 is_one ? "A Ray Train run is" : "Several Ray Train runs are",
                 is_one ? "" : "one of them: ", found->job,
                 found->entrypoint[0] != '\0' ? ", " : "", found->entrypoint);
    return true;
}

void explain_demand(struct explain_sheet *sheet, const struct pending_demand *demand)
{
    struct str fix = STR("");
    struct str question = explain_demand_question_of(sheet, demand);
    uint64_t types = demand->is_infeasible ? 0 : explain_demand_fitting(sheet->scene, demand);
    say_fit(sheet, types, demand->since_ms, demand->count == 1);
    if (demand->source == DEMAND_REQUEST_RESOURCES) {
        (void)explain_requester(sheet);
    }
    if (explain_block(sheet, &fix)) {
        explain_give(sheet, question, fix);
        return;
    }
    if (demand->is_infeasible) {
        explain_line(sheet, "No node type in the cluster file can run it: %.*s.",
                     STR_ARG(demand->why));
        explain_give(sheet, question, fix_of(demand->cause));
        return;
    }
    if (demand->why.len > 0) {
        if (demand->unmet > 0 && demand->unmet < demand->count) {
            explain_line(sheet, "%lld of them: %.*s.", (long long)demand->unmet,
                         STR_ARG(demand->why));
        } else {
            explain_line(sheet, "%.*s.", STR_ARG(demand->why));
        }
        fix = fix_of(demand->cause);
        if (demand->cause == CAUSE_UNAVAILABLE) {
            say_refusal(sheet, demand->why);
        }
    }
    if (say_coming(sheet, types) == 0 && demand->why.len == 0) {
        bool is_new = sheet->scene->cluster_status->decided_ms < demand->since_ms;
        struct str note = sheet->scene->launch_trouble;
        explain_line(sheet,
                     note.len > 0 ? "The autoscaler reports: %.*s."
                     : is_new     ? "It was requested just now; the next scaling decision "
                                    "handles it."
                     : demand->source == DEMAND_REQUEST_RESOURCES
                         ? "The cluster has the resources, and keeps the nodes that provide "
                           "them."
                     : demand->source == DEMAND_TRAINING
                         ? "The cluster has room for it; shoal train will use it shortly."
                         : "The cluster has room for it; Ray will schedule it shortly.",
                     STR_ARG(note));
    }
    explain_give(sheet, question, fix);
}

/* "GPU", "{GPU: 1}", "{gpu:1}": ignores case, blanks and quotes. */
static size_t explain_demand_fold(struct str text, char *out, size_t room)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len && len + 1 < room; i++) {
        char c = text.ptr[i];
        if (c != ' ' && c != '\'' && c != '"') {
            out[len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    out[len] = '\0';
    return len;
}

bool explain_is_demand(const struct pending_demand *demand, struct str about)
{
    char shape[512];
    char wanted[512];
    size_t len = explain_demand_fold(demand->shape, shape, sizeof(shape));
    explain_demand_fold(about, wanted, sizeof(wanted));
    bool is_job = demand->job.len > 0 && str_eq(demand->job, about);
    return is_job || (wanted[0] != '\0' && str_find((struct str){shape, len}, wanted) != SIZE_MAX);
}
