/* report.c: writes the page from top to bottom. */
#include "cli/simulate/report.h"

#include "cli/page/page.h"
#include "cli/simulate/chart.h"
#include "io/file.h"

enum { REPORT_BYTES_MAX = 64 * 1024 * 1024 };

struct page {
    struct buf *out;
    struct arena *arena;
    const struct result *result;
    const struct figures *figures;
    const struct spread *spreads;
    size_t count;
};

/* ---- header ---- */

static void simulate_report_add_head(const struct page *page)
{
    const struct sim_options *options = page->result->options;
    struct str title = arena_printf(page->arena, "%.*s: %.*s",
                                    STR_ARG(options->config->cluster_name),
                                    STR_ARG(options->workload_name));
    page_begin(page->out, title);
}

static void simulate_report_add_title(const struct page *page)
{
    const struct sim_options *options = page->result->options;
    struct buf *out = page->out;
    struct str duration = format_time(page->arena, options->workload->duration);
    buf_add_c(out, "<header>\n<h1><span>cluster</span> ");
    html_add(out, options->config->cluster_name);
    buf_add_c(out, " <span>under workload</span> ");
    html_add(out, options->workload_name);
    buf_add_c(out, "</h1>\n<p>");
    html_add(out, options->workload->about);
    buf_add_c(out, "</p>\n<ul class=\"facts\"><li><b>");
    html_add(out, options->config->provider_type);
    buf_add_c(out, "</b> ");
    html_add(out, page->result->setup.region);
    buf_addf(out,
             "</li><li><b>%.*s</b> simulated</li><li>faults <b>%s</b></li>"
             "<li>seed <b>%llu</b></li><li>at most <b>%lld</b> workers</li></ul>\n</header>\n",
             STR_ARG(duration), options->faults, (unsigned long long)options->seed,
             (long long)page->result->setup.settings.max_workers);
    for (size_t i = 1; i < page->count; i++) {
        buf_add_c(out, "<p class=\"verdict\">");
        html_add(out, page->spreads[i - 1].text);
        buf_addf(out, " <small>Everything below is for seed %llu only.</small></p>\n",
                 (unsigned long long)options->seed);
    }
}

static void add_sum(const struct page *page, const char *name, struct str value)
{
    buf_addf(page->out, "<div><dt>%s</dt><dd>", name);
    html_add(page->out, value);
    buf_add_c(page->out, "</dd></div>");
}

static void add_sums(const struct page *page)
{
    buf_add_c(page->out, "<section class=\"cards\">\n");
    for (size_t i = 0; i < page->count; i++) {
        const struct figures *figures = &page->figures[i];
        struct str busy = figures->busy_permille < 0
                              ? STR("-")
                              : arena_printf(page->arena, "%lld %%",
                                             (long long)(figures->busy_permille + 5) / 10);
        buf_add_c(page->out, "<div class=\"card\"><h2>Planner ");
        html_add(page->out, str_from(figures->planner));
        buf_add_c(page->out, "</h2><dl class=\"sum\">");
        add_sum(page, "cost", format_money(page->arena, figures->cost));
        add_sum(page, "wait, p90", format_time(page->arena, figures->wait.p90));
        add_sum(page, "node-hours", format_hours(page->arena, figures->node_ms));
        add_sum(page, "utilization", busy);
        buf_add_c(page->out, "</dl></div>\n");
    }
    buf_add_c(page->out, "</section>\n");
}

/* ---- charts ---- */

static bool is_type_used(const struct page *page, size_t type)
{
    for (size_t i = 0; i < page->count; i++) {
        if (page->figures[i].types[type].node_ms > 0) {
            return true;
        }
    }
    return false;
}

static void add_legend(const struct page *page)
{
    buf_add_c(page->out, "<ul class=\"legend\">");
    for (size_t i = 0; i < page->figures[0].type_count; i++) {
        const struct type_facts *facts = page->figures[0].types[i].facts;
        if (!is_type_used(page, i)) {
            continue;
        }
        buf_addf(page->out, "<li><i class=\"c%zu\"></i>", i % CHART_COLOURS);
        html_add(page->out, facts->name);
        buf_add_c(page->out, " <span>");
        html_add(page->out, facts->machine);
        buf_addf(page->out, "%s</span></li>", facts->is_spot ? ", spot" : "");
    }
    buf_add_c(page->out, "</ul>\n");
}

