/* train_report.c: writes the page from top to bottom. */
#include "cli/train/train_report.h"

#include "cli/page/axes.h"
#include "cli/page/page.h"
#include "cli/simulate/figures.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>

enum { REPORT_BYTES_MAX = 64 * 1024 * 1024, PARTS = 5, ROWS_MAX = 500 };

struct run_page {
    struct buf *out;
    struct arena *arena;
    const struct train_view *view;
    const struct train_history *history;
    double begun, ended; /* seconds since 1970 */
};

static int64_t page_ms(const struct run_page *page, double time)
{
    return (int64_t)((time - page->begun) * 1000);
}

/* ---- curves ---- */

/* Replicas between two times: drawn as steps. During a pause there are none. */
static void add_replicas(const struct run_page *page)
{
    struct buf *out = page->out;
    double most = 1;
    for (size_t i = 0; i < page->history->count; i++) {
        most = fmax(most, (double)page->history->events[i].replicas);
    }
    struct axes axes = axes_make(most, 1, page_ms(page, page->ended), false);
    axes_begin(out, &axes, STR("replicas over time"), "replicas");
    for (int is_line = 0; is_line < 2; is_line++) {
        buf_addf(out, "<path class=\"%s spent\" d=\"M%d %.1f", is_line ? "line" : "area soft",
                 AXES_LEFT, axes_y(&axes, 0));
        for (size_t i = 0; i < page->history->count; i++) {
            const struct history_event *event = &page->history->events[i];
            double x = axes_x(&axes, page_ms(page, event->time));
            double value = event->kind == HISTORY_GENERATION ? (double)event->replicas : 0;
            if (event->kind == HISTORY_GENERATION && event->generation > 1) {
                double from = axes_x(&axes, page_ms(page, event->time - event->pause.total));
                buf_addf(out, "H%.1fV%.1f", from, axes_y(&axes, 0));
            }
            if (event->kind == HISTORY_GENERATION || event->kind == HISTORY_END) {
                buf_addf(out, "H%.1fV%.1f", x, axes_y(&axes, value));
            }
        }
        buf_addf(out, "H%.1f", axes_x(&axes, page_ms(page, page->ended)));
        if (!is_line) {
            buf_addf(out, "V%.1fZ", axes_y(&axes, 0));
        }
        buf_add_c(out, "\"/>");
    }
    axes_add_time(out, page->arena, &axes);
    buf_add_c(out, "</svg>");
}

/* The speed between two samples is unknown, so there is one dot per sample. */
static void add_rates(const struct run_page *page)
{
    struct buf *out = page->out;
    double most = 0;
    for (size_t i = 0; i < page->history->count; i++) {
        most = fmax(most, page->history->events[i].rate);
    }
    struct axes axes = axes_make(most, 0.1, page_ms(page, page->ended), false);
    axes_begin(out, &axes, STR("steps per second over time"), "steps per second");
    bool is_first = true;
    buf_add_c(out, "<path class=\"line rate\" d=\"");
    for (size_t i = 0; i < page->history->count; i++) {
        const struct history_event *event = &page->history->events[i];
        if (event->kind == HISTORY_RATE) {
            buf_addf(out, "%s%.1f %.1f", is_first ? "M" : "L",
                     axes_x(&axes, page_ms(page, event->time)), axes_y(&axes, event->rate));
            is_first = false;
        }
    }
    buf_add_c(out, "\"/>");
    for (size_t i = 0; i < page->history->count; i++) {
        const struct history_event *event = &page->history->events[i];
        if (event->kind == HISTORY_RATE) {
            buf_addf(out,
                     "<circle class=\"rate\" r=\"3\" cx=\"%.1f\" cy=\"%.1f\"><title>%.*s: %.2f "
                     "steps/s with %" PRId64 " replicas, step %" PRId64 "</title></circle>",
                     axes_x(&axes, page_ms(page, event->time)), axes_y(&axes, event->rate),
                     STR_ARG(format_time(page->arena, page_ms(page, event->time))), event->rate,
                     event->replicas, event->step);
        }
    }
    axes_add_time(out, page->arena, &axes);
    buf_add_c(out, "</svg>");
}

/* ---- pauses ---- */

