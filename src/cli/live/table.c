/* table.c: columns as wide as what is in them. */
#include "cli/live/table.h"

#include "base/utf8.h"
#include "cli/columns.h"

enum { COLUMNS = 9, GAP = 2, CELL_MAX = 40, LINE_BYTES = 16 * 1024, NOTE_MIN = 10 };

static const char *const titles[COLUMNS] = {"NAME",    "TYPE", "MACHINE", "ID",  "STATE",
                                            "ADDRESS", "AGE",  "$/H",     "NOTE"};

struct row {
    struct str cells[COLUMNS];
    enum node_phase phase;
};

static struct str age_words(struct arena *arena, int64_t ms)
{
    AUTO_BUF struct buf age;
    buf_init(&age, 64);
    columns_add_age(&age, ms);
    return arena_str(arena, buf_str(&age));
}

static struct str state_words(struct arena *arena, const struct node_view *view, int64_t now_ms)
{
    const char *phase = node_phase_text(view->phase);
    if (view->phase == PHASE_SETTING_UP && view->step > 0) {
        return arena_printf(arena, "%s %zu/%zu", phase, view->step, view->steps);
    }
    if (view->phase == PHASE_READY && view->is_draining) {
        return STR("ready, draining");
    }
    if (view->phase == PHASE_READY && view->idle_since_ms > 0) {
        return arena_printf(arena, "ready, idle %.*s",
                            STR_ARG(age_words(arena, now_ms - view->idle_since_ms)));
    }
    return str_from(phase);
}

/* Dollars an hour, to what matters of it. */
static struct str price_words(struct arena *arena, int64_t price)
{
    enum { DIGITS = 1000, HALF = 500 };
    if (price < 0) {
        return STR("-");
    }
    int64_t digits = (price + HALF) / DIGITS;
    return arena_printf(arena, "%lld.%03lld", (long long)(digits / DIGITS),
                        (long long)(digits % DIGITS));
}

/* The most telling of: what went wrong, what runs now, why it is there. */
static struct str note_words(struct arena *arena, const struct node_view *view)
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

static struct row row_of(struct arena *arena, const struct node_view *view, int64_t now_ms)
{
    struct str address = view->public_ip.len > 0 ? view->public_ip : view->private_ip;
    return (struct row){
        .cells = {view->name, view->type,
                  view->is_spot ? arena_printf(arena, "%.*s spot", STR_ARG(view->machine))
                                : view->machine,
                  view->id, state_words(arena, view, now_ms), address,
                  view->born_ms > 0 ? age_words(arena, now_ms - view->born_ms) : STR("-"),
                  price_words(arena, view->price), note_words(arena, view)},
        .phase = view->phase,
    };
}

static void print_row(struct buf *out, const struct str *cells, const size_t *widths, size_t width,
                      const char *colour)
{
    AUTO_BUF struct buf line;
    size_t used = 0;
    buf_init(&line, LINE_BYTES);
    for (size_t i = 0; i + 1 < COLUMNS; i++) {
        columns_add_padded(&line, cells[i], widths[i]);
        buf_add_spaces(&line, GAP);
        used += widths[i] + GAP;
    }
    size_t room = width == 0 ? LINE_BYTES : width > used + NOTE_MIN ? width - used : 0;
    columns_add(&line, cells[COLUMNS - 1], room);
    while (line.len > 0 && line.ptr[line.len - 1] == ' ') {
        line.len--;
    }
    buf_addf(out, "%s%.*s%s\n", colour, STR_ARG(buf_str(&line)), *colour ? "\033[0m" : "");
}

void table_print_nodes(struct buf *out, struct arena *arena, const struct node_view *nodes,
                       size_t count, int64_t now_ms, size_t width, bool colour)
{
    struct row *rows = ARENA_ARRAY(arena, count, struct row);
    struct str heads[COLUMNS];
    size_t widths[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        heads[i] = str_from(titles[i]);
        widths[i] = utf8_width(heads[i]);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = row_of(arena, &nodes[i], now_ms);
        for (size_t j = 0; j < COLUMNS; j++) {
            size_t wide = utf8_width(rows[i].cells[j]);
            wide = wide < CELL_MAX ? wide : CELL_MAX;
            widths[j] = wide > widths[j] ? wide : widths[j];
        }
    }
    print_row(out, heads, widths, width, "");
    for (size_t i = 0; i < count; i++) {
        const char *paint = !colour                         ? ""
                            : rows[i].phase == PHASE_FAILED ? "\033[1;31m"
                            : rows[i].phase == PHASE_READY  ? "\033[32m"
                                                            : "";
        print_row(out, rows[i].cells, widths, width, paint);
    }
}
