/*
 * preflight_text.c: formats findings as lines, with control characters from the cloud made visible.
 */
#include "app/preflight_text.h"

#include "app/node_params.h"
#include "base/attr.h"
#include "base/utf8.h"

struct preflight_counts preflight_text_count(const struct finding *findings, size_t count)
{
    struct preflight_counts counts = {0};
    for (size_t i = 0; i < count; i++) {
        counts.errors += findings[i].level == FINDING_ERROR;
        counts.warnings += findings[i].level == FINDING_WARNING;
        counts.fine += findings[i].level == FINDING_FINE;
        counts.unchecked += findings[i].unchecked.len > 0;
    }
    return counts;
}

/* Further rows have the same cause; -o json prints all. */
enum { ROWS_SHOWN = 20 };

static size_t preflight_text_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adds the text, padded with blanks to the width. */
static void preflight_text_add_column(struct buf *out, struct str text, size_t width)
{
    utf8_add_visible(out, text, false);
    buf_add_spaces(out, width > text.len ? width - text.len : 0);
}

void preflight_text_fine(struct buf *out, const struct finding *findings, size_t count)
{
    size_t width = 0;
    for (size_t i = 0; i < count; i++) {
        width = preflight_text_larger(
            width, findings[i].level == FINDING_FINE ? findings[i].subject.len : 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (findings[i].level == FINDING_FINE) {
            preflight_text_add_column(out, findings[i].subject, width + 2);
            utf8_add_visible(out, findings[i].text, false);
            buf_add_char(out, '\n');
        }
    }
}

/* ---- problems ---- */

/* " (cluster.yaml:5)"; nothing if the key is not in the file. */
static void preflight_text_add_place(struct buf *out, const struct value *tree, struct str path)
{
    struct place place = node_params_place(tree, path);
    if (path.len > 0 && place.line > 0) {
        buf_add_c(out, " (");
        utf8_add_visible(out, place.source->name, false);
        buf_addf(out, ":%u)", place.line);
    }
}

static void preflight_text_add_row(struct buf *out, const struct finding_row *row,
                                   const size_t *widths, const struct value *tree)
{
    bool has_remedy = row->remedy.len > 0;
    buf_add_c(out, "  ");
    preflight_text_add_column(out, row->name, widths[0] + 2);
    preflight_text_add_column(out, row->where, widths[1] > 0 ? widths[1] + 2 : 0);
    preflight_text_add_column(out, row->why, has_remedy ? widths[2] + 2 : 0);
    if (has_remedy) {
        buf_add_c(out, "-> ");
        utf8_add_visible(out, row->remedy, false);
    }
    preflight_text_add_place(out, tree, row->path);
    buf_add_c(out, has_remedy ? " would allow it\n" : "\n");
}

static void add_rows(struct buf *out, const struct finding *finding, const struct value *tree)
{
    size_t count = finding->row_count < ROWS_SHOWN ? finding->row_count : ROWS_SHOWN;
    size_t widths[3] = {0}; /* name, where, and why (of rows with a remedy) */
    for (size_t i = 0; i < count; i++) {
        const struct finding_row *row = &finding->rows[i];
        widths[0] = preflight_text_larger(widths[0], row->name.len);
        widths[1] = preflight_text_larger(widths[1], row->where.len);
        widths[2] = preflight_text_larger(widths[2], row->remedy.len > 0 ? row->why.len : 0);
    }
    buf_add_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        preflight_text_add_row(out, &finding->rows[i], widths, tree);
    }
    if (count < finding->row_count) {
        buf_addf(out, "  and %zu more\n", finding->row_count - count);
    }
}

/* Prints the finding at its position, like a diagnostic of the file. */
static void add_placed(struct buf *out, const struct finding *finding, struct place place,
                       const struct diag_style *style)
{
    bool is_error = finding->level == FINDING_ERROR;
    struct diag diag = {.level = is_error ? DIAG_ERROR : DIAG_WARNING,
                        .code = "cloud",
                        .place = place,
                        .text = finding->text,
                        .hint = finding->remedy};
    diag_print(out, &diag, style);
}

static void add_problem(struct buf *out, const struct finding *finding, const struct value *tree,
                        const struct diag_style *style)
{
    bool is_error = finding->level == FINDING_ERROR;
    struct place place = node_params_place(tree, finding->path);
    bool has_place = finding->path.len > 0 && place.line > 0;
    if (has_place) {
        add_placed(out, finding, place, style);
    } else {
        buf_addf(out, "%s%s:%s ", is_error ? style->error : style->warning,
                 is_error ? "error" : "warning", style->reset);
        utf8_add_visible(out, finding->text, false);
        buf_add_char(out, '\n');
    }
    if (finding->row_count > 0) {
        add_rows(out, finding, tree);
        buf_add_char(out, '\n');
    }
    if (finding->remedy.len > 0 && !has_place) {
        buf_add_c(out, "-> ");
        utf8_add_visible(out, finding->remedy, false);
        buf_add_c(out, finding->row_count > 0 ? "\n\n" : "\n");
    }
}

void preflight_text_problems(struct buf *out, const struct finding *findings, size_t count,
                             const struct value *tree, const struct diag_style *style)
{
    static const enum finding_level levels[] = {FINDING_WARNING, FINDING_ERROR};
    for (size_t level = 0; level < ARRAY_LEN(levels); level++) {
        for (size_t i = 0; i < count; i++) {
            if (findings[i].level == levels[level]) {
                add_problem(out, &findings[i], tree, style);
            }
        }
    }
}