static const char *const part_names[PARTS] = {"save", "transfer", "start", "rendezvous",
                                              "load and first step"};

/* The transfer of the state is a part of the start. */
static void split_pause(const struct pause_parts *pause, double ret_parts[PARTS])
{
    double transfer = fmin(pause->transfer, pause->start);
    ret_parts[0] = pause->save;
    ret_parts[1] = transfer;
    ret_parts[2] = pause->start - transfer;
    ret_parts[3] = pause->rendezvous;
    ret_parts[4] = pause->load;
}

static bool is_pause(const struct history_event *event)
{
    return event->kind == HISTORY_GENERATION && event->generation > 1;
}

static double longest_pause(const struct train_history *history)
{
    double longest = 0;
    for (size_t i = 0; i < history->count; i++) {
        longest = is_pause(&history->events[i]) ? fmax(longest, history->events[i].pause.total)
                                                : longest;
    }
    return longest;
}

static void add_piece(struct buf *out, size_t colour, double from, double to, const char *name,
                      double seconds)
{
    buf_addf(out,
             "<rect class=\"c%zu\" x=\"%.1f\" width=\"%.1f\" height=\"14\"><title>%s %.2f s"
             "</title></rect>",
             colour, from, to - from, name, seconds);
}

/* What no part explains is first: it took time to notice the failure. */
static void add_bar(const struct run_page *page, const struct history_event *event, double longest)
{
    enum { BAR = 300, OTHER_COLOUR = 7 };
    double parts[PARTS];
    double other = event->pause.total;
    double scale = longest > 0 ? BAR / longest : 0;
    split_pause(&event->pause, parts);
    for (size_t i = 0; i < PARTS; i++) {
        other -= parts[i];
    }
    buf_addf(page->out,
             "<svg viewBox=\"0 0 %d 14\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"%.2f s\">",
             BAR, event->pause.total);
    double x = other > 0.005 ? other * scale : 0;
    if (x > 0) {
        add_piece(page->out, OTHER_COLOUR, 0, x, "other", other);
    }
    for (size_t i = 0; i < PARTS; i++) {
        add_piece(page->out, i, x, x + parts[i] * scale, part_names[i], parts[i]);
        x += parts[i] * scale;
    }
    buf_add_c(page->out, "</svg>");
}

static void add_legend(struct buf *out)
{
    buf_add_c(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < PARTS; i++) {
        buf_addf(out, "<li><i class=\"c%zu\"></i>%s</li>", i, part_names[i]);
    }
    buf_add_c(
        out,
        "<li><i class=\"c7\"></i>other, such as the time until a failure is detected</li></ul>\n");
}

static void add_pauses(const struct run_page *page)
{
    double longest = longest_pause(page->history);
    struct buf *out = page->out;
    size_t rows = 0;
    buf_add_c(out,
              "<section class=\"card wide\"><h2>Pauses</h2><p class=\"why\">From the last step "
              "of a generation to the first step of the next.</p>\n");
    add_legend(out);
    buf_add_c(out, "<div class=\"scroll\"><table>\n<thead><tr><th>cause</th><th>at</th>"
                   "<th>replicas</th><th class=\"opt\">steps repeated</th><th>pause</th>"
                   "<th style=\"width:34%\"></th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < page->history->count && rows < ROWS_MAX; i++) {
        const struct history_event *event = &page->history->events[i];
        if (!is_pause(event)) {
            continue;
        }
        rows++;
        buf_add_c(out, "<tr><th>");
        html_add(out, event->text);
        buf_addf(out,
                 "</th><td>%.*s</td><td>%" PRId64 " &#8594; %" PRId64 "</td>"
                 "<td class=\"opt\">%" PRId64 "</td><td>%.2f s</td><td>",
                 STR_ARG(format_time(page->arena, page_ms(page, event->time))),
                 event->replicas_before, event->replicas, event->repeated, event->pause.total);
        add_bar(page, event, longest);
        buf_add_c(out, "</td></tr>\n");
    }
    if (rows == 0) {
        buf_add_c(out, "<tr><th colspan=\"6\">none</th></tr>\n");
    }
    buf_add_c(out, "</tbody></table></div></section>\n");
}

