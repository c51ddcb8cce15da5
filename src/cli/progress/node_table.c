/* node_table.c: prints columns as wide as their content. */
#include "cli/progress/node_table.h"

#include "base/utf8.h"
#include "cli/columns.h"

enum { GAP = 2, CELL_MAX = 40, LINE_BYTES = 16 * 1024, NOTE_MIN = 10, ID_SHORT = 7 };

enum { NAME, TYPE, MACHINE, ID, STATE, ADDRESS, AGE, PRICE, NOTE, COLUMNS };

static const char *const titles[COLUMNS] = {"NAME",    "TYPE", "MACHINE", "ID",  "STATE",
                                            "ADDRESS", "AGE",  "$/H",     "NOTE"};

struct node_table_row {
    struct str cells[COLUMNS];
    enum node_phase phase;
};

static struct str node_table_age_text(struct arena *arena, int64_t ms)
{
    AUTO_BUF struct buf age;
    buf_init(&age, 64);
    columns_add_age(&age, ms);
    return arena_str(arena, buf_str(&age));
}

static struct str node_table_state_text(struct arena *arena, const struct node_view *view,
                                        int64_t now_ms)
{
    const char *phase = node_phase_text(view->phase);
    if (view->phase == PHASE_SETTING_UP && view->step > 0) {
        return arena_printf(arena, "%s %zu/%zu", phase, view->step, view->steps);
    }
    if (view->phase == PHASE_READY && view->is_draining) {
        return STR("ready, draining");
    }
    const char *ready = view->is_outdated ? "ready, outdated" : "ready";
    if (view->phase == PHASE_READY && view->idle_since_ms > 0) {
        return arena_printf(arena, "%s, idle %.*s", ready,
                            STR_ARG(node_table_age_text(arena, now_ms - view->idle_since_ms)));
    }
    if (view->phase == PHASE_READY) {
        return str_from(ready);
    }
    return str_from(phase);
}

/* Dollars per hour with the significant digits only. */
static struct str node_table_price_text(struct arena *arena, int64_t price)
{
    enum { DIGITS = 1000, HALF = 500 };
    if (price < 0) {
        return STR("-");
    }
    int64_t digits = (price + HALF) / DIGITS;
    return arena_printf(arena, "%lld.%03lld", (long long)(digits / DIGITS),
                        (long long)(digits % DIGITS));
}

/* The most important of: the error, the current step, the reason for the node. */
static struct str node_table_note_text(struct arena *arena, const struct node_view *view)
{
    const struct node_failure *failure = &view->failure;
    if (view->phase == PHASE_FAILED) {
        struct str rest = failure->said;
        struct str said = str_cut(&rest, '\n');
        return arena_printf(arena, "%.*s%s%.*s", STR_ARG(failure->step),
                            failure->step.len > 0 && said.len > 0 ? ": " : "", STR_ARG(said));
    }
    return view->detail.len > 0 && view->phase != PHASE_READY ? view->detail : view->reason;
}

static struct node_table_row node_table_row_of(struct arena *arena, const struct node_view *view,
                                               int64_t now_ms)
{
    struct str address = view->public_ip.len > 0 ? view->public_ip : view->private_ip;
    return (struct node_table_row){
        .cells = {view->name, view->type,
                  view->is_spot ? arena_printf(arena, "%.*s spot", STR_ARG(view->machine))
                                : view->machine,
                  view->id, node_table_state_text(arena, view, now_ms), address,
                  view->requested_ms > 0 ? node_table_age_text(arena, now_ms - view->requested_ms)
                                         : STR("-"),
                  node_table_price_text(arena, view->price), node_table_note_text(arena, view)},
        .phase = view->phase,
    };
}

static void print_row(struct buf *out, const struct str *cells, const size_t *widths, size_t width,
                      const char *colour)
{
    AUTO_BUF struct buf line;
    size_t used = 0;
    buf_init(&line, LINE_BYTES);
    for (size_t i = 0; i < NOTE; i++) {
        if (widths[i] > 0) {
            columns_add_padded(&line, cells[i], widths[i]);
            buf_add_spaces(&line, GAP);
            used += widths[i] + GAP;
        }
    }
    size_t room = width == 0 ? LINE_BYTES : width > used ? width - used : 0;
    columns_add(&line, cells[NOTE], widths[NOTE] > 0 ? room : 0);
    while (line.len > 0 && line.ptr[line.len - 1] == ' ') {
        line.len--;
    }
    buf_addf(out, "%s%.*s%s\n", colour, STR_ARG(buf_str(&line)), *colour ? "\033[0m" : "");
}

/* Columns up to the note, with the gap behind each. */
static size_t used_of(const size_t *widths)
{
    size_t used = 0;
    for (size_t i = 0; i < NOTE; i++) {
        used += widths[i] > 0 ? widths[i] + GAP : 0;
    }
    return used;
}

/*
 * A narrow screen omits what `status -o json` has: most of the id, then whole
 * columns. The notes keep some room, because they say why; without notes they need none.
 */
static void narrow(size_t *widths, size_t width, bool has_notes)
{
    static const size_t spare[] = {ADDRESS, TYPE, MACHINE, ID, PRICE, AGE};
    size_t note = widths[NOTE] < NOTE_MIN ? widths[NOTE] : NOTE_MIN;
    size_t needed = has_notes ? note : 0;
    if (width == 0) {
        return;
    }
    if (used_of(widths) + needed > width) {
        widths[ID] = widths[ID] < ID_SHORT ? widths[ID] : ID_SHORT;
    }
    for (size_t i = 0; i < ARRAY_LEN(spare) && used_of(widths) + needed > width; i++) {
        widths[spare[i]] = 0;
    }
    widths[NOTE] = used_of(widths) + note <= width ? widths[NOTE] : 0;
}

void table_print_nodes(struct buf *out, struct arena *arena, const struct node_view *nodes,
                       size_t count, int64_t now_ms, size_t width, bool colour)
{
    struct node_table_row *rows = ARENA_ARRAY(arena, count, struct node_table_row);
    struct str heads[COLUMNS];
    size_t widths[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        heads[i] = str_from(titles[i]);
        widths[i] = utf8_width(heads[i]);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = node_table_row_of(arena, &nodes[i], now_ms);
        for (size_t j = 0; j < COLUMNS; j++) {
            size_t wide = utf8_width(rows[i].cells[j]);
            wide = wide < CELL_MAX ? wide : CELL_MAX;
            widths[j] = wide > widths[j] ? wide : widths[j];
        }
    }
    bool has_notes = widths[NOTE] > utf8_width(heads[NOTE]);
    narrow(widths, width, has_notes);
    print_row(out, heads, widths, width, "");
    for (size_t i = 0; i < count; i++) {
        const char *paint = !colour                         ? ""
                            : rows[i].phase == PHASE_FAILED ? "\033[1;31m"
                            : rows[i].phase == PHASE_READY  ? "\033[32m"
                                                            : "";
        print_row(out, rows[i].cells, widths, width, paint);
    }
}
