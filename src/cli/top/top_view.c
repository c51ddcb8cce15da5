/* top_view.c: filters and sorts nodes, and keeps the end of a log. */
#include "cli/top/top_view.h"

#include "base/utf8.h"
#include "io/xalloc.h"
#include "provider/price.h"

#include <ctype.h>

const char *top_sort_name(enum top_sort sort)
{
    static const char *const names[TOP_SORT_COUNT] = {
        [TOP_BY_NAME] = "name",     [TOP_BY_STATE] = "state", [TOP_BY_CPU] = "CPU",
        [TOP_BY_MEMORY] = "memory", [TOP_BY_AGE] = "age",     [TOP_BY_IDLE] = "idle",
        [TOP_BY_PRICE] = "price",
    };
    return names[sort];
}

struct resource_usage top_use(const struct node_view *view, const char *name)
{
    for (size_t i = 0; i < view->use_count; i++) {
        if (str_is(view->uses[i].name, name)) {
            return view->uses[i];
        }
    }
    return (struct resource_usage){0};
}

struct str top_state(const struct node_view *view, struct arena *arena)
{
    if (view->phase == PHASE_SETTING_UP && view->step > 0) {
        return arena_printf(arena, "%s %zu/%zu", node_phase_text(view->phase), view->step,
                            view->steps);
    }
    if (view->phase != PHASE_READY) {
        return str_from(node_phase_text(view->phase));
    }
    if (view->is_draining) {
        return STR("draining");
    }
    return view->idle_since_ms > 0 ? STR("idle") : view->use_count > 0 ? STR("busy") : STR("ready");
}

/* ---- the filter ---- */

static bool top_view_has(struct str text, const char *part)
{
    struct str wanted = str_from(part);
    for (size_t i = 0; i + wanted.len <= text.len; i++) {
        size_t at = 0;
        while (at < wanted.len &&
               tolower((unsigned char)text.ptr[i + at]) == tolower((unsigned char)wanted.ptr[at])) {
            at++;
        }
        if (at == wanted.len) {
            return true;
        }
    }
    return false;
}

static bool passes(const struct node_view *view, const char *filter, struct arena *arena)
{
    struct str texts[] = {view->name, view->type,      view->machine,    view->id,
                          view->zone, view->public_ip, view->private_ip, top_state(view, arena)};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (top_view_has(texts[i], filter)) {
            return true;
        }
    }
    return view->is_spot && top_view_has(STR("spot"), filter);
}

/* ---- the order ---- */

/* The sort key as a number; nodes without it come last. */
static double rank_of(const struct node_view *view, enum top_sort sort)
{
    struct resource_usage use;
    switch (sort) {
    case TOP_BY_STATE:
        return view->phase * 3 + (view->idle_since_ms > 0 ? 2 : view->is_draining ? 1 : 0);
    case TOP_BY_CPU:
    case TOP_BY_MEMORY:
        use = top_use(view, sort == TOP_BY_CPU ? "CPU" : "memory");
        return use.total > 0 ? -use.used / use.total : 1;
    case TOP_BY_AGE:
        return view->requested_ms > 0 ? (double)view->requested_ms : 1e18;
    case TOP_BY_IDLE:
        return view->idle_since_ms > 0 ? (double)view->idle_since_ms : 1e18;
    case TOP_BY_PRICE:
        return view->price == PRICE_UNKNOWN ? 1 : -(double)view->price;
    case TOP_BY_NAME:
    case TOP_SORT_COUNT:
        break;
    }
    return 0;
}

struct ranked {
    const struct node_view *view;
    double rank;
    int64_t number; /* of "worker-12" */
    bool is_reversed;
};

static int64_t top_view_number_of(struct str name)
{
    int64_t number = 0;
    size_t dash = name.len;
    while (dash > 0 && name.ptr[dash - 1] >= '0' && name.ptr[dash - 1] <= '9') {
        dash--;
    }
    return str_to_i64(str_sub(name, dash, name.len), &number) ? number : 0;
}

static int top_view_compare_names(const struct ranked *a, const struct ranked *b)
{
    if (a->view->is_head != b->view->is_head) {
        return a->view->is_head ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return str_cmp(a->view->name, b->view->name);
}

static int top_view_compare(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    int order = a->rank < b->rank ? -1 : a->rank > b->rank ? 1 : top_view_compare_names(a, b);
    return a->is_reversed ? -order : order;
}

const struct node_view **top_list(const struct top_model *model, const struct top_view *look,
                                  struct arena *arena, size_t *ret_count)
{
    struct ranked *ranked = ARENA_ARRAY(arena, model->node_count, struct ranked);
    size_t count = 0;
    for (size_t i = 0; i < model->node_count; i++) {
        const struct node_view *view = &model->nodes[i].view;
        if (look->filter[0] == '\0' || passes(view, look->filter, arena)) {
            ranked[count++] = (struct ranked){view, rank_of(view, look->sort),
                                              top_view_number_of(view->name), look->is_reversed};
        }
    }
    qsort(ranked, count, sizeof(*ranked), top_view_compare);
    const struct node_view **list = ARENA_ARRAY(arena, count, const struct node_view *);
    for (size_t i = 0; i < count; i++) {
        list[i] = ranked[i].view;
    }
    *ret_count = count;
    return list;
}

size_t top_list_chosen(const struct top_view *look, const struct node_view *const *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(list[i]->name, look->chosen)) {
            return i;
        }
    }
    return 0;
}

/* ---- a log ---- */

void top_log_add(struct top_log *log, struct str line)
{
    enum { LINE_MAX_BYTES = 2000 };
    AUTO_BUF struct buf plain;
    buf_init(&plain, LINE_MAX_BYTES);
    utf8_add_unstyled(&plain, str_sub(line, 0, LINE_MAX_BYTES - 1));
    line = buf_str(&plain);
    if (!log->lines) {
        log->lines = heap_zeroed(TOP_LOG_KEPT * sizeof(*log->lines));
    }
    char *copy = heap_zeroed(line.len + 1);
    if (line.len > 0) {
        memcpy(copy, line.ptr, line.len);
    }
    size_t at = (log->first + log->count) % TOP_LOG_KEPT;
    if (log->count == TOP_LOG_KEPT) {
        free(log->lines[at]);
        log->first = (log->first + 1) % TOP_LOG_KEPT;
    } else {
        log->count++;
    }
    log->lines[at] = copy;
}

void top_log_clear(struct top_log *log)
{
    for (size_t i = 0; log->lines && i < TOP_LOG_KEPT; i++) {
        free(log->lines[i]);
    }
    free(log->lines);
    *log = (struct top_log){0};
}
