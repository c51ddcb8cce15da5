/* top_model.c: keeps copies of the received state. */
#include "cli/top/top_model.h"

#include "io/xalloc.h"
#include "provider/price.h"

#include <stdio.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000 };

void top_model_init(struct top_model *model)
{
    *model = (struct top_model){0};
    arena_init(&model->status_texts);
    arena_init(&model->index_memory);
}

/* ---- nodes ---- */

struct looked_for {
    const struct top_model *model;
    struct str name;
};

static bool is_it(const void *context, size_t position)
{
    const struct looked_for *looked_for = context;
    return str_eq(looked_for->model->nodes[position].view.name, looked_for->name);
}

static struct top_node *top_model_find_node(const struct top_model *model, struct str name)
{
    struct looked_for looked_for = {model, name};
    size_t at = table_find(&model->index, str_hash(name), is_it, &looked_for);
    return at == TABLE_NONE ? NULL : &model->nodes[at];
}

static void index_node(struct top_model *model, size_t at)
{
    table_add(&model->index, &model->index_memory, str_hash(model->nodes[at].view.name), at);
}

static void index_all(struct top_model *model)
{
    model->index = (struct table){0};
    arena_clear(&model->index_memory);
    for (size_t i = 0; i < model->node_count; i++) {
        index_node(model, i);
    }
}

static int64_t paid_ms(const struct node_view *view, int64_t now_ms)
{
    int64_t until = view->phase == PHASE_TERMINATED ? view->since_ms : now_ms;
    return view->requested_ms > 0 && view->id.len > 0 && until > view->requested_ms
               ? until - view->requested_ms
               : 0;
}

static double cost_of(const struct node_view *view, int64_t now_ms)
{
    return view->price == PRICE_UNKNOWN
               ? 0
               : (double)view->price * (double)paid_ms(view, now_ms) / HOUR_MS;
}

/* The service sends no price for a failed node whose instance no longer exists. */
static bool is_gone(const struct node_view *view)
{
    return view->phase == PHASE_FAILED && view->price == PRICE_UNKNOWN;
}

/* Keeps the cost of a failed node when its instance ends. */
static bool settle(struct top_model *model, const struct node_view *before,
                   const struct node_view *view, int64_t now_ms)
{
    bool has_ended = is_gone(view) && before->price != PRICE_UNKNOWN;
    model->gone_spending += has_ended ? cost_of(before, now_ms + model->ahead_ms) : 0;
    return has_ended;
}

/* The message about a terminated node may have only its name, so the other fields are kept. */
static void top_model_handle_end(struct top_node *node, int64_t now_ms)
{
    if (node && node->view.phase != PHASE_TERMINATED) {
        node->view.phase = PHASE_TERMINATED;
        node->view.since_ms = now_ms;
        node->view.use_count = 0;
    }
}

static void top_model_handle_node(struct top_model *model, const struct node_view *view,
                                  int64_t now_ms)
{
    struct arena fresh;
    struct top_node *node = top_model_find_node(model, view->name);
    if (view->phase == PHASE_TERMINATED) {
        top_model_handle_end(node, now_ms + model->ahead_ms);
        return;
    }
    arena_init(&fresh);
    struct node_view copy = node_view_copy(&fresh, view);
    if (node) {
        bool is_settled = node->is_settled || settle(model, &node->view, view, now_ms);
        arena_clear(&node->texts);
        *node = (struct top_node){copy, fresh, is_settled};
        return;
    }
    HEAP_ROOM(model->nodes, model->node_count, model->node_capacity);
    model->nodes[model->node_count++] = (struct top_node){copy, fresh, false};
    index_node(model, model->node_count - 1);
}

void top_model_prune(struct top_model *model, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->node_count; i++) {
        struct top_node *node = &model->nodes[i];
        int64_t gone_ms = now_ms + model->ahead_ms - node->view.since_ms;
        if (node->view.phase == PHASE_TERMINATED && gone_ms > TOP_GONE_SHOWN_MS) {
            model->gone_spending += cost_of(&node->view, node->view.since_ms);
            arena_clear(&node->texts);
        } else {
            model->nodes[kept++] = *node;
        }
    }
    if (kept < model->node_count) {
        model->node_count = kept;
        index_all(model);
    }
}

/* ---- money ---- */

bool top_model_spent(const struct top_model *model, int64_t now_ms, double *ret_spent)
{
    double spent = model->gone_spending;
    bool is_whole = true;
    for (size_t i = 0; i < model->node_count; i++) {
        const struct node_view *view = &model->nodes[i].view;
        spent += cost_of(view, now_ms + model->ahead_ms);
        is_whole = is_whole && (view->price != PRICE_UNKNOWN || model->nodes[i].is_settled);
    }
    *ret_spent = spent;
    return is_whole;
}

