/* service_explain.c: the questions, and answers about the cluster as a whole. */
#include "app/head/explain/service_explain.h"

#include "app/head/explain/explain_internal.h"
#include "app/idle_stop.h"

enum {
    DEMANDS_MAX = 8,
    FAILURES_MAX = 4,
    NAMES_MAX = 20,
};

/* ---- cost ---- */

static void explain_cost(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    const struct cluster_status *cluster_status = scene->cluster_status;
    int64_t known = 0;
    size_t count = 0;
    size_t unknown = 0;
    struct str machine = STR("m5.large");
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        if (view->phase != PHASE_TERMINATED && view->phase != PHASE_FAILED) {
            count++;
            known += view->price >= 0 ? view->price : 0;
            unknown += view->price < 0;
            machine = view->price < 0 && view->machine.len > 0 ? view->machine : machine;
        }
    }
    bool is_told = cluster_status->price >= 0;
    if (is_told) { /* a failed instance is billed until the cloud has terminated it */
        count = cluster_status->billed_count;
    }
    if (is_told || unknown < count) {
        explain_line(sheet, "%.*s for %zu instance%s, including pending and failed ones%s.",
                     STR_ARG(format_price(is_told ? cluster_status->price : known, sheet->arena)),
                     count, count == 1 ? "" : "s", is_told ? "" : "; some prices are unknown");
    }
    struct str fix = STR("");
    if (!is_told && unknown > 0) {
        explain_line(sheet, "The price of %zu %s unknown.", unknown,
                     unknown < count ? "of them is"
                     : count == 1    ? "instance is"
                                     : "instances is");
        fix = arena_printf(sheet->arena, "set their prices: metadata.shoal.prices: {%.*s: PRICE}",
                           STR_ARG(machine));
    }
    if (cluster_status->price_limit >= 0) {
        explain_line(sheet,
                     "Launches that would exceed %.*s are refused "
                     "(metadata.shoal.max_hourly_cost).",
                     STR_ARG(format_price(cluster_status->price_limit, sheet->arena)));
    } else {
        explain_line(sheet, "There is no limit; metadata.shoal.max_hourly_cost sets one.");
    }
    explain_give(sheet, STR("What does it cost?"), fix);
}

/* ---- the cluster ---- */

static size_t explain_demands(struct explain_sheet *sheet, struct str about)
{
    const struct cluster_status *cluster_status = sheet->scene->cluster_status;
    size_t told = 0;
    for (size_t i = 0; i < cluster_status->demand_count; i++) {
        const struct pending_demand *demand = &cluster_status->demands[i];
        bool is_held = demand->source == DEMAND_REQUEST_RESOURCES && demand->unmet == 0;
        if (demand->count == 0 || (about.len == 0 ? is_held : !explain_is_demand(demand, about))) {
            continue;
        }
        if (told < DEMANDS_MAX) {
            explain_demand(sheet, demand);
        }
        told++;
    }
    if (told > DEMANDS_MAX) {
        explain_line(sheet, "shoal status lists them all.");
        explain_give(sheet,
                     arena_printf(sheet->arena, "%zu more kinds of requests are waiting.",
                                  told - DEMANDS_MAX),
                     STR(""));
    }
    return told;
}

/* The same command at the same step: one cause, explained once. */
static bool service_explain_is_alike(const struct node_view *a, const struct node_view *b)
{
    return b->phase == PHASE_FAILED && a->failure.command.len > 0 &&
           a->failure.status == b->failure.status && str_eq(a->failure.step, b->failure.step) &&
           str_eq(a->failure.command, b->failure.command);
}

static bool is_explained(const struct explain_scene *scene, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (scene->nodes[i].phase == PHASE_FAILED &&
            service_explain_is_alike(&scene->nodes[i], &scene->nodes[at])) {
            return true;
        }
    }
    return false;
}

/* "worker-4, worker-5 and 3 more": nodes after it that failed in the same way. */
static struct str service_explain_others(const struct explain_sheet *sheet, size_t at)
{
    const struct explain_scene *scene = sheet->scene;
    AUTO_BUF struct buf names;
    size_t count = 0;
    buf_init(&names, 4096);
    for (size_t i = at + 1; i < scene->node_count; i++) {
        if (!service_explain_is_alike(&scene->nodes[at], &scene->nodes[i])) {
            continue;
        }
        if (count < NAMES_MAX) {
            buf_addf(&names, "%s%.*s", count > 0 ? ", " : "", STR_ARG(scene->nodes[i].name));
        }
        count++;
    }
    if (count > NAMES_MAX) {
        buf_addf(&names, " and %zu more", count - NAMES_MAX);
    }
    return arena_str(sheet->arena, buf_str(&names));
}

static size_t explain_failures(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    size_t told = 0;
    for (size_t i = 0; i < scene->node_count && told < FAILURES_MAX; i++) {
        if (scene->nodes[i].phase == PHASE_FAILED && !is_explained(scene, i)) {
            explain_failure(sheet, &scene->nodes[i], service_explain_others(sheet, i));
            told++;
        }
    }
    return told;
}

