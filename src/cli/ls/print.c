/* print.c: prints the table, its notes and the sentences around it. */
#include "cli/ls/print.h"

#include "base/utf8.h"
#include "config/catalog/catalog.h"
#include "io/clock.h"

enum { GAP = 2, NOTE_INDENT = 4, NOTE_BYTES = 4096, MILLI = 1000 };
enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* ---- formatting ---- */

/* "12s", "3m", "2h", "19d": the largest suitable unit. */
static struct str ls_print_age_text(struct arena *arena, int64_t since, int64_t now)
{
    if (since == ACCOUNT_NO_TIME) {
        return STR("-");
    }
    int64_t seconds = now > since ? now - since : 0;
    if (seconds < 2 * MINUTE) {
        return arena_printf(arena, "%llds", (long long)seconds);
    }
    if (seconds < 2 * HOUR) {
        return arena_printf(arena, "%lldm", (long long)(seconds / MINUTE));
    }
    return seconds < 2 * DAY ? arena_printf(arena, "%lldh", (long long)(seconds / HOUR))
                             : arena_printf(arena, "%lldd", (long long)(seconds / DAY));
}

/* "0.58"; "0.58+" if a part is unknown, "?" if all of it is. */
static struct str ls_print_cost_text(struct arena *arena, const struct account_cost *cost)
{
    enum { CENT = 10000, HALF_CENT = CENT / 2, CENTS = 100 };
    int64_t sum = account_cost_sum(cost);
    bool is_whole = account_cost_is_whole(cost);
    if (!is_whole && cost->known_count == 0) {
        return STR("?");
    }
    const char *more = is_whole ? "" : "+";
    if (sum > 0 && sum < CENT) {
        return arena_printf(arena, "<0.01%s", more);
    }
    int64_t cents = (sum + HALF_CENT) / CENT;
    return arena_printf(arena, "%lld.%02lld%s", (long long)(cents / CENTS),
                        (long long)(cents % CENTS), more);
}

static void add_part(struct buf *out, const char *separator)
{
    buf_add_c(out, out->len > 0 ? separator : "");
}

/* "3 key pairs" */
static void ls_print_add_count(struct buf *out, size_t count, const char *what)
{
    if (count > 0) {
        add_part(out, ", ");
        buf_addf(out, "%zu %s%s", count, what, count == 1 ? "" : "s");
    }
}

static int64_t gb_of(const struct account_cluster *cluster)
{
    int64_t sum = 0;
    for (size_t i = 0; i < cluster->volume_count; i++) {
        sum += cluster->volumes[i].gb;
    }
    return sum;
}

static void ls_print_add_volumes(struct buf *out, const struct account_cluster *cluster)
{
    ls_print_add_count(out, cluster->volume_count, "volume");
    if (cluster->volume_count > 0) {
        buf_addf(out, ", %lld GB", (long long)gb_of(cluster));
    }
}

/* A name comes from a tag that others may have written, and users copy the command. */
static struct str ls_print_quoted(struct arena *arena, struct str word)
{
    AUTO_BUF struct buf out;
    bool is_plain = word.len > 0 && word.ptr[0] != '-';
    buf_init(&out, NOTE_BYTES);
    buf_add_char(&out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        is_plain = is_plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.');
        buf_add(&out, c == '\'' ? STR("'\\''") : str_sub(word, i, i + 1));
    }
    buf_add_char(&out, '\'');
    return is_plain ? word : arena_str(arena, buf_str(&out));
}

struct str ls_remedy(struct arena *arena, const struct account_cluster *cluster, int64_t now)
{
    const struct account_owner *owner = &cluster->owner;
    /* Resources without a uid are Ray's, and Shoal never changes them. */
    if (owner->uid.len == 0) {
        return STR("");
    }
    if (account_is_expired(cluster, now)) {
        return STR("shoal gc");
    }
    bool is_idle = cluster->state == ACCOUNT_STOPPED || cluster->state == ACCOUNT_FAILED;
    if (is_idle && owner->name.len > 0) {
        struct str project = owner->project;
        return arena_printf(arena, "shoal down %.*s --region %.*s%s%.*s",
                            STR_ARG(ls_print_quoted(arena, owner->name)), STR_ARG(owner->region),
                            project.len > 0 ? " --project " : "", STR_ARG(project));
    }
    return cluster->state == ACCOUNT_LEFTOVER ? STR("shoal gc") : STR("");
}

