/* top_table.c: selects columns that fit and fills them. */
#include "cli/top/top_table.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "provider/price.h"

enum column {
    COLUMN_NAME,
    COLUMN_TYPE,
    COLUMN_MACHINE,
    COLUMN_MARKET,
    COLUMN_STATE,
    COLUMN_CPU,
    COLUMN_GPU,
    COLUMN_MEMORY,
    COLUMN_AGE,
    COLUMN_IDLE,
    COLUMN_PRICE,
    COLUMN_ZONE,
    COLUMN_ADDRESS,
    COLUMN_ID,
    COLUMN_NOTE,
    COLUMN_COUNT,
};

enum {
    MARK = 2,
    GAP = 1,
    BAR = 5,
    BAR_WIDE = 12,
    WIDE = 120,
    NOTE_LEAST = 16,
    NOTE_MOST = 48,
    SHORT = 12,
    LONG = 40
};

static const struct {
    const char *title;
    const char *resource; /* resource of a bar; otherwise NULL */
    bool is_right;
} columns[COLUMN_COUNT] = {
    [COLUMN_NAME] = {"NAME", NULL, false},       [COLUMN_TYPE] = {"TYPE", NULL, false},
    [COLUMN_MACHINE] = {"MACHINE", NULL, false}, [COLUMN_MARKET] = {"MARKET", NULL, false},
    [COLUMN_STATE] = {"STATE", NULL, false},     [COLUMN_CPU] = {"CPU", "CPU", false},
    [COLUMN_GPU] = {"GPU", "GPU", false},        [COLUMN_MEMORY] = {"MEM", "memory", false},
    [COLUMN_AGE] = {"AGE", NULL, true},          [COLUMN_IDLE] = {"IDLE", NULL, true},
    [COLUMN_PRICE] = {"$/H", NULL, true},        [COLUMN_ZONE] = {"ZONE", NULL, false},
    [COLUMN_ADDRESS] = {"ADDRESS", NULL, false}, [COLUMN_ID] = {"ID", NULL, false},
    [COLUMN_NOTE] = {"NOTE", NULL, false},
};

/* Sizes of a column: minimum (a bar alone, short text), with numbers, full width. */
enum size { SIZE_LEAST, SIZE_NUMBERS, SIZE_WHOLE };

/* Columns get room in this order. */
static const struct {
    enum column column;
    enum size size;
} steps[] = {
    {COLUMN_NAME, SIZE_LEAST},   {COLUMN_STATE, SIZE_LEAST},    {COLUMN_CPU, SIZE_LEAST},
    {COLUMN_AGE, SIZE_LEAST},    {COLUMN_TYPE, SIZE_LEAST},     {COLUMN_MEMORY, SIZE_LEAST},
    {COLUMN_GPU, SIZE_LEAST},    {COLUMN_IDLE, SIZE_LEAST},     {COLUMN_MARKET, SIZE_LEAST},
    {COLUMN_STATE, SIZE_WHOLE},  {COLUMN_CPU, SIZE_NUMBERS},    {COLUMN_GPU, SIZE_NUMBERS},
    {COLUMN_PRICE, SIZE_LEAST},  {COLUMN_MEMORY, SIZE_NUMBERS}, {COLUMN_NAME, SIZE_WHOLE},
    {COLUMN_TYPE, SIZE_WHOLE},   {COLUMN_NOTE, SIZE_LEAST},     {COLUMN_MACHINE, SIZE_WHOLE},
    {COLUMN_NOTE, SIZE_WHOLE},   {COLUMN_ADDRESS, SIZE_WHOLE},  {COLUMN_CPU, SIZE_WHOLE},
    {COLUMN_MEMORY, SIZE_WHOLE}, {COLUMN_GPU, SIZE_WHOLE},      {COLUMN_ZONE, SIZE_WHOLE},
    {COLUMN_ID, SIZE_WHOLE},
};

struct cell {
    struct str text;
    struct resource_usage use;
};

struct table_of_nodes {
    const struct top_model *model;
    const struct top_view *look;
    const struct top_rows *rows;
    struct arena *arena;
    struct cell (*cells)[COLUMN_COUNT];
    size_t natural[COLUMN_COUNT]; /* widest text */
    size_t widths[COLUMN_COUNT];  /* 0: not shown */
    size_t gap;                   /* between columns */
};

/* ---- cell contents ---- */

