/* top_draw.c: draws header, nodes, events and key help. */
#include "cli/top/top_draw.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/top/top_line.h"
#include "cli/top/top_table.h"

enum {
    HEADER_LINES = 4,
    FRAME_LINES = HEADER_LINES + 4, /* plus titles, a blank line, a heading, keys */
    EVENTS_LEAST = 3,
    EVENTS_SHARE = 3, /* a third of the remaining lines */
    SNAPSHOT_EVENTS = 10,
    DEMANDS_NAMED = 8,
    WORD_BYTES = 2048,
    KIND_WIDTH = 17,
    NAME_LEAST = 12,
};

struct top_draw_drawing {
    struct top_line pen;
    const struct top_model *model;
    struct top_view *look;
    struct arena *arena;
};

/* ---- the header ---- */

static void add_money(struct top_draw_drawing *drawing, struct buf *out)
{
    const struct top_model *model = drawing->model;
    int64_t price;
    double spent;
    bool is_whole = top_model_price(model, &price);
    columns_add_hourly(out, price, is_whole);
    is_whole = top_model_spent(model, drawing->look->now_ms, &spent);
    buf_addf(out, "  $%.2f%s so far", spent / 1e6, is_whole ? "" : "+");
}

/* More may be there than min_workers and the head, which are `wanted` in any case. */
static struct str joined_words(const struct ctl_status *status, struct arena *arena)
{
    if (status->joined < status->wanted) {
        return arena_printf(arena, "%zu of %zu node%s joined", status->joined, status->wanted,
                            status->wanted == 1 ? "" : "s");
    }
    return arena_printf(arena, "%zu node%s joined", status->joined, status->joined == 1 ? "" : "s");
}

static void draw_first(struct top_draw_drawing *drawing)
{
    const struct top_model *model = drawing->model;
    const struct ctl_status *status = &model->status;
    struct top_line *pen = &drawing->pen;
    AUTO_BUF struct buf money;
    buf_init(&money, WORD_BYTES);
    if (model->is_told) {
        add_money(drawing, &money);
    }
    size_t right = utf8_width(buf_str(&money));
    size_t whole = pen->columns;
    if (whole < right + NAME_LEAST) {
        right = money.len = 0; /* the cluster's name has priority */
    }
    pen->columns = whole > right + 2 ? whole - right - 2 : 0; /* never truncate the price */
    top_line_text(pen, TOP_BOLD, model->cluster);
    top_line_gap(pen, 2);
    top_line_text(pen, "", model->where);
    top_line_gap(pen, model->where.len > 0 ? 2 : 0);
    if (status->ray_version.len > 0) {
        top_line_text(pen, "",
                      arena_printf(drawing->arena, "Ray %.*s  %.*s", STR_ARG(status->ray_version),
                                   STR_ARG(joined_words(status, drawing->arena))));
    } else {
        top_line_c(pen, TOP_YELLOW, model->is_told ? "Ray does not answer" : "asking the head...");
    }
    pen->columns = whole;
    top_line_go_right(pen, right);
    top_line_text(pen, TOP_BOLD, buf_str(&money));
    top_line_end(pen);
}

/* Largest count first. */
static void sort_demands(const struct pending_demand **demands, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct pending_demand *moving = demands[i];
        size_t at = i;
        for (; at > 0 && demands[at - 1]->count < moving->count; at--) {
            demands[at] = demands[at - 1];
        }
        demands[at] = moving;
    }
}

/* The few largest demands. */
static size_t largest_demands(const struct top_model *model,
                              const struct pending_demand *ret_demands[DEMANDS_NAMED])
{
    size_t count = 0;
    for (size_t i = 0; i < model->demand_count; i++) {
        const struct pending_demand *demand = &model->demands[i].demand;
        if (count < DEMANDS_NAMED) {
            ret_demands[count++] = demand;
        } else if (demand->count > ret_demands[count - 1]->count) {
            ret_demands[count - 1] = demand;
        }
        sort_demands(ret_demands, count);
    }
    return count;
}