static bool has_money(const struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (page->figures[i].cost > 0) {
            return true;
        }
    }
    return false;
}

static void add_chart(const struct page *page, enum chart_kind kind)
{
    static const struct {
        const char *title, *why;
    } texts[CHART_KIND_COUNT] = {
        [CHART_NODES] = {"Machines by type",
                         "From launch to termination, as the cloud bills them."},
        [CHART_PENDING] = {"Waiting work", "Tasks and placement group bundles that wait for "
                                           "resources."},
        [CHART_RATE] = {"Cost per hour", "All workers at that moment."},
        [CHART_SPENT] = {"Spent", "All workers, since the start."},
    };
    double most = 0;
    for (size_t i = 0; i < page->count; i++) {
        double own = chart_most(kind, &page->figures[i]);
        most = own > most ? own : most;
    }
    bool has_ghosts = kind == CHART_SPENT && page->count > 1;
    buf_addf(page->out, "<section class=\"card%s\"><h2>%s</h2><p class=\"why\">%s%s</p>\n",
             page->count > 1 ? " wide" : "", texts[kind].title, texts[kind].why,
             has_ghosts ? " Dashed: the other planner." : "");
    if (kind == CHART_NODES) {
        add_legend(page);
    }
    buf_add_c(page->out, "<div class=\"pair\">");
    for (size_t i = 0; i < page->count; i++) {
        bool is_overlaid = kind == CHART_SPENT;
        struct chart chart = {.kind = kind,
                              .figures = &page->figures[i],
                              .duration = page->result->options->workload->duration,
                              .most = most,
                              .planner = page->figures[i].planner,
                              .others = page->figures,
                              .other_count = is_overlaid ? page->count : 0};
        buf_add_c(page->out, "<figure>");
        if (page->count > 1) {
            buf_add_c(page->out, "<figcaption>");
            html_add(page->out, str_from(chart.planner));
            buf_add_c(page->out, "</figcaption>");
        }
        chart_add(page->out, page->arena, &chart);
        buf_add_c(page->out, "</figure>");
    }
    buf_add_c(page->out, "</div></section>\n");
}

/* ---- tables ---- */

static void add_table_head(const struct page *page)
{
    buf_add_c(page->out, "<div class=\"scroll\"><table>\n<thead><tr><th></th>");
    for (size_t i = 0; i < page->count; i++) {
        buf_add_c(page->out, "<th>");
        html_add(page->out, str_from(page->figures[i].planner));
        buf_add_c(page->out, "</th>");
    }
    buf_add_c(page->out, "</tr></thead>\n<tbody>\n");
}

static void add_figures(const struct page *page)
{
    struct figure_table table;
    figures_table(page->arena, page->figures, page->count, &table);
    buf_add_c(page->out, "<section class=\"card\"><h2>All figures</h2>\n");
    add_table_head(page);
    for (size_t i = 0; i < table.count; i++) {
        const struct figure_row *row = &table.rows[i];
        buf_addf(page->out, "<tr class=\"%s\"><th>", row->is_part ? "part" : "all");
        html_add(page->out, row->label);
        buf_add_c(page->out, " <span>");
        html_add(page->out, row->note);
        buf_add_c(page->out, "</span></th>");
        for (size_t j = 0; j < page->count; j++) {
            buf_add_c(page->out, "<td>");
            html_add(page->out, row->values[j]);
            buf_add_c(page->out, "</td>");
        }
        buf_add_c(page->out, "</tr>\n");
    }
    buf_add_c(page->out, "</tbody></table></div></section>\n");
}

static void add_class(const struct page *page, const struct class_row *row, const char *planner)
{
    buf_addf(page->out, "<tr class=\"%s\"><th>", planner ? "part" : "all");
    html_add(page->out, planner ? str_from(planner) : row->name);
    buf_addf(page->out, "</th><td class=\"opt\">%lld</td><td>%lld</td>", (long long)row->arrived,
             (long long)row->finished);
    const int64_t waits[] = {row->wait.p50, row->wait.p90, row->wait.longest};
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        buf_add_c(page->out, i == 0 ? "<td class=\"opt\">" : "<td>");
        html_add(page->out, row->started > 0 ? format_time(page->arena, waits[i]) : STR("-"));
        buf_add_c(page->out, "</td>");
    }
    buf_addf(page->out, "<td>%lld</td></tr>\n", (long long)row->lost);
}