static void add_messages(const struct run_page *page)
{
    struct buf *out = page->out;
    size_t rows = 0;
    for (size_t i = 0; i < page->history->count && rows < ROWS_MAX; i++) {
        const struct history_event *event = &page->history->events[i];
        if (event->kind != HISTORY_MESSAGE) {
            continue;
        }
        if (rows++ == 0) {
            buf_add_c(out, "<section class=\"card wide\"><h2>Messages</h2>\n"
                           "<div class=\"scroll\"><table>\n<tbody>\n");
        }
        buf_add_c(out, "<tr><th>");
        for (struct str rest = str_sub(event->text, 0, 500); rest.len > 0;) {
            html_add(out, str_cut(&rest, '\n'));
            buf_add_c(out, rest.len > 0 ? "<br>" : "");
        }
        buf_addf(out, "</th><td>%.*s</td></tr>\n",
                 STR_ARG(format_time(page->arena, page_ms(page, event->time))));
    }
    if (rows > 0) {
        buf_add_c(out, "</tbody></table></div></section>\n");
    }
}

/* ---- the top ---- */

static void add_sum(struct buf *out, const char *label, struct str value)
{
    buf_addf(out, "<div><dt>%s</dt><dd>", label);
    html_add(out, value);
    buf_add_c(out, "</dd></div>");
}

static void add_top(const struct run_page *page)
{
    const struct train_view *view = page->view;
    struct history_sums sums = train_history_sums(page->history);
    struct arena *arena = page->arena;
    struct buf *out = page->out;
    double length = page->ended - page->begun;
    double useful = length > 0 ? 100 * (1 - fmin(sums.parts.total, length) / length) : 100;
    buf_add_c(out, "<header>\n<h1><span>training job</span> ");
    html_add(out, view->name);
    buf_addf(out, "</h1>\n<p>%s", train_view_phase(view));
    if (view->why.len > 0 && view->phase != TRAIN_RUNNING) {
        buf_add_c(out, ": ");
        html_add(out, view->why);
    }
    buf_add_c(out, "</p>\n</header>\n<section class=\"card\" style=\"margin-top:22px\">"
                   "<dl class=\"sum\">");
    add_sum(out, "duration", format_time(arena, page_ms(page, page->ended)));
    add_sum(out, "steps", arena_printf(arena, "%" PRId64, view->step));
    add_sum(out, "pauses",
            arena_printf(arena, "%" PRId64 ", %.1f s", sums.pauses, sums.parts.total));
    add_sum(out, "time without pauses", arena_printf(arena, "%.1f %%", useful));
    buf_add_c(out, "</dl></section>\n");
}

static void add_card(const struct run_page *page, const char *title, const char *why,
                     void (*add)(const struct run_page *page))
{
    buf_addf(page->out, "<section class=\"card\"><h2>%s</h2><p class=\"why\">%s</p>\n<figure>",
             title, why);
    add(page);
    buf_add_c(page->out, "</figure></section>\n");
}

void train_report_add(struct buf *out, struct arena *arena, const struct train_view *view,
                      const struct train_history *history, double now)
{
    struct run_page page = {out, arena, view, history, now, now};
    if (history->count > 0) {
        page.begun = history->events[0].time;
        page.ended = view->is_running ? now : history->events[history->count - 1].time;
    }
    page_begin(out, arena_printf(arena, "training job %.*s", STR_ARG(view->name)));
    add_top(&page);
    buf_add_c(out, "<div class=\"cards\">\n");
    add_card(&page, "Replicas", "Zero while no replica trains.", add_replicas);
    add_card(&page, "Speed", "Optimizer steps per second.", add_rates);
    add_pauses(&page);
    add_messages(&page);
    buf_add_c(out, "</div>\n<footer><p>Written by shoal " SHOAL_VERSION ".</p></footer>\n");
    page_end(out);
}

bool train_report_write(const char *path, struct arena *arena, const struct train_view *view,
                        const struct train_history *history, double now, struct err *err)
{
    AUTO_BUF struct buf out;
    buf_init(&out, REPORT_BYTES_MAX);
    train_report_add(&out, arena, view, history, now);
    return file_write(path, buf_str(&out), 0644, err);
}