static void draw_demand(struct top_draw_drawing *drawing)
{
    const struct top_model *model = drawing->model;
    const struct pending_demand *demands[DEMANDS_NAMED];
    struct top_line *pen = &drawing->pen;
    AUTO_BUF struct buf words;
    buf_init(&words, WORD_BYTES);
    size_t count = largest_demands(model, demands);
    int64_t unmet = model->status.unmet;
    for (size_t i = 0; i < count; i++) {
        struct str shape = str_sub(pending_demand_text(demands[i], drawing->arena), 0,
                                   WORD_BYTES / DEMANDS_NAMED - 40);
        buf_addf(&words, "%s%lld x %.*s", i > 0 ? ", " : "", (long long)demands[i]->count,
                 STR_ARG(shape));
    }
    if (model->demand_count > count) {
        buf_addf(&words, ", and %zu kinds more", model->demand_count - count);
    } else if (count == 0 && model->status.waiting > 0) {
        buf_addf(&words, "%lld requests", (long long)model->status.waiting);
    }
    top_line_c(pen, "", "Waiting");
    top_line_gap(pen, 2);
    if (unmet > 0) {
        top_line_text(pen, TOP_YELLOW,
                      arena_printf(drawing->arena, "(%lld cannot be placed)", (long long)unmet));
        top_line_gap(pen, 1);
    }
    top_line_text(pen, "", words.len > 0 ? buf_str(&words) : STR("nothing"));
    top_line_end(pen);
}

static void draw_use(struct top_draw_drawing *drawing)
{
    static const char *const names[] = {"CPU", "GPU", "memory"};
    const struct top_model *model = drawing->model;
    struct top_line *pen = &drawing->pen;
    size_t bar = pen->columns >= 120 ? 20 : 8;
    top_line_c(pen, "", "In use");
    top_line_gap(pen, 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_BUF struct buf amounts;
        struct resource_usage sum = {0};
        buf_init(&amounts, 64);
        for (size_t j = 0; j < model->node_count; j++) {
            struct resource_usage use = top_use(&model->nodes[j].view, names[i]);
            sum.used += use.used;
            sum.total += use.total;
        }
        if (sum.total > 0) {
            top_line_gap(pen, 2);
            top_line_c(pen, "", names[i]);
            top_line_gap(pen, 1);
            top_line_bar(pen, TOP_CYAN, sum.used, sum.total, bar);
            top_line_gap(pen, 1);
            top_add_amounts(&amounts, sum.used, sum.total, i == 2);
            top_line_text(pen, "", buf_str(&amounts));
        }
    }
    top_line_end(pen);
}

/* The most important warning, or empty. */
static struct str word_of_warning(const struct top_draw_drawing *drawing, const char **ret_style)
{
    const struct top_model *model = drawing->model;
    const struct ctl_status *status = &model->status;
    *ret_style = TOP_YELLOW;
    if (model->trouble[0]) {
        *ret_style = TOP_RED;
        return str_from(model->trouble);
    }
    if (status->autoscaler == AUTOSCALER_ACTIVE && status->autoscaler_message.len > 0) {
        return status->autoscaler_message;
    }
    if (status->autoscaler > AUTOSCALER_ACTIVE) {
        return status->autoscaler_message.len > 0
                   ? arena_printf(drawing->arena, "autoscaler paused: %.*s",
                                  STR_ARG(status->autoscaler_message))
                   : STR("autoscaler paused");
    }
    if (status->launching.len > 0) {
        return arena_printf(drawing->arena, "launches paused: %.*s", STR_ARG(status->launching));
    }
    for (size_t i = 0; i < model->demand_count; i++) {
        const struct pending_demand *demand = &model->demands[i].demand;
        if (demand->unmet > 0 && demand->why.len > 0) {
            return arena_printf(drawing->arena, "%lld x %.*s: %.*s", (long long)demand->unmet,
                                STR_ARG(pending_demand_text(demand, drawing->arena)),
                                STR_ARG(demand->why));
        }
    }
    if (status->ending.len > 0) {
        return arena_printf(drawing->arena, "scale-down paused: %.*s", STR_ARG(status->ending));
    }
    return STR("");
}

static void top_draw_header(struct top_draw_drawing *drawing)
{
    const char *style;
    draw_first(drawing);
    draw_demand(drawing);
    draw_use(drawing);
    struct str warning = word_of_warning(drawing, &style);
    top_line_text(&drawing->pen, style, warning);
    top_line_end(&drawing->pen);
}

/* ---- events ---- */

static const char *event_style(enum cluster_event_kind kind)
{
    switch (kind) {
    case CLUSTER_EVENT_FAILURE:
        return TOP_RED;
    case CLUSTER_EVENT_SPOT_INTERRUPTION:
    case CLUSTER_EVENT_LAUNCH_FAILED:
    case CLUSTER_EVENT_INFEASIBLE:
        return TOP_YELLOW;
    case CLUSTER_EVENT_JOIN:
        return TOP_GREEN;
    case CLUSTER_EVENT_LAUNCH:
    case CLUSTER_EVENT_DRAIN:
    case CLUSTER_EVENT_TERMINATE:
    case CLUSTER_EVENT_AUTOSCALER:
    case CLUSTER_EVENT_COUNT:
        break;
    }
    return "";
}

