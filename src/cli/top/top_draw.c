/* top_draw.c: header, nodes, events, keys. */
#include "cli/top/top_draw.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/top/top_pen.h"
#include "cli/top/top_table.h"

enum {
    HEADER_LINES = 4,
    FRAME_LINES = HEADER_LINES + 3, /* and titles, the word above the events, keys */
    EVENTS_LEAST = 3,
    EVENTS_SHARE = 3, /* of the lines that are left, a third */
    SNAPSHOT_EVENTS = 10,
    DEMANDS_NAMED = 8,
    WORD_BYTES = 2048,
    KIND_WIDTH = 10,
    NAME_LEAST = 12,
};

struct drawing {
    struct top_pen pen;
    const struct top_model *model;
    struct top_look *look;
    struct arena *arena;
};

/* ---- the header ---- */

static void add_money(struct drawing *drawing, struct buf *out)
{
    const struct top_model *model = drawing->model;
    int64_t price;
    double spent;
    bool is_whole = top_model_price(model, &price);
    columns_add_hourly(out, price, is_whole);
    is_whole = top_model_spent(model, drawing->look->now_ms, &spent);
    buf_addf(out, "  $%.2f%s so far", spent / 1e6, is_whole ? "" : "+");
}

static void draw_first(struct drawing *drawing)
{
    const struct top_model *model = drawing->model;
    const struct ctl_status *status = &model->status;
    struct top_pen *pen = &drawing->pen;
    AUTO_BUF struct buf money;
    buf_init(&money, WORD_BYTES);
    if (model->is_told) {
        add_money(drawing, &money);
    }
    size_t right = utf8_width(buf_str(&money));
    size_t whole = pen->columns;
    if (whole < right + NAME_LEAST) {
        right = money.len = 0; /* first of all whose it is */
    }
    pen->columns = whole > right + 2 ? whole - right - 2 : 0; /* the money is never cut */
    top_pen_text(pen, TOP_BOLD, model->cluster);
    top_pen_gap(pen, 2);
    top_pen_text(pen, "", model->where);
    top_pen_gap(pen, model->where.len > 0 ? 2 : 0);
    if (status->ray_version.len > 0) {
        top_pen_text(pen, "",
                     arena_printf(drawing->arena, "Ray %.*s  %zu of %zu nodes joined",
                                  STR_ARG(status->ray_version), status->joined, status->wanted));
    } else {
        top_pen_c(pen, TOP_YELLOW, model->is_told ? "Ray does not answer" : "asking the head...");
    }
    pen->columns = whole;
    top_pen_go_right(pen, right);
    top_pen_text(pen, TOP_BOLD, buf_str(&money));
    top_pen_end(pen);
}

/* The most numerous first. */
static void sort_demands(const struct insight_demand **demands, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct insight_demand *moving = demands[i];
        size_t at = i;
        for (; at > 0 && demands[at - 1]->count < moving->count; at--) {
            demands[at] = demands[at - 1];
        }
        demands[at] = moving;
    }
}

/* The largest few of however many there are. */
static size_t largest_demands(const struct top_model *model,
                              const struct insight_demand *ret_demands[DEMANDS_NAMED])
{
    size_t count = 0;
    for (size_t i = 0; i < model->demand_count; i++) {
        const struct insight_demand *demand = &model->demands[i].demand;
        if (count < DEMANDS_NAMED) {
            ret_demands[count++] = demand;
        } else if (demand->count > ret_demands[count - 1]->count) {
            ret_demands[count - 1] = demand;
        }
        sort_demands(ret_demands, count);
    }
    return count;
}

