/* print.c: prints tables and the explanation for a terminal. */
#include "cli/simulate/print.h"

#include "base/utf8.h"

enum { LABEL_COLUMN = 18, PART_INDENT = 2, MOMENT_COLUMN = 14, GAP = 3 };

/* ---- the table ---- */

static void add_padded(struct buf *out, struct str text, size_t width, bool to_the_right)
{
    size_t own = utf8_width(text);
    size_t room = own < width ? width - own : 0;
    if (to_the_right) {
        buf_add_spaces(out, room);
    }
    utf8_add_visible(out, text, false);
    if (!to_the_right) {
        buf_add_spaces(out, room);
    }
}

static size_t wider(size_t width, struct str text)
{
    size_t own = utf8_width(text);
    return own > width ? own : width;
}

static void add_heading(struct buf *out, const struct figures *figures, size_t count, size_t left,
                        const size_t *widths)
{
    buf_add_spaces(out, left);
    for (size_t i = 0; i < count; i++) {
        buf_add_spaces(out, GAP);
        add_padded(out, str_from(figures[i].planner), widths[i], true);
    }
    buf_add_char(out, '\n');
}

static void add_table(struct buf *out, struct arena *arena, const struct figures *figures,
                      size_t count)
{
    struct figure_table table;
    size_t label_width = LABEL_COLUMN;
    size_t note_width = 0;
    size_t widths[PLANNERS_MAX] = {0};
    figures_table(arena, figures, count, &table);
    for (size_t i = 0; i < table.count; i++) {
        const struct figure_row *row = &table.rows[i];
        size_t label = utf8_width(row->label) + (row->is_part ? PART_INDENT : 0);
        label_width = label > label_width ? label : label_width;
        note_width = wider(note_width, row->note);
        for (size_t j = 0; j < count; j++) {
            widths[j] = wider(wider(widths[j], row->values[j]), str_from(figures[j].planner));
        }
    }
    size_t left = label_width + (note_width > 0 ? note_width + 2 : 0);
    if (count > 1) {
        add_heading(out, figures, count, left, widths);
    }
    for (size_t i = 0; i < table.count; i++) {
        const struct figure_row *row = &table.rows[i];
        size_t indent = row->is_part ? PART_INDENT : 0;
        buf_add_spaces(out, indent);
        add_padded(out, row->label, label_width - indent, false);
        if (note_width > 0) {
            buf_add_spaces(out, 2);
            add_padded(out, row->note, note_width, false);
        }
        for (size_t j = 0; j < count; j++) {
            buf_add_spaces(out, GAP);
            add_padded(out, row->values[j], widths[j], true);
        }
        buf_add_char(out, '\n');
    }
}

static void simulate_print_add_line(struct buf *out, struct str text)
{
    utf8_add_visible(out, text, false);
    buf_add_char(out, '\n');
}

/* The inputs of the simulation, so that it can be repeated from the output alone. */
static void simulate_print_add_header(struct buf *out, struct arena *arena,
                                      const struct result *result)
{
    const struct sim_options *options = result->options;
    struct str about = options->workload->about;
    simulate_print_add_line(out, arena_printf(arena, "%.*s, workload %.*s%s%.*s",
                                              STR_ARG(format_cluster(arena, result)),
                                              STR_ARG(options->workload_name),
                                              about.len > 0 ? ": " : "", STR_ARG(about)));
    simulate_print_add_line(out,
                            arena_printf(arena, "%.*s simulated, faults: %s, seed %llu",
                                         STR_ARG(format_time(arena, options->workload->duration)),
                                         options->faults, (unsigned long long)options->seed));
    buf_add_char(out, '\n');
}

void print_figures_text(struct buf *out, struct arena *arena, const struct result *result,
                        const struct figures *figures, const struct spread *spreads)
{
    simulate_print_add_header(out, arena, result);
    add_table(out, arena, figures, result->run_count);
    buf_add_char(out, '\n');
    simulate_print_add_line(out, format_prices(arena, result));
    for (size_t i = 1; i < result->run_count; i++) {
        simulate_print_add_line(out, spreads[i - 1].text);
    }
}