static void draw_event(struct top_draw_drawing *drawing, const struct cluster_event *event)
{
    struct top_line *pen = &drawing->pen;
    AUTO_BUF struct buf age;
    buf_init(&age, 64);
    columns_add_age(&age, drawing->look->now_ms + drawing->model->ahead_ms - event->wall_ms);
    top_line_cell(pen, TOP_DIM, buf_str(&age), 5, true);
    top_line_gap(pen, 2);
    top_line_cell(pen, event_style(event->kind), str_from(cluster_event_kind_name(event->kind)),
                  KIND_WIDTH, false);
    top_line_gap(pen, 1);
    if (event->node.len > 0) {
        top_line_text(pen, "", event->node);
        top_line_gap(pen, 1);
    }
    top_line_text(pen, "", event->text);
    if (event->reason.len > 0) {
        top_line_text(pen, TOP_DIM, STR(":"));
        top_line_gap(pen, 1);
        top_line_text(pen, TOP_DIM, event->reason);
    }
    top_line_end(pen);
}

/* Newest first, so that its position never changes. */
static void draw_events(struct top_draw_drawing *drawing, size_t lines)
{
    const struct top_model *model = drawing->model;
    top_line_c(&drawing->pen, TOP_BOLD, "EVENTS");
    top_line_end(&drawing->pen);
    for (size_t i = 0; i < lines; i++) {
        if (i < model->event_count) {
            draw_event(drawing, &model->events[model->event_count - 1 - i].event);
        } else {
            top_line_end(&drawing->pen);
        }
    }
}

/* ---- nodes ---- */

/* Keeps the selected node visible and leaves no line empty that a node could use. */
static void scroll(struct top_view *look, size_t chosen, size_t count, size_t room)
{
    look->page = room;
    if (chosen < look->first) {
        look->first = chosen;
    } else if (room > 0 && chosen >= look->first + room) {
        look->first = chosen - room + 1;
    }
    if (look->first + room > count) {
        look->first = count > room ? count - room : 0;
    }
}

static void draw_nodes(struct top_draw_drawing *drawing, const struct node_view *const *list,
                       size_t count, size_t room)
{
    struct top_view *look = drawing->look;
    bool is_live = look->lines > 0;
    size_t chosen = top_list_chosen(look, list, count);
    scroll(look, chosen, count, room);
    struct top_rows rows = {
        .nodes = list + look->first,
        .count = count - look->first < room ? count - look->first : room,
        .chosen = is_live && count > 0 ? chosen - look->first : SIZE_MAX,
    };
    top_table_draw(drawing->pen.out, drawing->model, look, &rows, drawing->arena);
    for (size_t i = rows.count; i < room; i++) {
        top_line_end(&drawing->pen);
    }
}

/* ---- keys ---- */

static void draw_keys(struct top_draw_drawing *drawing, const char *words)
{
    struct top_view *look = drawing->look;
    struct top_line *pen = &drawing->pen;
    if (look->is_typing) {
        top_line_text(pen, TOP_BOLD,
                      arena_printf(drawing->arena, "filter: %s_   Enter keeps it, Esc drops it",
                                   look->filter));
    } else {
        if (look->filter[0] && look->pane == TOP_NODES) {
            top_line_text(pen, TOP_BOLD, arena_printf(drawing->arena, "filter: %s", look->filter));
            top_line_gap(pen, 2);
        }
        top_line_c(pen, TOP_DIM, words);
    }
    top_line_end(pen);
    pen->out->len--; /* no newline in the last line, which would scroll the screen */
}

/* ---- the panes ---- */

static void draw_overview(struct top_draw_drawing *drawing)
{
    struct top_view *look = drawing->look;
    size_t count;
    const struct node_view **list = top_list(drawing->model, look, drawing->arena, &count);
    size_t rest = look->lines > FRAME_LINES ? look->lines - FRAME_LINES : 0;
    size_t events = drawing->model->event_count;
    size_t share = rest / EVENTS_SHARE > EVENTS_LEAST ? rest / EVENTS_SHARE : EVENTS_LEAST;
    share = events < share ? events : share;
    size_t most = rest > share ? rest - share : 0;
    size_t nodes = count < most ? count : most;
    top_draw_header(drawing);
    draw_nodes(drawing, list, count, nodes);
    top_line_end(&drawing->pen);
    draw_events(drawing, rest - nodes);
    draw_keys(drawing,
              arena_printf(drawing->arena,
                           "Enter log  l service's log  / filter  s sort: %s%s  "
                           "r reverse  ? keys  q quit",
                           top_sort_name(look->sort), look->is_reversed ? ", reversed" : "")
                  .ptr);
}