static void draw_demand(struct drawing *drawing)
{
    const struct top_model *model = drawing->model;
    const struct insight_demand *demands[DEMANDS_NAMED];
    struct top_pen *pen = &drawing->pen;
    AUTO_BUF struct buf words;
    buf_init(&words, WORD_BYTES);
    size_t count = largest_demands(model, demands);
    int64_t unmet = model->status.unmet;
    for (size_t i = 0; i < count; i++) {
        struct str shape = str_sub(demands[i]->shape, 0, WORD_BYTES / DEMANDS_NAMED - 40);
        buf_addf(&words, "%s%lld x %.*s", i > 0 ? ", " : "", (long long)demands[i]->count,
                 STR_ARG(shape));
    }
    if (model->demand_count > count) {
        buf_addf(&words, ", and %zu kinds more", model->demand_count - count);
    } else if (count == 0 && model->status.waiting > 0) {
        buf_addf(&words, "%lld requests", (long long)model->status.waiting);
    }
    top_pen_c(pen, "", "Waiting");
    top_pen_gap(pen, 2);
    if (unmet > 0) {
        top_pen_text(pen, TOP_YELLOW,
                     arena_printf(drawing->arena, "(%lld have no place)", (long long)unmet));
        top_pen_gap(pen, 1);
    }
    top_pen_text(pen, "", words.len > 0 ? buf_str(&words) : STR("nothing"));
    top_pen_end(pen);
}

static void draw_use(struct drawing *drawing)
{
    static const char *const names[] = {"CPU", "GPU", "memory"};
    const struct top_model *model = drawing->model;
    struct top_pen *pen = &drawing->pen;
    size_t bar = pen->columns >= 120 ? 20 : 8;
    top_pen_c(pen, "", "In use");
    top_pen_gap(pen, 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_BUF struct buf amounts;
        struct insight_use sum = {0};
        buf_init(&amounts, 64);
        for (size_t j = 0; j < model->node_count; j++) {
            struct insight_use use = top_use(&model->nodes[j].view, names[i]);
            sum.used += use.used;
            sum.total += use.total;
        }
        if (sum.total > 0) {
            top_pen_gap(pen, 2);
            top_pen_c(pen, "", names[i]);
            top_pen_gap(pen, 1);
            top_pen_bar(pen, TOP_CYAN, sum.used, sum.total, bar);
            top_pen_gap(pen, 1);
            top_add_amounts(&amounts, sum.used, sum.total, i == 2);
            top_pen_text(pen, "", buf_str(&amounts));
        }
    }
    top_pen_end(pen);
}

/* The one thing that somebody should know; else nothing. */
static struct str word_of_warning(const struct drawing *drawing, const char **ret_style)
{
    const struct top_model *model = drawing->model;
    const struct ctl_status *status = &model->status;
    *ret_style = TOP_YELLOW;
    if (model->trouble[0]) {
        *ret_style = TOP_RED;
        return str_from(model->trouble);
    }
    if (status->stance.len > 0 && !str_is(status->stance, "acting")) {
        return status->stance;
    }
    if (status->launching.len > 0) {
        return arena_printf(drawing->arena, "nothing is launched: %.*s",
                            STR_ARG(status->launching));
    }
    for (size_t i = 0; i < model->demand_count; i++) {
        const struct insight_demand *demand = &model->demands[i].demand;
        if (demand->unmet > 0 && demand->why.len > 0) {
            return arena_printf(drawing->arena, "%lld x %.*s: %.*s", (long long)demand->unmet,
                                STR_ARG(demand->shape), STR_ARG(demand->why));
        }
    }
    if (status->ending.len > 0) {
        return arena_printf(drawing->arena, "nothing is ended: %.*s", STR_ARG(status->ending));
    }
    return STR("");
}

static void draw_header(struct drawing *drawing)
{
    const char *style;
    draw_first(drawing);
    draw_demand(drawing);
    draw_use(drawing);
    struct str warning = word_of_warning(drawing, &style);
    top_pen_text(&drawing->pen, style, warning);
    top_pen_end(&drawing->pen);
}

/* ---- events ---- */