/* ---- explanation ---- */

static bool simulate_print_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct str print_line_body(struct str line)
{
    size_t at = 0;
    while (at < line.len && (simulate_print_is_digit(line.ptr[at]) || line.ptr[at] == '.')) {
        at++;
    }
    return at > 0 && at < line.len && line.ptr[at] == ' ' ? str_sub(line, at + 1, line.len) : line;
}

/* "12m 30.5s": exact, because every line has its own time. */
static struct str moment(struct arena *arena, int64_t ms)
{
    long long minutes = (long long)(ms / 60000);
    long long seconds = (long long)(ms % 60000 / 1000);
    long long tenths = (long long)(ms % 1000 / 100);
    struct str tail = arena_printf(arena, "%02lld.%llds", seconds, tenths);
    return minutes >= 60 ? arena_printf(arena, "%lldh %02lldm %.*s", minutes / 60, minutes % 60,
                                        STR_ARG(tail))
                         : arena_printf(arena, "%lldm %.*s", minutes, STR_ARG(tail));
}

static void simulate_print_add_moment(struct buf *out, struct arena *arena,
                                      const struct run_line *line)
{
    add_padded(out, moment(arena, line->at), MOMENT_COLUMN, true);
    buf_add_spaces(out, 2);
    simulate_print_add_line(out, print_line_body(line->text));
}

/* Equal except for numbers: "instance 4: ..." and "instance 5: ...". */
static bool simulate_print_is_alike(struct str a, struct str b)
{
    size_t i = 0;
    size_t j = 0;
    while (i < a.len && j < b.len) {
        bool both = simulate_print_is_digit(a.ptr[i]) && simulate_print_is_digit(b.ptr[j]);
        if (!both && a.ptr[i] != b.ptr[j]) {
            return false;
        }
        for (; both && i < a.len && simulate_print_is_digit(a.ptr[i]); i++) {
        }
        for (; both && j < b.len && simulate_print_is_digit(b.ptr[j]); j++) {
        }
        i += !both;
        j += !both;
    }
    return i == a.len && j == b.len;
}

/* Of lines that are alike and have the same time, only the first is shown: twenty machines launched
 * at once would repeat each line twenty times. */
static void simulate_print_add_lines(struct buf *out, struct arena *arena,
                                     const struct simulate_run *run)
{
    bool *is_told = ARENA_ARRAY(arena, run->line_count, bool);
    for (size_t i = 0; i < run->line_count; i++) {
        const struct run_line *line = &run->lines[i];
        size_t more = 0;
        if (is_told[i]) {
            continue;
        }
        for (size_t j = i + 1; j < run->line_count && run->lines[j].at == line->at; j++) {
            if (!is_told[j] && simulate_print_is_alike(line->text, run->lines[j].text)) {
                is_told[j] = true;
                more++;
            }
        }
        struct run_line told = *line;
        if (more > 0) {
            told.text = arena_printf(arena, "%.*s (and %zu more like it)", STR_ARG(line->text),
                                     more);
        }
        simulate_print_add_moment(out, arena, &told);
    }
}

static void add_neighbour(struct buf *out, struct arena *arena, const char *which,
                          const struct run_line *line)
{
    if (line->text.len > 0) {
        buf_addf(out, "%s:\n", which);
        simulate_print_add_moment(out, arena, line);
    }
}

void print_explain_text(struct buf *out, struct arena *arena, const struct result *result)
{
    simulate_print_add_header(out, arena, result);
    for (size_t i = 0; i < result->run_count; i++) {
        const struct simulate_run *run = &result->runs[i];
        buf_addf(out, "%splanner %s, around %.*s\n", i > 0 ? "\n" : "", run->planner,
                 STR_ARG(format_time(arena, result->options->explain_at)));
        simulate_print_add_lines(out, arena, run);
        if (run->line_count == 0) {
            buf_add_c(out, "  no events and no decisions\n");
            add_neighbour(out, arena, "before that", &run->before);
            add_neighbour(out, arena, "after that", &run->behind);
        }
    }
}
