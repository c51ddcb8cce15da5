/* service_explain.c: questions about the cluster, and their answers. */
#include "app/head/explain/service_explain.h"

#include "app/head/explain/explain_parts.h"

enum {
    DEMANDS_MAX = 8,
    FAILURES_MAX = 4,
};

/* ---- money ---- */

static void explain_cost(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    const struct insight *insight = scene->insight;
    int64_t known = 0;
    size_t count = 0;
    size_t unknown = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        if (view->phase != PHASE_GONE && view->phase != PHASE_FAILED) {
            count++;
            known += view->price >= 0 ? view->price : 0;
            unknown += view->price < 0;
        }
    }
    bool is_told = insight->price >= 0;
    if (is_told || unknown < count) {
        explain_line(sheet, "%.*s for %zu node%s, those on their way included%s.",
                     STR_ARG(words_price(is_told ? insight->price : known, sheet->arena)), count,
                     count == 1 ? "" : "s", is_told ? "" : ", and what is not known");
    }
    struct str fix = STR("");
    if (!is_told && unknown > 0) {
        explain_line(sheet, "The price of %zu of them is not known.", unknown);
        fix = STR("say what they cost: metadata.shoal.prices: {m5.large: 0.096}");
    }
    if (insight->price_limit >= 0) {
        explain_line(sheet, "No launch may take it beyond %.*s (metadata.shoal.max_hourly_cost).",
                     STR_ARG(words_price(insight->price_limit, sheet->arena)));
    } else {
        explain_line(sheet, "There is no limit; metadata.shoal.max_hourly_cost sets one.");
    }
    explain_give(sheet, STR("What does it cost?"), fix);
}

/* ---- the cluster ---- */

static size_t explain_demands(struct explain_sheet *sheet, struct str about)
{
    const struct insight *insight = sheet->scene->insight;
    size_t told = 0;
    for (size_t i = 0; i < insight->demand_count; i++) {
        const struct insight_demand *demand = &insight->demands[i];
        bool is_held = demand->source == INSIGHT_CONSTRAINT && demand->unmet == 0;
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
        explain_give(
            sheet,
            arena_printf(sheet->arena, "And %zu more kinds of requests wait.", told - DEMANDS_MAX),
            STR(""));
    }
    return told;
}

static size_t explain_failures(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    size_t told = 0;
    for (size_t i = 0; i < scene->node_count && told < FAILURES_MAX; i++) {
        if (scene->nodes[i].phase == PHASE_FAILED) {
            explain_failure(sheet, &scene->nodes[i]);
            told++;
        }
    }
    return told;
}

/* Nothing waits and nothing failed. */
static void explain_calm(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    size_t coming = 0;
    size_t idle = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        coming += explain_is_coming(&scene->nodes[i]);
        idle += !scene->nodes[i].is_head && scene->nodes[i].idle_since_ms > 0;
    }
    explain_line(sheet, "Nothing waits: no task, actor or placement group asks for more than there "
                        "is.");
    if (coming > 0) {
        explain_line(sheet, "%zu node%s on %s way.", coming, coming == 1 ? " is" : "s are",
                     coming == 1 ? "its" : "their");
    }
    if (idle > 0) {
        explain_line(sheet, "%zu node%s idle; shoal explain FILE NODE says when one goes.", idle,
                     idle == 1 ? " is" : "s are");
    }
    explain_give(sheet, STR("Why is nothing launched?"), STR(""));
}

/* One reason for all of them. */
static void say_waiting(struct explain_sheet *sheet)
{
    const struct insight *insight = sheet->scene->insight;
    int64_t waiting = 0;
    for (size_t i = 0; i < insight->demand_count; i++) {
        waiting += insight->demands[i].source == INSIGHT_CONSTRAINT ? 0 : insight->demands[i].count;
    }
    if (waiting > 0) {
        explain_line(sheet, "%lld request%s for that.", (long long)waiting,
                     waiting == 1 ? " waits" : "s wait");
    }
}

static void explain_all(struct explain_sheet *sheet)
{
    struct str fix = STR("");
    if (explain_block(sheet, &fix)) {
        say_waiting(sheet);
        explain_give(sheet, STR("Why does nothing happen?"), fix);
        explain_failures(sheet);
    } else if (explain_demands(sheet, STR("")) + explain_failures(sheet) == 0) {
        explain_calm(sheet);
    }
    explain_cost(sheet);
}

/* ---- one thing ---- */

static const struct node_view *find_node(const struct explain_scene *scene, struct str about)
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

static bool refuse(const struct explain_sheet *sheet, struct str about, struct err *err)
{
    const struct explain_scene *scene = sheet->scene;
    AUTO_BUF struct buf names;
    buf_init(&names, 400);
    for (size_t i = 0; i < scene->node_count && names.len < 200; i++) {
        buf_addf(&names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(scene->nodes[i].name));
    }
    return err_set(err, ERR_NOT_FOUND,
                   "nothing here is called \"%.*s\", and no request that waits has it; there are "
                   "%.*s",
                   STR_ARG(words_plain(about, sheet->arena)),
                   STR_ARG(names.len > 0 ? buf_str(&names) : STR("no nodes")));
}

bool explain(const struct explain_scene *scene, struct str about, struct arena *arena,
             explain_fn *take, void *context, struct err *err)
{
    struct explain_sheet sheet = {.scene = scene, .arena = arena, .take = take, .context = context};
    const struct node_view *view = find_node(scene, about);
    if (about.len == 0) {
        explain_all(&sheet);
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
           refuse(&sheet, about, err);
}