static const char *event_style(enum insight_event_kind kind)
{
    switch (kind) {
    case EVENT_WORD_FAILURE:
        return TOP_RED;
    case EVENT_WORD_NOTICE:
    case EVENT_WORD_REFUSAL:
    case EVENT_WORD_INFEASIBLE:
        return TOP_YELLOW;
    case EVENT_WORD_JOIN:
        return TOP_GREEN;
    case EVENT_WORD_LAUNCH:
    case EVENT_WORD_DRAIN:
    case EVENT_WORD_END:
    case EVENT_WORD_SERVICE:
    case EVENT_WORD_COUNT:
        break;
    }
    return "";
}

static void draw_event(struct drawing *drawing, const struct insight_event *event)
{
    struct top_pen *pen = &drawing->pen;
    AUTO_BUF struct buf age;
    buf_init(&age, 64);
    columns_add_age(&age, drawing->look->now_ms + drawing->model->ahead_ms - event->wall_ms);
    top_pen_cell(pen, TOP_DIM, buf_str(&age), 5, true);
    top_pen_gap(pen, 2);
    top_pen_cell(pen, event_style(event->kind), str_from(ctl_event_word(event->kind)), KIND_WIDTH,
                 false);
    top_pen_gap(pen, 1);
    if (event->node.len > 0) {
        top_pen_text(pen, "", event->node);
        top_pen_gap(pen, 1);
    }
    top_pen_text(pen, "", event->text);
    if (event->reason.len > 0) {
        top_pen_text(pen, TOP_DIM, STR(":"));
        top_pen_gap(pen, 1);
        top_pen_text(pen, TOP_DIM, event->reason);
    }
    top_pen_end(pen);
}

/* The newest first: its place never changes. */
static void draw_events(struct drawing *drawing, size_t lines)
{
    const struct top_model *model = drawing->model;
    top_pen_c(&drawing->pen, TOP_BOLD, "EVENTS");
    top_pen_end(&drawing->pen);
    for (size_t i = 0; i < lines; i++) {
        if (i < model->event_count) {
            draw_event(drawing, &model->events[model->event_count - 1 - i].event);
        } else {
            top_pen_end(&drawing->pen);
        }
    }
}

/* ---- nodes ---- */

/* So that the chosen one is seen, and no line stays empty that a node could have. */
static void scroll(struct top_look *look, size_t chosen, size_t count, size_t room)
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

static void draw_nodes(struct drawing *drawing, const struct node_view *const *list, size_t count,
                       size_t room)
{
    struct top_look *look = drawing->look;
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
        top_pen_end(&drawing->pen);
    }
}

/* ---- keys ---- */

static void draw_keys(struct drawing *drawing, const char *words)
{
    struct top_look *look = drawing->look;
    struct top_pen *pen = &drawing->pen;
    if (look->is_typing) {
        top_pen_text(pen, TOP_BOLD,
                     arena_printf(drawing->arena, "filter: %s_   Enter keeps it, Esc drops it",
                                  look->filter));
    } else {
        if (look->filter[0] && look->pane == TOP_NODES) {
            top_pen_text(pen, TOP_BOLD, arena_printf(drawing->arena, "filter: %s", look->filter));
            top_pen_gap(pen, 2);
        }
        top_pen_c(pen, TOP_DIM, words);
    }
    top_pen_end(pen);
    pen->out->len--; /* the screen's last line has no end, or it would scroll */
}

/* ---- the panes ---- */

static void draw_overview(struct drawing *drawing)
{
    struct top_look *look = drawing->look;
    size_t count;
    const struct node_view **list = top_list(drawing->model, look, drawing->arena, &count);
    size_t rest = look->lines > FRAME_LINES ? look->lines - FRAME_LINES : 0;
    size_t events = drawing->model->event_count;
    size_t share = rest / EVENTS_SHARE > EVENTS_LEAST ? rest / EVENTS_SHARE : EVENTS_LEAST;
    share = events < share ? events : share;
    size_t most = rest > share ? rest - share : 0;
    size_t nodes = count < most ? count : most;
    draw_header(drawing);
    draw_nodes(drawing, list, count, nodes);
    draw_events(drawing, rest - nodes);
    draw_keys(drawing,
              arena_printf(drawing->arena,
                           "Enter log  l service's log  / filter  s sort: %s%s  "
                           "r reverse  ? keys  q quit",
                           top_sort_name(look->sort), look->is_reversed ? ", reversed" : "")
                  .ptr);
}

