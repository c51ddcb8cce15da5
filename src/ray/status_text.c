/* status_text.c: formats the cluster state like `ray status`. */
#include "ray/status_text.h"

#include "base/number.h"
#include "ray/status_internal.h"

#include <stdlib.h>
#include <time.h>

enum { SECOND_US = 1000000, SECTION_BYTES_MAX = 1 << 20 };

static void status_text_add_types(struct buf *out, const struct counter *types, const char *none)
{
    for (size_t i = 0; i < types->count; i++) {
        buf_addf(out, " %lld %.*s\n", (long long)types->items[i].count,
                 STR_ARG(types->items[i].name));
    }
    if (types->count == 0) {
        buf_add_c(out, none);
    }
}

/* Newest first; stable within the same second. */
static int by_time(const void *a, const void *b)
{
    const struct status_failure *left = a;
    const struct status_failure *right = b;
    if (left->asked_s != right->asked_s) {
        return left->asked_s > right->asked_s ? -1 : 1;
    }
    return left->order < right->order ? -1 : 1;
}

static void add_failures(struct buf *out, struct status_sheet *sheet)
{
    size_t count = sheet->failure_count;
    struct str dead = buf_str(&sheet->dead);
    if (count > 1) {
        qsort(sheet->failures, count, sizeof(*sheet->failures), by_time);
    }
    count = count < STATUS_FAILURES_MAX ? count : STATUS_FAILURES_MAX;
    for (size_t i = 0; i < count; i++) {
        buf_add(out, sheet->failures[i].text);
    }
    for (; count < STATUS_FAILURES_MAX && dead.len > 0; count++) {
        buf_add(out, str_cut(&dead, '\n'));
        buf_add_char(out, '\n');
    }
    if (count == 0) {
        buf_add_c(out, " (no failures)\n");
    }
}

static void add_memory(struct buf *out, double bytes)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {
        {"TiB", 1099511627776.0}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (bytes >= units[i].size) {
            buf_addf(out, "%.2f%s", bytes / units[i].size, units[i].name);
            return;
        }
    }
    bool is_sane = bytes > -1e18 && bytes < 1e18; /* below a kilobyte, unless it is invalid */
    buf_addf(out, "%lldB", is_sane ? (long long)bytes : 0);
}

static void add_figure(struct buf *out, double value, bool is_memory, bool is_counted)
{
    if (is_memory) {
        add_memory(out, value);
    } else if (is_counted) {
        number_add_double(out, value);
    } else {
        buf_add_char(out, '0'); /* Python distinguishes this zero from 0.0 */
    }
}

static void add_use(struct buf *out, const struct counter_item *use,
                    const struct counter_item *group)
{
    bool is_memory = str_is(use->name, "memory") || str_is(use->name, "object_store_memory");
    double used = group ? use->used - group->total + group->used : use->used;
    buf_add_char(out, ' ');
    add_figure(out, used, is_memory, true);
    buf_add_char(out, '/');
    add_figure(out, use->total, is_memory, true);
    buf_addf(out, " %.*s", STR_ARG(use->name));
    if (group) { /* Ray counts reserved resources as used, which is not what users expect */
        buf_add_c(out, " (");
        add_figure(out, group->used, is_memory, group->is_counted);
        buf_add_c(out, " used of ");
        add_figure(out, group->total, is_memory, true);
        buf_add_c(out, " reserved in placement groups)");
    }
    buf_add_char(out, '\n');
}

static int by_item_name(const void *a, const void *b)
{
    const struct counter_item *left = a;
    const struct counter_item *right = b;
    return str_cmp(left->name, right->name);
}

static void add_all_uses(struct buf *out, struct status_sheet *sheet)
{
    struct counter groups = {0}; /* resources of placement groups, by their underlying resource */
    struct str name;
    bool is_indexed;
    for (size_t i = 0; i < sheet->uses.count; i++) {
        const struct counter_item *use = &sheet->uses.items[i];
        if (status_split_group(use->name, &name, &is_indexed)) {
            struct counter_item *group = counter_of(&groups, sheet->arena, name);
            group->used += is_indexed ? 0 : use->used; /* indexed ones repeat the same amounts */
            group->total += is_indexed ? 0 : use->total;
            group->is_counted = group->is_counted || !is_indexed;
        }
    }
    if (sheet->uses.count > 1) {
        qsort(sheet->uses.items, sheet->uses.count, sizeof(*sheet->uses.items), by_item_name);
    }
    for (size_t i = 0; i < sheet->uses.count; i++) {
        const struct counter_item *use = &sheet->uses.items[i];
        if (str_find(use->name, "node:") == SIZE_MAX &&
            !str_starts(use->name, "accelerator_type:") &&
            !status_split_group(use->name, &name, &is_indexed)) {
            add_use(out, use, counter_find(&groups, use->name));
        }
    }
}

