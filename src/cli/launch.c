/* launch.c: the launcher, shown, and what is said when it is done. */
#include "cli/launch.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/live/show.h"
#include "cli/node_record.h"
#include "cli/output.h"
#include "cli/record.h"
#include "config/document/json_write.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 256 * 1024 };

/* ---- what both say ---- */

/* "0.3s", "47s" */
static void add_time(struct buf *out, int64_t ms)
{
    enum { SHORT_MS = 10000, SECOND = 1000, TENTH = 100 };
    if (ms < SHORT_MS) {
        buf_addf(out, "%lld.%llds", (long long)(ms / SECOND), (long long)(ms % SECOND / TENTH));
    } else {
        columns_add_age(out, ms);
    }
}

static void record_nodes(const struct show *show, struct value *record)
{
    size_t count;
    struct arena *arena = show->target->cli.arena;
    const struct node_view *nodes = progress_nodes(show->progress, &count);
    if (record) {
        record_text(arena, record, "cluster", show->target->config->cluster_name);
        record_text(arena, record, "where", target_where(show->target));
        value_map_set_c(arena, record, "nodes", node_records(arena, nodes, count));
    }
}

static void record_failure(const struct show *show, struct value *record, const struct err *err)
{
    struct arena *arena = show->target->cli.arena;
    if (record) {
        record_text(arena, record, "error", str_from(err->text));
        record_text(arena, record, "error_kind", str_from(err_kind_name(err->kind)));
    }
}

int launch_print(const struct target *target, const struct value *record, int status)
{
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (!json_write(&out, record, JSON_PRETTY, &err)) {
        return output_error(&target->cli, &err);
    }
    buf_add_char(&out, '\n');
    int written = output_write(&target->cli, target->cli.out, &out);
    return status ? status : written;
}

/* ---- up ---- */

static void say_commands(const struct target *target, struct buf *out)
{
    static const struct {
        const char *verb, *behind, *says;
    } rows[] = {
        {"submit", " SCRIPT.py", "run a script on it"},
        {"attach", "", "a shell on the head"},
        {"top", "", "watch it"},
        {"down", "", "end it and stop paying"},
    };
    struct str words = target_words(target);
    enum { WIDEST = sizeof(" SCRIPT.py") };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t used = strlen(rows[i].verb) + strlen(rows[i].behind);
        buf_addf(out, "  shoal %s %.*s%s", rows[i].verb, STR_ARG(words), rows[i].behind);
        buf_add_spaces(out, strlen("submit") + WIDEST + 2 - used);
        buf_addf(out, "%s\n", rows[i].says);
    }
}

static void say_up(const struct show *show, const struct launcher_result *result, size_t failed)
{
    AUTO_BUF struct buf out;
    struct target *target = show->target;
    buf_init(&out, TEXT_BYTES_MAX);
    buf_add_char(&out, '\n');
    utf8_add_visible(&out, target->config->cluster_name, false);
    if (result->was_up_to_date) {
        buf_addf(&out, " is up to date: %zu node%s (checked in ", result->node_count,
                 result->node_count == 1 ? "" : "s");
        add_time(&out, result->took_ms);
        buf_add_c(&out, ").\n");
    } else {
        buf_addf(&out, " is up%s: %zu node%s", failed > 0 ? ", without those that failed" : "",
                 result->node_count, result->node_count == 1 ? "" : "s");
        if (result->missing_count > 0) {
            buf_addf(&out,
                     " (%zu more %s wanted: the cloud has no room for %s now, and is asked "
                     "again)",
                     result->missing_count, result->missing_count == 1 ? "is" : "are",
                     result->missing_count == 1 ? "it" : "them");
        }
        if (result->cpus > 0) {
            buf_addf(&out, ", %g CPU%s", result->cpus, fabs(result->cpus - 1) < 0.001 ? "" : "s");
        }
        buf_add_c(&out, ", in ");
        add_time(&out, result->took_ms);
        buf_add_c(&out, ".\n\n");
        say_commands(target, &out);
    }
    fwrite(out.ptr, 1, out.len, target->cli.err);
}

static void record_up(struct arena *arena, const struct launcher_result *result,
                      struct value *record)
{
    record_flag(arena, record, "up_to_date", result->was_up_to_date);
    record_int(arena, record, "node_count", (int64_t)result->node_count);
    record_int(arena, record, "failed_count", (int64_t)result->failed_count);
    record_int(arena, record, "missing_count", (int64_t)result->missing_count);
    record_number(arena, record, "cpus", result->cpus);
    record_text(arena, record, "ray_version", result->ray_version);
    record_text(arena, record, "head_address", result->head_address);
    record_int(arena, record, "took_ms", result->took_ms);
}