static void ls_print_add_machines(struct buf *out, const struct account_cluster *cluster)
{
    const size_t *counts = cluster->counts;
    size_t stopped = counts[MACHINE_STOPPED] + counts[MACHINE_STOPPING];
    if (cluster->state == ACCOUNT_PARTLY) {
        buf_addf(out, "%zu running", counts[MACHINE_RUNNING]);
        if (stopped > 0) {
            add_part(out, ", ");
            buf_addf(out, "%zu stopped", stopped);
        }
    }
    if (counts[MACHINE_PENDING] > 0 && cluster->state != ACCOUNT_STARTING) {
        add_part(out, ", ");
        buf_addf(out, "%zu starting", counts[MACHINE_PENDING]);
    }
    if (counts[MACHINE_ENDING] > 0 && cluster->state != ACCOUNT_ENDING) {
        add_part(out, ", ");
        buf_addf(out, "%zu ending", counts[MACHINE_ENDING]);
    }
    if (cluster->state == ACCOUNT_PARTLY && !cluster->has_head) {
        add_part(out, ", ");
        buf_add_c(out, "no head");
    }
}

static void ls_print_add_resources(struct buf *out, const struct account_cluster *cluster)
{
    size_t counts[THING_KIND_COUNT] = {0};
    for (size_t i = 0; i < cluster->thing_count; i++) {
        counts[cluster->things[i].kind]++;
    }
    for (int kind = 0; kind < THING_KIND_COUNT; kind++) {
        ls_print_add_count(out, counts[kind], account_thing_name((enum account_thing_kind)kind));
    }
}

/* "expired 3d ago", "expires in 11d" */
static void ls_print_add_expiry(struct buf *out, struct arena *arena,
                                const struct account_cluster *cluster, int64_t now)
{
    int64_t at = cluster->expires_at;
    if (account_is_expired(cluster, now)) {
        add_part(out, ", ");
        buf_addf(out, "expired %.*s ago", STR_ARG(ls_print_age_text(arena, at, now)));
    } else if (cluster->state == ACCOUNT_STOPPED && at != EXPIRY_NEVER) {
        add_part(out, ", ");
        buf_addf(out, "expires in %.*s", STR_ARG(ls_print_age_text(arena, now, at)));
    }
}

static struct str note_of(struct arena *arena, const struct account_cluster *cluster,
                          const struct account_cost *cost, int64_t now)
{
    AUTO_BUF struct buf out;
    buf_init(&out, NOTE_BYTES);
    ls_print_add_machines(&out, cluster);
    if (cluster->state == ACCOUNT_STOPPED || cluster->state == ACCOUNT_LEFTOVER) {
        ls_print_add_volumes(&out, cluster);
    }
    if (cluster->state == ACCOUNT_LEFTOVER) {
        ls_print_add_resources(&out, cluster);
    }
    if (cluster->owner.uid.len == 0) {
        add_part(&out, ", ");
        buf_add_c(&out, "by Ray");
    }
    if (!account_cost_is_whole(cost)) {
        add_part(&out, ", ");
        size_t unknown = cost->unknown_machines + cost->unknown_volumes;
        buf_addf(&out, "%zu price%s unknown", unknown, unknown == 1 ? "" : "s");
    }
    ls_print_add_expiry(&out, arena, cluster, now);
    struct str remedy = ls_remedy(arena, cluster, now);
    if (remedy.len > 0) {
        add_part(&out, ": ");
        buf_add(&out, remedy);
    }
    return arena_str(arena, buf_str(&out));
}

/* ---- the table ---- */

enum column {
    COLUMN_NAME,
    COLUMN_ACCOUNT, /* only with projects of Google Cloud */
    COLUMN_REGION,
    COLUMN_STATE,
    COLUMN_NODES,
    COLUMN_AGE,
    COLUMN_COST,
    COLUMN_COUNT
};