static void status_text_do_add_demands(struct buf *out, const struct status_sheet *sheet)
{
    for (size_t i = 0; i < sheet->demands.count; i++) {
        const struct counter_item *demand = &sheet->demands.items[i];
        buf_addf(out, " %.*s: %lld+ pending tasks/actors", STR_ARG(demand->name),
                 (long long)demand->count);
        if (demand->is_counted) {
            buf_addf(out, " (%lld+ using placement groups)", (long long)demand->part);
        }
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < sheet->groups.count; i++) {
        const struct counter_item *group = &sheet->groups.items[i];
        struct str strategy = str_sub(group->name, 0, str_find_char(group->name, '|'));
        buf_addf(out, " %.*s (%.*s): %lld+ pending placement groups\n", STR_ARG(group->text),
                 STR_ARG(strategy), (long long)group->count);
    }
    if (sheet->demands.count + sheet->groups.count == 0) {
        buf_add_c(out, " (no resource demands)\n");
    }
}

/* Returns its length, which is also that of the lines below the titles. */
static size_t status_text_do_add_header(struct buf *out, int64_t asked_us)
{
    time_t when = (time_t)(asked_us / SECOND_US);
    struct tm parts = {0};
    size_t before = out->len;
    localtime_r(&when, &parts);
    buf_addf(out, "======== Autoscaler status: %04d-%02d-%02d %02d:%02d:%02d", parts.tm_year + 1900,
             parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    if (asked_us % SECOND_US != 0) {
        buf_addf(out, ".%06d", (int)(asked_us % SECOND_US));
    }
    buf_add_c(out, " ========");
    return out->len - before;
}

static void status_text_add_title(struct buf *out, const char *title, size_t width)
{
    buf_addf(out, "\n%s\n", title);
    for (size_t i = 0; i < width; i++) {
        buf_add_char(out, '-');
    }
    buf_add_char(out, '\n');
}

static void status_text_write_all(struct buf *out, struct status_sheet *sheet, int64_t asked_us)
{
    size_t width = status_text_do_add_header(out, asked_us);
    status_text_add_title(out, "Node status", width);
    buf_add_c(out, "Active:\n");
    status_text_add_types(out, &sheet->active, " (no active nodes)\n");
    buf_add_c(out, "Idle:\n");
    status_text_add_types(out, &sheet->idle, " (no idle nodes)\n");
    buf_add_c(out, "Pending:\n");
    for (size_t i = 0; i < sheet->launching.count; i++) {
        buf_addf(out, " %.*s, %lld launching\n", STR_ARG(sheet->launching.items[i].name),
                 (long long)sheet->launching.items[i].count);
    }
    buf_add(out, buf_str(&sheet->pending));
    if (sheet->launching.count == 0 && sheet->pending.len == 0) {
        buf_add_c(out, " (no pending nodes)\n");
    }
    buf_add_c(out, "Recent failures:\n");
    add_failures(out, sheet);
    status_text_add_title(out, "Resources", width);
    buf_add_c(out, "Total Usage:\n");
    add_all_uses(out, sheet);
    buf_add_c(out, "\nFrom request_resources:\n");
    buf_add(out, sheet->constraints.len > 0 ? buf_str(&sheet->constraints) : STR(" (none)\n"));
    buf_add_c(out, "Pending Demands:\n");
    status_text_do_add_demands(out, sheet);
    while (out->len > 0 && out->ptr[out->len - 1] == '\n') {
        out->len--;
    }
}

bool ray_status_text(struct str reply, int64_t asked_us, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct status_sheet sheet = {.arena = &arena};
    buf_init(&sheet.pending, SECTION_BYTES_MAX);
    buf_init(&sheet.constraints, SECTION_BYTES_MAX);
    buf_init(&sheet.dead, SECTION_BYTES_MAX);
    bool ok = status_read(&sheet, reply);
    if (ok) {
        status_text_write_all(out, &sheet, asked_us);
    } else {
        err_set(err, ERR_PROTOCOL, "invalid cluster state from Ray");
    }
    buf_clear(&sheet.pending);
    buf_clear(&sheet.constraints);
    buf_clear(&sheet.dead);
    return ok;
}