static void draw_log(struct top_draw_drawing *drawing)
{
    struct top_view *look = drawing->look;
    const struct top_log *log = &look->log;
    struct top_line *pen = &drawing->pen;
    size_t room = look->lines > 3 ? look->lines - 3 : 0;
    size_t most = log->count > room ? log->count - room : 0;
    look->behind = look->behind < most ? look->behind : most;
    size_t first = most - look->behind;
    look->page = room;
    draw_first(drawing);
    top_line_text(pen, TOP_BOLD, arena_printf(drawing->arena, "LOG of %s", log->name));
    top_line_gap(pen, 2);
    top_line_c(pen, TOP_YELLOW, log->trouble);
    top_line_end(pen);
    for (size_t i = 0; i < room; i++) {
        if (first + i < log->count) {
            size_t at = (log->first + first + i) % TOP_LOG_KEPT;
            top_line_text(pen, "", str_from(log->lines[at]));
        }
        top_line_end(pen);
    }
    draw_keys(drawing, look->behind > 0 ? "Up Down PgUp PgDn scroll  End newest  q back"
                                        : "Up Down PgUp PgDn scroll  q back  (follows)");
}

static void draw_help(struct top_draw_drawing *drawing)
{
    static const char *const lines[][2] = {
        {"Up Down", "select a node (also k and j)"},
        {"PgUp PgDn", "scroll by one screen"},
        {"Home End", "select the first or the last node"},
        {"Enter", "follow the setup log of the selected node"},
        {"l", "follow the log of the autoscaler"},
        {"/", "show only nodes whose name, type, state, ... contains this text"},
        {"Esc", "show all nodes again"},
        {"s", "sort by the next of: name, state, CPU, memory, age, idle, price"},
        {"r", "reverse the order"},
        {"q", "quit; the cluster keeps running"},
    };
    struct top_line *pen = &drawing->pen;
    size_t room = drawing->look->lines > 3 ? drawing->look->lines - 3 : 0;
    draw_first(drawing);
    top_line_c(pen, TOP_BOLD, "KEYS");
    top_line_end(pen);
    for (size_t i = 0; i < room; i++) {
        if (i < ARRAY_LEN(lines)) {
            top_line_gap(pen, 2);
            top_line_cell(pen, TOP_BOLD, str_from(lines[i][0]), 11, false);
            top_line_c(pen, "", lines[i][1]);
        }
        top_line_end(pen);
    }
    draw_keys(drawing, "press any key to go back");
}

static void draw_snapshot(struct top_draw_drawing *drawing)
{
    size_t count;
    const struct node_view **list = top_list(drawing->model, drawing->look, drawing->arena, &count);
    size_t events = drawing->model->event_count;
    top_draw_header(drawing);
    draw_nodes(drawing, list, count, count);
    if (events > 0) {
        top_line_end(&drawing->pen);
        draw_events(drawing, events < SNAPSHOT_EVENTS ? events : SNAPSHOT_EVENTS);
    }
}

/* If the screen has fewer lines than the frame, keeps the first ones. */
static void top_draw_cut(struct buf *out, size_t from, size_t lines)
{
    size_t ends = 0;
    for (size_t i = from; i < out->len; i++) {
        if (out->ptr[i] == '\n' && ++ends == lines) {
            out->len = i;
        }
    }
}

void top_draw(struct buf *out, const struct top_model *model, struct top_view *look)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    size_t from = out->len;
    struct top_draw_drawing drawing = {
        .pen = {.out = out, .columns = look->columns, .colour = look->colour},
        .model = model,
        .look = look,
        .arena = &arena,
    };
    if (look->lines == 0) {
        draw_snapshot(&drawing);
    } else if (look->pane == TOP_LOG) {
        draw_log(&drawing);
    } else if (look->pane == TOP_HELP) {
        draw_help(&drawing);
    } else {
        draw_overview(&drawing);
    }
    if (look->lines > 0) {
        top_draw_cut(out, from, look->lines);
    }
}