static const char *const headings[COLUMN_COUNT] = {"CLUSTER", "ACCOUNT", "REGION", "STATE",
                                                   "NODES",   "AGE",     "$/H"};

struct ls_print_row {
    struct str cells[COLUMN_COUNT];
    struct str note;
    enum account_state state;
};

static struct str or_dash(struct str text)
{
    return text.len > 0 ? text : STR("-");
}

static struct str ls_print_visible(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, NOTE_BYTES);
    utf8_add_visible(&out, text, false);
    return arena_str(arena, buf_str(&out));
}

static struct ls_print_row ls_print_row_of(struct arena *arena, const struct ls_view *view,
                                           const struct account_cluster *cluster)
{
    struct account_cost cost = account_cost_of(cluster, &view->prices);
    size_t nodes = cluster->machine_count - cluster->counts[MACHINE_ENDING];
    bool has_nodes = cluster->state != ACCOUNT_LEFTOVER;
    struct str account = cluster->owner.project.len > 0 ? cluster->owner.project
                                                        : view->account->id;
    return (struct ls_print_row){
        .cells =
            {
                ls_print_visible(arena, or_dash(cluster->owner.name)),
                ls_print_visible(arena, or_dash(account)),
                ls_print_visible(arena, or_dash(cluster->owner.region)),
                str_from(account_state_name(cluster->state)),
                has_nodes ? arena_printf(arena, "%zu", nodes) : STR("-"),
                ls_print_age_text(arena, cluster->since, view->now),
                ls_print_cost_text(arena, &cost),
            },
        .note = ls_print_visible(arena, note_of(arena, cluster, &cost, view->now)),
        .state = cluster->state,
    };
}

static const char *ls_print_colour_of(enum account_state state)
{
    static const char *const colours[ACCOUNT_STATE_COUNT] = {
        [ACCOUNT_UP] = "\033[32m",      [ACCOUNT_FAILED] = "\033[31m",  [ACCOUNT_STARTING] = "",
        [ACCOUNT_PARTLY] = "\033[33m",  [ACCOUNT_STOPPED] = "\033[33m", [ACCOUNT_ENDING] = "",
        [ACCOUNT_LEFTOVER] = "\033[33m"};
    return colours[state];
}

static void add_cells(struct buf *out, const struct ls_print_row *row, const size_t *widths,
                      const char *colour)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        struct str text = row->cells[i];
        if (widths[i] == 0) {
            continue;
        }
        size_t room = widths[i] - utf8_width(text);
        bool is_number = i >= COLUMN_NODES;
        bool is_coloured = i == COLUMN_STATE && *colour;
        buf_add_spaces(out, (i > 0 ? GAP : 0) + (is_number ? room : 0));
        buf_add_c(out, is_coloured ? colour : "");
        buf_add(out, text);
        buf_add_c(out, is_coloured ? "\033[0m" : "");
        buf_add_spaces(out, is_number ? 0 : room);
    }
}

static void ls_print_add_row(struct buf *out, const struct ls_print_row *row, const size_t *widths,
                             size_t left, size_t width, const char *colour)
{
    add_cells(out, row, widths, colour);
    bool fits = width == 0 || left + GAP + utf8_width(row->note) <= width;
    if (row->note.len > 0 && fits) {
        buf_add_spaces(out, GAP);
    } else if (row->note.len > 0) {
        buf_add_char(out, '\n');
        buf_add_spaces(out, NOTE_INDENT);
    }
    buf_add(out, row->note);
    buf_add_char(out, '\n');
}