bool top_model_price(const struct top_model *model, int64_t *ret_price)
{
    int64_t price = 0;
    bool is_whole = true;
    if (model->status.price >= 0) {
        *ret_price = model->status.price;
        return true;
    }
    for (size_t i = 0; i < model->node_count; i++) {
        const struct node_view *view = &model->nodes[i].view;
        if (view->phase != PHASE_TERMINATED && !is_gone(view) && view->id.len > 0) {
            price += view->price != PRICE_UNKNOWN ? view->price : 0;
            is_whole = is_whole && view->price != PRICE_UNKNOWN;
        }
    }
    *ret_price = price;
    return is_whole;
}

/* ---- demands and events ---- */

static struct top_demand *find_demand(const struct top_model *model,
                                      const struct pending_demand *demand)
{
    for (size_t i = 0; i < model->demand_count; i++) {
        const struct pending_demand *known = &model->demands[i].demand;
        if (known->source == demand->source && str_eq(known->shape, demand->shape) &&
            str_eq(known->labels, demand->labels) && str_eq(known->job, demand->job)) {
            return &model->demands[i];
        }
    }
    return NULL;
}

static void apply_demand(struct top_model *model, const struct pending_demand *demand)
{
    struct arena fresh;
    struct top_demand *known = find_demand(model, demand);
    if (demand->count <= 0) {
        if (known) {
            arena_clear(&known->texts);
            *known = model->demands[--model->demand_count];
        }
        return;
    }
    arena_init(&fresh);
    struct pending_demand copy = *demand;
    fields_copy(&pending_demand_table, &fresh, &copy);
    copy.bytes = STR("");
    if (known) {
        arena_clear(&known->texts);
    } else {
        HEAP_ROOM(model->demands, model->demand_count, model->demand_capacity);
        known = &model->demands[model->demand_count++];
    }
    *known = (struct top_demand){copy, fresh};
}

int64_t top_model_newest(const struct top_model *model)
{
    return model->event_count > 0 ? model->events[model->event_count - 1].event.number : 0;
}

static void apply_event(struct top_model *model, const struct cluster_event *event)
{
    struct arena fresh;
    if (event->number <= top_model_newest(model)) {
        return; /* repeated by another connection */
    }
    if (!model->events) {
        model->events = heap_zeroed(TOP_EVENTS_KEPT * sizeof(*model->events));
    }
    if (model->event_count == TOP_EVENTS_KEPT) {
        arena_clear(&model->events[0].texts);
        memmove(model->events, model->events + 1, (TOP_EVENTS_KEPT - 1) * sizeof(*model->events));
        model->event_count--;
    }
    arena_init(&fresh);
    struct cluster_event copy = *event;
    fields_copy(&cluster_event_table, &fresh, &copy);
    model->events[model->event_count++] = (struct top_event){copy, fresh};
}

/* ---- receiving ---- */

static void apply_status(struct top_model *model, const struct ctl_status *status, int64_t now_ms)
{
    struct arena fresh;
    arena_init(&fresh);
    struct ctl_status copy = *status;
    fields_copy(&ctl_status_table, &fresh, &copy);
    arena_clear(&model->status_texts);
    model->status_texts = fresh;
    model->status = copy;
    model->is_told = true;
    model->ahead_ms = status->now_ms > 0 ? status->now_ms - now_ms : 0;
}

void top_model_apply(struct top_model *model, const struct ctl_line *line, int64_t now_ms)
{
    switch (line->kind) {
    case CTL_STATUS:
        apply_status(model, &line->status, now_ms);
        break;
    case CTL_NODE:
        top_model_handle_node(model, &line->node, now_ms);
        break;
    case CTL_DEMAND:
        apply_demand(model, &line->demand);
        break;
    case CTL_EVENT:
        apply_event(model, &line->event);
        break;
    case CTL_ERROR:
        snprintf(model->trouble, sizeof(model->trouble), "%.*s", STR_ARG(line->text));
        break;
    case CTL_GREETING:
    case CTL_LOG:
    case CTL_DONE:
    case CTL_END:
    case CTL_EXPLAIN:
    case CTL_TEXT:
    case CTL_OTHER:
        break;
    }
}

void top_model_forget(struct top_model *model)
{
    for (size_t i = 0; i < model->node_count; i++) {
        arena_clear(&model->nodes[i].texts);
    }
    for (size_t i = 0; i < model->demand_count; i++) {
        arena_clear(&model->demands[i].texts);
    }
    model->node_count = model->demand_count = 0;
    index_all(model);
    model->trouble[0] = '\0';
}

void top_model_clear(struct top_model *model)
{
    top_model_forget(model);
    for (size_t i = 0; i < model->event_count; i++) {
        arena_clear(&model->events[i].texts);
    }
    free(model->nodes);
    free(model->demands);
    free(model->events);
    arena_clear(&model->status_texts);
    arena_clear(&model->index_memory);
    *model = (struct top_model){0};
}