static struct str top_table_age_text(struct arena *arena, int64_t ms)
{
    AUTO_BUF struct buf words;
    buf_init(&words, 64);
    columns_add_age(&words, ms);
    return arena_str(arena, buf_str(&words));
}

static struct str since(const struct table_of_nodes *table, int64_t since_ms)
{
    int64_t now_ms = table->look->now_ms + table->model->ahead_ms;
    return since_ms > 0 ? top_table_age_text(table->arena, now_ms - since_ms) : STR("");
}

static struct str top_table_price_text(struct arena *arena, const struct node_view *view)
{
    if (view->price == PRICE_UNKNOWN) {
        return view->phase == PHASE_FAILED ? STR("-") : STR("?"); /* its instance is gone */
    }
    return arena_printf(arena, "%.3f", (double)view->price / 1e6);
}

/* The most important of: the error, the current step, the reason for the node or its
 * termination. */
static struct str top_table_note_text(struct arena *arena, const struct node_view *view)
{
    const struct node_failure *failure = &view->failure;
    if (view->phase == PHASE_FAILED) {
        struct str said = str_trim(failure->said.len > 0 ? failure->said : failure->why);
        struct str first = str_cut(&said, '\n');
        return arena_printf(arena, "%.*s%s%.*s", STR_ARG(failure->step),
                            failure->step.len > 0 && first.len > 0 ? ": " : "", STR_ARG(first));
    }
    if (view->phase == PHASE_READY) {
        return view->activity.len > 0 ? view->activity : view->reason;
    }
    return view->detail.len > 0 ? view->detail : view->reason;
}

static void top_table_add_amounts(struct table_of_nodes *table, struct cell *cell,
                                  enum column column)
{
    AUTO_BUF struct buf words;
    buf_init(&words, 64);
    if (cell->use.total > 0) {
        top_add_amounts(&words, cell->use.used, cell->use.total, column == COLUMN_MEMORY);
        cell->text = arena_str(table->arena, buf_str(&words));
    }
}

static void fill_row(struct table_of_nodes *table, const struct node_view *view, struct cell *row)
{
    struct arena *arena = table->arena;
    row[COLUMN_NAME].text = view->name;
    row[COLUMN_TYPE].text = view->type;
    row[COLUMN_MACHINE].text = view->machine;
    row[COLUMN_MARKET].text = view->is_spot ? STR("spot") : STR("-");
    row[COLUMN_STATE].text = top_state(view, arena);
    row[COLUMN_AGE].text = since(table, view->requested_ms);
    row[COLUMN_IDLE].text = view->phase == PHASE_READY ? since(table, view->idle_since_ms)
                                                       : STR("");
    row[COLUMN_PRICE].text = top_table_price_text(arena, view);
    row[COLUMN_ZONE].text = view->zone;
    row[COLUMN_ADDRESS].text = view->public_ip.len > 0 ? view->public_ip : view->private_ip;
    row[COLUMN_ID].text = view->id;
    row[COLUMN_NOTE].text = top_table_note_text(arena, view);
    for (size_t i = COLUMN_CPU; i <= COLUMN_MEMORY; i++) {
        row[i].use = top_use(view, columns[i].resource);
        top_table_add_amounts(table, &row[i], (enum column)i);
    }
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        size_t wide = utf8_width(row[i].text);
        table->natural[i] = wide > table->natural[i] ? wide : table->natural[i];
    }
}

/* ---- column widths ---- */

static size_t top_table_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t top_table_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t top_table_width_of(const struct table_of_nodes *table, enum column column,
                                 enum size size)
{
    size_t natural = table->natural[column];
    if (columns[column].resource) {
        return size == SIZE_LEAST     ? BAR
               : size == SIZE_NUMBERS ? BAR + GAP + natural
                                      : BAR_WIDE + GAP + natural;
    }
    if (column == COLUMN_NOTE) {
        return size == SIZE_LEAST
                   ? NOTE_LEAST
                   : top_table_larger(NOTE_LEAST, top_table_smaller(natural, NOTE_MOST));
    }
    natural = top_table_larger(natural, utf8_width(str_from(columns[column].title)));
    return top_table_smaller(natural, size == SIZE_LEAST ? SHORT : LONG);
}

/* A column that is empty for all nodes is hidden: most clusters have no GPUs. */
static bool top_table_is_empty(const struct table_of_nodes *table, enum column column)
{
    bool may_go = column == COLUMN_GPU || column == COLUMN_NOTE || column >= COLUMN_ZONE;
    return may_go && table->natural[column] == 0;
}