void ls_print_table(struct buf *out, struct arena *arena, const struct ls_view *view, size_t width,
                    bool colour)
{
    size_t count = view->account->cluster_count;
    struct ls_print_row *rows = ARENA_ARRAY(arena, count + 1, struct ls_print_row);
    size_t widths[COLUMN_COUNT] = {0};
    size_t left = 0;
    bool has_projects = view->account->project_count > 0;
    rows[0].note = STR("NOTE");
    for (int i = 0; i < COLUMN_COUNT; i++) {
        rows[0].cells[i] = str_from(headings[i]);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i + 1] = ls_print_row_of(arena, view, &view->account->clusters[i]);
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        for (size_t j = 0; j <= count && (i != COLUMN_ACCOUNT || has_projects); j++) {
            size_t own = utf8_width(rows[j].cells[i]);
            widths[i] = own > widths[i] ? own : widths[i];
        }
        left += widths[i] + (i > 0 && widths[i] > 0 ? GAP : 0);
    }
    for (size_t j = 0; j <= count; j++) {
        const char *shade = colour && j > 0 ? ls_print_colour_of(rows[j].state) : "";
        ls_print_add_row(out, &rows[j], widths, left, width, shade);
    }
}

/* ---- sentences ---- */

struct account_cost ls_total(const struct ls_view *view)
{
    struct account_cost total = {0};
    for (size_t i = 0; i < view->account->cluster_count; i++) {
        struct account_cost cost = account_cost_of(&view->account->clusters[i], &view->prices);
        total.machines += cost.machines;
        total.volumes += cost.volumes;
        total.unknown_machines += cost.unknown_machines;
        total.unknown_volumes += cost.unknown_volumes;
        total.known_count += cost.known_count;
    }
    return total;
}

/* The time of the oldest price from this source; INT64_MAX: none. */
static int64_t oldest_of(const struct price_table *prices, enum price_source source)
{
    int64_t oldest = INT64_MAX;
    for (size_t i = 0; i < prices->count; i++) {
        const struct price_known *known = &prices->prices[i];
        oldest = known->source == source && known->at < oldest ? known->at : oldest;
    }
    return oldest;
}

static void ls_print_add_moment(struct buf *out, int64_t moment, size_t from, size_t to)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    clock_add_utc(&text, moment * MILLI);
    buf_add(out, str_sub(buf_str(&text), from, to));
}

static void ls_print_add_sources(struct buf *out, const struct price_table *prices)
{
    enum { DATE = 10, CLOCK_FROM = 11, CLOCK_TO = 16 }; /* offsets in "2026-11-15T08:15:56.123Z" */
    int64_t list = oldest_of(prices, PRICE_FROM_LIST);
    int64_t market = oldest_of(prices, PRICE_FROM_MARKET);
    int64_t built_in = oldest_of(prices, PRICE_FROM_CATALOG);
    const char *separator = " Prices: ";
    if (list != INT64_MAX) {
        buf_addf(out, "%sAWS's list of ", separator);
        ls_print_add_moment(out, list, 0, DATE);
        separator = ", ";
    }
    if (market != INT64_MAX) {
        buf_addf(out, "%sspot at ", separator);
        ls_print_add_moment(out, market, CLOCK_FROM, CLOCK_TO);
        buf_add_c(out, " UTC");
        separator = ", ";
    }
    if (built_in != INT64_MAX) {
        buf_addf(out, "%sbuilt-in table of %.*s", separator, STR_ARG(catalog_ec2_price_date()));
        separator = ", ";
    }
    buf_add_c(out, separator[0] == ',' ? "." : "");
}

/* " in 17 regions of account 123456789012 and in project my-project" */
static void ls_print_add_places(struct buf *out, const struct account *account)
{
    bool has_aws = account->region_count > 0;
    if (account->region_count == 1) {
        buf_addf(out, " in %.*s", STR_ARG(account->regions[0]));
    } else if (has_aws) {
        buf_addf(out, " in %zu regions", account->region_count);
    }
    if (account->id.len > 0 && has_aws) {
        buf_addf(out, " of account %.*s", STR_ARG(account->id));
    }
    for (size_t i = 0; i < account->project_count; i++) {
        buf_addf(out, "%s%s%.*s",
                 i > 0     ? ", "
                 : has_aws ? " and in project"
                           : " in project",
                 i > 0                        ? ""
                 : account->project_count > 1 ? "s "
                                              : " ",
                 STR_ARG(account->projects[i]));
    }
}