static void draw_log(struct drawing *drawing)
{
    struct top_look *look = drawing->look;
    const struct top_log *log = &look->log;
    struct top_pen *pen = &drawing->pen;
    size_t room = look->lines > 3 ? look->lines - 3 : 0;
    size_t most = log->count > room ? log->count - room : 0;
    look->behind = look->behind < most ? look->behind : most;
    size_t first = most - look->behind;
    look->page = room;
    draw_first(drawing);
    top_pen_text(pen, TOP_BOLD, arena_printf(drawing->arena, "LOG of %s", log->name));
    top_pen_gap(pen, 2);
    top_pen_c(pen, TOP_YELLOW, log->trouble);
    top_pen_end(pen);
    for (size_t i = 0; i < room; i++) {
        if (first + i < log->count) {
            size_t at = (log->first + first + i) % TOP_LOG_KEPT;
            top_pen_text(pen, "", str_from(log->lines[at]));
        }
        top_pen_end(pen);
    }
    draw_keys(drawing, look->behind > 0 ? "Up Down PgUp PgDn scroll  End newest  q back"
                                        : "Up Down PgUp PgDn scroll  q back  (follows)");
}

static void draw_help(struct drawing *drawing)
{
    static const char *const lines[][2] = {
        {"Up Down", "choose a node (also k and j)"},
        {"PgUp PgDn", "a screen further"},
        {"Home End", "the first, the last"},
        {"Enter", "the log of the chosen node's set-up, as it grows"},
        {"l", "the log of the autoscaler on the head"},
        {"/", "show only nodes that have these letters in name, type, state, ..."},
        {"Esc", "all nodes again"},
        {"s", "sort by the next of: name, state, CPU, memory, age, idle, price"},
        {"r", "the other way round"},
        {"q", "leave; the cluster goes on"},
    };
    struct top_pen *pen = &drawing->pen;
    size_t room = drawing->look->lines > 3 ? drawing->look->lines - 3 : 0;
    draw_first(drawing);
    top_pen_c(pen, TOP_BOLD, "KEYS");
    top_pen_end(pen);
    for (size_t i = 0; i < room; i++) {
        if (i < ARRAY_LEN(lines)) {
            top_pen_gap(pen, 2);
            top_pen_cell(pen, TOP_BOLD, str_from(lines[i][0]), 11, false);
            top_pen_c(pen, "", lines[i][1]);
        }
        top_pen_end(pen);
    }
    draw_keys(drawing, "any key goes back");
}

static void draw_snapshot(struct drawing *drawing)
{
    size_t count;
    const struct node_view **list = top_list(drawing->model, drawing->look, drawing->arena, &count);
    size_t events = drawing->model->event_count;
    draw_header(drawing);
    draw_nodes(drawing, list, count, count);
    if (events > 0) {
        top_pen_end(&drawing->pen);
        draw_events(drawing, events < SNAPSHOT_EVENTS ? events : SNAPSHOT_EVENTS);
    }
}

/* A screen of fewer lines than the frame shows its beginning. */
static void cut(struct buf *out, size_t from, size_t lines)
{
    size_t ends = 0;
    for (size_t i = from; i < out->len; i++) {
        if (out->ptr[i] == '\n' && ++ends == lines) {
            out->len = i;
        }
    }
}

void top_draw(struct buf *out, const struct top_model *model, struct top_look *look)
{
    struct arena arena;
    size_t from = out->len;
    arena_init(&arena);
    struct drawing drawing = {
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
        cut(out, from, look->lines);
    }
    arena_clear(&arena);
}