static void simulate_report_add_classes(const struct page *page)
{
    buf_add_c(page->out,
              "<section class=\"card\"><h2>By kind of work</h2>\n<div class=\"scroll\"><table>\n"
              "<thead><tr><th></th><th class=\"opt\">arrived</th><th>finished</th>"
              "<th class=\"opt\">wait, median</th>"
              "<th>wait, p90</th><th>longest</th><th>lost</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < page->figures[0].class_count; i++) {
        if (page->count == 1) {
            add_class(page, &page->figures[0].classes[i], NULL);
            continue;
        }
        buf_add_c(page->out, "<tr class=\"main\"><th colspan=\"7\">");
        html_add(page->out, page->figures[0].classes[i].name);
        buf_add_c(page->out, "</th></tr>\n");
        for (size_t j = 0; j < page->count; j++) {
            add_class(page, &page->figures[j].classes[i], page->figures[j].planner);
        }
    }
    buf_add_c(page->out, "</tbody></table></div></section>\n");
}

/* The node types of the cluster file, used or not. */
static void add_offers(const struct page *page)
{
    const struct core_setup *setup = &page->result->setup;
    buf_add_c(page->out, "<section class=\"card\"><h2>Node types in the cluster file</h2>\n"
                         "<div class=\"scroll\"><table>\n<thead><tr><th></th><th>machine</th>"
                         "<th>at most</th><th>US$/h</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < setup->settings.type_count; i++) {
        const struct type_facts *facts = &setup->facts[i];
        bool is_head = i == setup->settings.head_type;
        buf_add_c(page->out, "<tr><th>");
        html_add(page->out, facts->name);
        buf_add_c(page->out, "</th><td>");
        html_add(page->out, facts->machine.len > 0 ? facts->machine : STR("own"));
        long long most = (long long)setup->settings.types[i].max_nodes;
        buf_addf(page->out, "%s</td><td>", facts->is_spot ? ", spot" : "");
        if (is_head) {
            buf_add_c(page->out, most > 0 ? "the head + " : "the head");
        }
        if (most > 0 || !is_head) {
            buf_addf(page->out, "%lld", most);
        }
        buf_add_c(page->out, "</td><td>");
        if (facts->price == PRICE_UNKNOWN) {
            buf_add_c(page->out, "unknown");
        } else {
            buf_addf(page->out, "%.3f", (double)facts->price / 1e6);
        }
        buf_add_c(page->out, "</td></tr>\n");
    }
    buf_add_c(page->out, "</tbody></table></div></section>\n");
}

static void add_footer(const struct page *page)
{
    buf_add_c(page->out, "<footer><p>");
    html_add(page->out, format_prices(page->arena, page->result));
    buf_add_c(page->out, "</p><p>Simulated by shoal " SHOAL_VERSION
                         ": a model of the cloud and of Ray, with Shoal's real autoscaler between "
                         "them. The same files and seed always give the same page.</p></footer>\n");
    page_end(page->out);
}

bool report_write(const char *path, struct arena *arena, const struct result *result,
                  const struct figures *figures, const struct spread *spreads, struct err *err)
{
    AUTO_BUF struct buf out;
    struct page page = {&out, arena, result, figures, spreads, result->run_count};
    buf_init(&out, REPORT_BYTES_MAX);
    simulate_report_add_head(&page);
    simulate_report_add_title(&page);
    add_sums(&page);
    buf_add_c(&out, "<div class=\"cards\">\n");
    add_chart(&page, CHART_NODES);
    add_chart(&page, CHART_PENDING);
    if (has_money(&page)) {
        add_chart(&page, CHART_RATE);
        add_chart(&page, CHART_SPENT);
    }
    buf_add_c(&out, "</div>\n<div class=\"cards top\">\n");
    add_figures(&page);
    buf_add_c(&out, "<div class=\"stack\">\n");
    simulate_report_add_classes(&page);
    add_offers(&page);
    buf_add_c(&out, "</div></div>\n");
    add_footer(&page);
    return file_write(path, buf_str(&out), 0644, err);
}