static void top_table_lay_out(struct table_of_nodes *table)
{
    size_t left = table->look->columns > MARK ? table->look->columns - MARK : 0;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        enum column column = steps[i].column;
        size_t had = table->widths[column];
        size_t wanted = top_table_width_of(table, column, steps[i].size);
        size_t more = had > 0 ? wanted - top_table_smaller(had, wanted) : wanted + table->gap;
        bool is_first = i == 0; /* always shown */
        if (!top_table_is_empty(table, column) && (more <= left || is_first)) {
            table->widths[column] = top_table_larger(had, top_table_smaller(wanted, left + had));
            left -= top_table_smaller(more, left);
        }
    }
    if (table->widths[COLUMN_NOTE] > 0) {
        table->widths[COLUMN_NOTE] += left;
    }
}

/* ---- drawing ---- */

static const char *state_style(const struct node_view *view)
{
    if (view->phase == PHASE_FAILED) {
        return TOP_RED;
    }
    if (view->phase == PHASE_READY && !view->is_draining) {
        return view->idle_since_ms > 0 ? TOP_DIM : TOP_GREEN;
    }
    return view->phase == PHASE_TERMINATING || view->is_draining ? TOP_YELLOW : "";
}

static void draw_bar(struct top_line *pen, const struct cell *cell, size_t width, size_t numbers,
                     bool is_chosen)
{
    bool has_numbers = width >= BAR + GAP + numbers && numbers > 0;
    size_t bar = has_numbers ? width - GAP - numbers : width;
    if (cell->use.total <= 0) {
        top_line_cell(pen, "", STR("-"), width, false);
        return;
    }
    top_line_bar(pen, is_chosen ? "" : TOP_CYAN, cell->use.used, cell->use.total, bar);
    if (has_numbers) {
        top_line_gap(pen, GAP);
        top_line_cell(pen, "", cell->text, numbers, false);
    }
}

static void draw_titles(const struct table_of_nodes *table, struct top_line *pen)
{
    top_line_gap(pen, MARK);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (table->widths[i] > 0) {
            top_line_cell(pen, TOP_BOLD, str_from(columns[i].title), table->widths[i],
                          columns[i].is_right);
            top_line_gap(pen, table->gap);
        }
    }
    top_line_end(pen);
}

static void draw_row(const struct table_of_nodes *table, struct top_line *pen, size_t number)
{
    const struct node_view *view = table->rows->nodes[number];
    const struct cell *row = table->cells[number];
    bool is_chosen = number == table->rows->chosen;
    bool is_styled = pen->colour;
    buf_add_c(pen->out, is_chosen && is_styled ? TOP_REVERSE : "");
    pen->colour = is_styled && !is_chosen;
    top_line_c(pen, "", is_chosen ? ">" : "");
    top_line_gap(pen, is_chosen ? MARK - 1 : MARK);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        size_t width = table->widths[i];
        if (width == 0) {
            continue;
        }
        if (columns[i].resource) {
            draw_bar(pen, &row[i], width, table->natural[i], is_chosen);
        } else {
            const char *style = i == COLUMN_STATE ? state_style(view) : "";
            top_line_cell(pen, style, row[i].text, width, columns[i].is_right);
        }
        top_line_gap(pen, table->gap);
    }
    if (is_chosen && is_styled) {
        top_line_go_right(pen, 0);
        buf_add_c(pen->out, TOP_RESET);
    }
    pen->colour = is_styled;
    top_line_end(pen);
}

void top_table_draw(struct buf *out, const struct top_model *model, const struct top_view *look,
                    const struct top_rows *rows, struct arena *arena)
{
    struct table_of_nodes table = {
        .model = model,
        .look = look,
        .rows = rows,
        .arena = arena,
        .gap = look->columns >= WIDE ? GAP + 1 : GAP,
    };
    struct top_line pen = {.out = out, .columns = look->columns, .colour = look->colour};
    table.cells = arena_array(arena, rows->count, sizeof(*table.cells));
    for (size_t i = 0; i < rows->count; i++) {
        fill_row(&table, rows->nodes[i], table.cells[i]);
    }
    top_table_lay_out(&table);
    draw_titles(&table, &pen);
    for (size_t i = 0; i < rows->count; i++) {
        draw_row(&table, &pen, i);
    }
}