void ls_print_summary(struct buf *out, struct arena *arena, const struct ls_view *view)
{
    const struct account *account = view->account;
    struct account_cost total = ls_total(view);
    size_t leftovers = 0;
    for (size_t i = 0; i < account->cluster_count; i++) {
        leftovers += account->clusters[i].state == ACCOUNT_LEFTOVER;
    }
    size_t clusters = account->cluster_count - leftovers;
    if (account->cluster_count == 0) {
        buf_add_c(out, account->gap_count > 0 ? "No clusters found in the regions that could be "
                                                "listed"
                                              : "No clusters and no leftover resources");
    } else {
        buf_addf(out, "%zu cluster%s", clusters, clusters == 1 ? "" : "s");
    }
    ls_print_add_places(out, account);
    if (account->cluster_count > 0) {
        struct str cost = ls_print_cost_text(arena, &total);
        bool is_little = str_starts(cost, "<"); /* "<0.01" */
        buf_addf(out, ": %s$%.*s an hour", is_little ? "<" : "",
                 STR_ARG(str_sub(cost, is_little, cost.len)));
    }
    buf_add_char(out, '.');
    ls_print_add_sources(out, &view->prices);
    buf_add_char(out, '\n');
}

/* ---- gaps ---- */

/* Adds a name unless it is there already. */
static void ls_print_add_name(struct buf *out, struct str name)
{
    struct str rest = name.len > 0 ? buf_str(out) : STR("");
    while (rest.len > 0) {
        if (str_eq(str_trim(str_cut(&rest, ',')), name)) {
            return;
        }
    }
    add_part(out, name.len > 0 ? ", " : "");
    buf_add(out, name);
}

/* Where a listing failed; empty for a whole cloud. */
static struct str ls_print_place(struct arena *arena, const struct account_gap *gap)
{
    bool is_cloud = str_is(gap->what, "AWS") || str_is(gap->what, "Google Cloud");
    if (gap->region.len > 0) {
        return gap->region;
    }
    if (gap->project.len > 0) {
        return arena_printf(arena, "project %.*s", STR_ARG(gap->project));
    }
    return is_cloud ? STR("") : STR("the account");
}

static bool is_same_reason(const struct account_gap *a, const struct account_gap *b)
{
    return str_eq(a->code, b->code) && a->err.kind == b->err.kind && str_eq(a->project, b->project);
}

void ls_print_gaps(struct buf *out, struct arena *arena, const struct account *account)
{
    bool *is_told = ARENA_ARRAY(arena, account->gap_count, bool);
    for (size_t i = 0; i < account->gap_count; i++) {
        const struct account_gap *gap = &account->gaps[i];
        if (is_told[i]) {
            continue;
        }
        AUTO_BUF struct buf whats;
        AUTO_BUF struct buf regions;
        buf_init(&whats, NOTE_BYTES);
        buf_init(&regions, NOTE_BYTES);
        for (size_t j = i; j < account->gap_count; j++) {
            const struct account_gap *other = &account->gaps[j];
            if (is_same_reason(gap, other)) {
                is_told[j] = true;
                ls_print_add_name(&whats, other->what);
                ls_print_add_name(&regions, ls_print_place(arena, other));
            }
        }
        buf_addf(out, "not listed: %.*s%s%.*s (", STR_ARG(buf_str(&whats)),
                 regions.len > 0 ? " in " : "", STR_ARG(buf_str(&regions)));
        utf8_add_visible(out, str_from(gap->err.text), false);
        /* Keys are unknown in a region that the account has not enabled. */
        buf_add_c(out, str_is(gap->code, "AuthFailure")
                           ? "; a region that is not enabled for the account gives the same "
                             "error)\n"
                           : ")\n");
    }
}

void ls_print_skipped(struct buf *out, const struct account *account)
{
    for (size_t i = 0; i < account->skipped_count; i++) {
        const struct account_gap *gap = &account->skipped[i];
        buf_add(out, gap->what);
        if (gap->project.len > 0) {
            buf_addf(out, " project %.*s", STR_ARG(gap->project));
        }
        buf_add_c(out, " is not listed: ");
        utf8_add_visible(out, str_from(gap->err.text), false);
        buf_add_char(out, '\n');
    }
}