static void explain_held(struct explain_sheet *sheet)
{
    const struct cluster_status *cluster_status = sheet->scene->cluster_status;
    for (size_t i = 0; i < cluster_status->held_count; i++) {
        explain_line(sheet, "%.*s.", STR_ARG(cluster_status->held[i]));
    }
    if (cluster_status->held_count > 0) {
        explain_give(sheet, STR("Why are there fewer workers than min_workers?"), STR(""));
    }
}

static void explain_idle_stop(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    double minutes = (double)idle_stop_after(scene->config->shoal) / 60000;
    if (scene->idle_stop.len == 0) {
        return;
    }
    explain_line(sheet, "The cluster is %.*s.", STR_ARG(scene->idle_stop));
    explain_line(sheet,
                 "idle_stop stops it after %.4g minutes without work, drivers and use of the head.",
                 minutes);
    explain_give(sheet, STR("When does idle_stop stop the cluster?"), STR(""));
}

/* Nothing is pending and nothing failed. */
static void explain_calm(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    size_t coming = 0;
    size_t idle = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        coming += explain_is_coming(&scene->nodes[i]);
        idle += !scene->nodes[i].is_head && scene->nodes[i].idle_since_ms > 0;
    }
    explain_line(sheet, "Nothing is waiting: every task, actor and placement group has the "
                        "resources it requested.");
    if (coming > 0) {
        explain_line(sheet, "%zu node%s pending.", coming, coming == 1 ? " is" : "s are");
    }
    if (idle > 0) {
        explain_line(sheet,
                     "%zu node%s idle; shoal explain FILE NODE says why a node stays and for how "
                     "long.",
                     idle, idle == 1 ? " is" : "s are");
    }
    explain_give(sheet, STR("Why is nothing launched?"), STR(""));
}

/* Counts the requests that wait for the common reason. */
static void service_explain_send_pending(struct explain_sheet *sheet)
{
    const struct cluster_status *cluster_status = sheet->scene->cluster_status;
    int64_t waiting = 0;
    for (size_t i = 0; i < cluster_status->demand_count; i++) {
        waiting += cluster_status->demands[i].source == DEMAND_REQUEST_RESOURCES
                       ? 0
                       : cluster_status->demands[i].count;
    }
    if (waiting > 0) {
        explain_line(sheet, "%lld request%s.", (long long)waiting,
                     waiting == 1 ? " is waiting" : "s are waiting");
    }
}

static void service_explain_all(struct explain_sheet *sheet)
{
    struct str fix = STR("");
    if (explain_block(sheet, &fix)) {
        service_explain_send_pending(sheet);
        explain_give(sheet, STR("Why is nothing happening?"), fix);
        explain_failures(sheet);
    } else if (explain_demands(sheet, STR("")) + explain_failures(sheet) > 0 ||
               sheet->scene->cluster_status->held_count > 0) {
        explain_held(sheet);
    } else {
        explain_calm(sheet);
    }
    explain_idle_stop(sheet);
    explain_cost(sheet);
}

/* ---- one subject ---- */

static const struct node_view *service_explain_find_node(const struct explain_scene *scene,
                                                         struct str about)
{
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        bool is_it = str_eq(view->name, about) || str_eq(view->id, about) ||
                     str_eq(view->private_ip, about) || str_eq(view->public_ip, about) ||
                     str_eq(view->ray_id, about);
        if (is_it) {
            return view;
        }
    }
    return NULL;
}

static bool service_explain_reject(const struct explain_sheet *sheet, struct str about,
                                   struct err *err)
{
    const struct explain_scene *scene = sheet->scene;
    AUTO_BUF struct buf names;
    buf_init(&names, 400);
    for (size_t i = 0; i < scene->node_count && names.len < 200; i++) {
        buf_addf(&names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(scene->nodes[i].name));
    }
    return err_set(err, ERR_NOT_FOUND, "no node or waiting request matches \"%.*s\"; nodes: %.*s",
                   STR_ARG(format_plain(about, sheet->arena)),
                   STR_ARG(names.len > 0 ? buf_str(&names) : STR("none")));
}

bool explain(const struct explain_scene *scene, struct str about, struct arena *arena,
             explain_fn *take, void *context, struct err *err)
{
    struct explain_sheet sheet = {.scene = scene, .arena = arena, .take = take, .context = context};
    const struct node_view *view = service_explain_find_node(scene, about);
    if (about.len == 0) {
        service_explain_all(&sheet);
        return true;
    }
    if (view) {
        explain_node(&sheet, view);
        return true;
    }
    if (str_is(about, "cost")) {
        explain_cost(&sheet);
        return true;
    }
    return explain_demands(&sheet, about) > 0 || explain_past_node(&sheet, about) ||
           service_explain_reject(&sheet, about, err);
}