/* Its error, unless the failed node was told of at length already. */
static int fail(struct show *show, const struct err *err, size_t failed)
{
    int status = cloud_session_exit_status(&show->target->session, err);
    if (failed == 0 || err->kind == ERR_CANCELLED) {
        output_error(&show->target->cli, err);
        show_left(show);
    }
    return status;
}

int launch_up(struct target *target, struct launcher_result *ret_result, struct value *record)
{
    struct show show;
    struct launcher_result result = {0};
    struct err err;
    show_open(&show, target, false);
    bool ok = launcher_up(&target->setup, target->cli.arena, &result, &err);
    size_t failed = show_end(&show);
    int status = 0;
    record_nodes(&show, record);
    if (!ok) {
        status = fail(&show, &err, failed);
        record_failure(&show, record, &err);
    } else {
        say_up(&show, &result, failed);
        status = failed > 0 || result.failed_count > 0 || result.missing_count > 0;
    }
    if (ok && record) {
        record_up(target->cli.arena, &result, record);
    }
    if (ok && ret_result) {
        *ret_result = result;
    }
    show_close(&show);
    return status;
}

/* ---- down ---- */

static size_t count_in(const struct show *show, enum node_phase phase)
{
    size_t count;
    size_t found = 0;
    const struct node_view *nodes = progress_nodes(show->progress, &count);
    for (size_t i = 0; i < count; i++) {
        found += nodes[i].phase == phase;
    }
    return found;
}

static void say_down(const struct show *show, const struct launcher_result *result)
{
    AUTO_BUF struct buf out;
    struct target *target = show->target;
    size_t gone = count_in(show, PHASE_GONE);
    buf_init(&out, TEXT_BYTES_MAX);
    buf_add_char(&out, '\n');
    utf8_add_visible(&out, target->config->cluster_name, false);
    if (gone == 0 && show->thing_count == 0) {
        buf_add_c(&out, ": nothing was there to be ended");
    } else if (target->setup.is_workers_only) {
        buf_addf(&out, " has no workers any more: %zu ended", gone);
    } else if (result->stopped_count > 0) {
        buf_addf(&out, " is stopped: %zu machine%s kept with %s disks", result->stopped_count,
                 result->stopped_count == 1 ? "" : "s",
                 result->stopped_count == 1 ? "its" : "their");
    } else {
        buf_addf(&out, " is gone: %zu machine%s", gone, gone == 1 ? "" : "s");
        if (show->thing_count > 0) {
            buf_addf(&out, " and %zu other thing%s", show->thing_count,
                     show->thing_count == 1 ? "" : "s");
        }
        buf_add_c(&out, " removed");
    }
    buf_add_c(&out, ", in ");
    add_time(&out, result->took_ms);
    buf_add_c(&out, ".");
    bool is_all = result->left_count == 0 && !target->setup.is_workers_only &&
                  result->stopped_count == 0;
    buf_add_c(&out, is_all ? " A last listing shows that nothing is left.\n" : "\n");
    for (size_t i = 0; i < result->left_count; i++) {
        const struct provider_thing *thing = &result->left[i];
        buf_addf(&out, "  left      %.*s %.*s%s%.*s\n", STR_ARG(thing->kind), STR_ARG(thing->id),
                 thing->note.len > 0 ? ": " : "", STR_ARG(thing->note));
    }
    fwrite(out.ptr, 1, out.len, target->cli.err);
}

static void record_down(struct arena *arena, const struct show *show,
                        const struct launcher_result *result, struct value *record)
{
    struct value *left = record_list(arena);
    for (size_t i = 0; i < result->left_count; i++) {
        struct value *thing = record_new(arena);
        record_text(arena, thing, "kind", result->left[i].kind);
        record_text(arena, thing, "id", result->left[i].id);
        record_text(arena, thing, "note", result->left[i].note);
        value_list_add(arena, left, thing);
    }
    record_int(arena, record, "removed_machines",
               (int64_t)(count_in(show, PHASE_GONE) - result->stopped_count));
    record_int(arena, record, "stopped_machines", (int64_t)result->stopped_count);
    record_int(arena, record, "removed_things", (int64_t)show->thing_count);
    value_map_set_c(arena, record, "left", left);
    record_int(arena, record, "took_ms", result->took_ms);
}

int launch_down(struct target *target, struct value *record)
{
    struct show show;
    struct launcher_result result = {0};
    struct err err;
    show_open(&show, target, true);
    bool ok = launcher_down(&target->setup, target->cli.arena, &result, &err);
    size_t failed = show_end(&show);
    int status = 0;
    record_nodes(&show, record);
    if (!ok) {
        status = fail(&show, &err, failed);
        record_failure(&show, record, &err);
    } else {
        say_down(&show, &result);
        status = result.left_count > 0;
    }
    if (ok && record) {
        record_down(target->cli.arena, &show, &result, record);
    }
    show_close(&show);
    return status;
}
