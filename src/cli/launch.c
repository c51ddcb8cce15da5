/* launch.c: runs the launcher with progress and prints the summary. */
#include "cli/launch.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/cost.h"
#include "cli/json_object.h"
#include "cli/node_json.h"
#include "cli/output.h"
#include "cli/progress/display.h"
#include "config/document/json_write.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 256 * 1024 };

/* ---- shared ---- */

/* "0.3s", "47s" */
static void launch_add_time(struct buf *out, int64_t ms)
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
        {"attach", "", "open a shell on the head"},
        {"top", "", "watch it"},
        {"down", "", "remove it and stop paying"},
    };
    struct str words = target_text(target);
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
    if (result->was_up_to_date && launch_up_status(result, failed) == 0) {
        buf_addf(&out, " is up to date: %zu node%s (checked in ", result->node_count,
                 result->node_count == 1 ? "" : "s");
        launch_add_time(&out, result->took_ms);
        buf_add_c(&out, ").\n");
    } else {
        buf_addf(&out, " is up: %zu node%s%s", result->node_count,
                 result->node_count == 1 ? "" : "s",
                 failed > 0 ? ", not counting those that failed" : "");
        if (result->missing_count > 0) {
            struct str why =
                result->missing_why.len > 0
                    ? result->missing_why
                    : STR("the cloud has not launched them yet; the head keeps trying");
            buf_addf(&out, " (%zu more %s requested: %.*s)", result->missing_count,
                     result->missing_count == 1 ? "is" : "are", STR_ARG(why));
        }
        if (result->cpus > 0) {
            buf_addf(&out, ", %g CPU%s", result->cpus, fabs(result->cpus - 1) < 0.001 ? "" : "s");
        }
        buf_add_c(&out, ", in ");
        launch_add_time(&out, result->took_ms);
        buf_add_c(&out, ".\n\n");
        say_commands(target, &out);
    }
    output_print(target->cli.err, buf_str(&out));
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

/* Prints the error, unless the failed node was already described in detail. */
static int launch_fail(struct show *show, const struct err *err, size_t failed)
{
    int status = cloud_session_exit_status(&show->target->session, err);
    if (failed == 0 || err->kind == ERR_CANCELLED) {
        output_error(&show->target->cli, err);
        show_left(show);
    }
    return status;
}

int launch_up_status(const struct launcher_result *result, size_t failed)
{
    return failed > 0 || result->failed_count > 0 || result->missing_count > 0;
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
        status = launch_fail(&show, &err, failed);
        record_failure(&show, record, &err);
    } else {
        say_up(&show, &result, failed);
        status = launch_up_status(&result, failed);
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

/* "deleted key pair, security group, role": each kind once. */
static void add_deleted(struct buf *out, const struct show *show)
{
    buf_add_c(out, "deleted ");
    for (size_t i = 0; i < show->thing_kind_count; i++) {
        buf_addf(out, "%s%.*s", i > 0 ? ", " : "", STR_ARG(show->thing_kinds[i]));
    }
}

static void launch_add_instances(struct buf *out, size_t count)
{
    buf_addf(out, "%zu instance%s", count, count == 1 ? "" : "s");
}

static void add_absence(struct buf *out, const struct target *target,
                        const struct launcher_result *result)
{
    buf_add_c(out, "No cluster ");
    utf8_add_visible(out, target->config->cluster_name, false);
    buf_addf(out, " in %.*s. Nothing was changed.\n", STR_ARG(target_where(target)));
    if (result->other_region.len > 0) {
        buf_addf(out,
                 "A cluster with this name was started from this machine in %.*s; to remove "
                 "it: shoal down ",
                 STR_ARG(result->other_region));
        utf8_add_visible(out, target->config->cluster_name, false);
        buf_addf(out, " --region %.*s\n", STR_ARG(result->other_region));
    }
}

/* What was done, and how long it took. */
static void add_deeds(struct buf *out, const struct show *show,
                      const struct launcher_result *result)
{
    buf_add_c(out, ": ");
    if (result->stopped_count > 0) {
        buf_add_c(out, "stopped ");
        launch_add_instances(out, result->stopped_count);
        buf_addf(out, " and kept %s disk%s", result->stopped_count == 1 ? "its" : "their",
                 result->stopped_count == 1 ? "" : "s");
        buf_add_c(out, result->terminated_count > 0 ? "; " : "");
    }
    bool has_deleted = show->thing_kind_count > 0;
    if (result->terminated_count > 0) {
        buf_add_c(out, "terminated ");
        launch_add_instances(out, result->terminated_count);
        buf_add_c(out, has_deleted ? " and " : "");
    } else if (result->stopped_count == 0 && !has_deleted) {
        buf_add_c(out, "no instance was running");
    }
    if (has_deleted) {
        add_deleted(out, show);
    }
    if (result->kept_count > 0) {
        buf_addf(out, "; kept %zu worker%s", result->kept_count,
                 result->kept_count == 1 ? "" : "s");
    }
    buf_add_c(out, ", in ");
    launch_add_time(out, result->took_ms);
    buf_add_c(out, ".");
}

static void launch_add_left(struct buf *out, const struct target *target,
                            const struct launcher_result *result)
{
    struct str words = target_text(target);
    for (size_t i = 0; i < result->left_count; i++) {
        const struct provider_resource *thing = &result->left[i];
        buf_addf(out, "  left      %.*s ", STR_ARG(thing->kind));
        utf8_add_visible(out, thing->id, false);
        buf_add_c(out, thing->note.len > 0 ? ": " : "");
        utf8_add_visible(out, thing->note, false);
        buf_add_char(out, '\n');
    }
    if (result->left_count > 0 && !result->is_proven && !result->is_absent) {
        buf_addf(out, "Fix this, then run again: shoal down %.*s\n", STR_ARG(words));
    }
}

static struct cost cost_of(const struct show *show)
{
    size_t count;
    const struct node_view *nodes = progress_nodes(show->progress, &count);
    return cost_of_ended(nodes, count);
}

static void say_down(const struct show *show, const struct launcher_result *result)
{
    AUTO_BUF struct buf out;
    struct target *target = show->target;
    buf_init(&out, TEXT_BYTES_MAX);
    buf_add_char(&out, '\n');
    if (result->is_absent) {
        add_absence(&out, target, result);
    } else {
        utf8_add_visible(&out, target->config->cluster_name, false);
        add_deeds(&out, show, result);
        bool is_all = result->is_proven && result->left_count == 0;
        buf_add_c(&out, is_all ? " Checked: nothing is left.\n" : "\n");
        struct cost cost = cost_of(show);
        cost_add(&out, &cost);
    }
    launch_add_left(&out, target, result);
    output_print(target->cli.err, buf_str(&out));
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
    record_int(arena, record, "terminated_instances", (int64_t)result->terminated_count);
    record_int(arena, record, "stopped_instances", (int64_t)result->stopped_count);
    record_int(arena, record, "kept_instances", (int64_t)result->kept_count);
    record_int(arena, record, "removed_resources", (int64_t)show->thing_count);
    struct cost cost = cost_of(show);
    if (cost.count > 0 && cost.unknown == 0) {
        record_number(arena, record, "dollars", cost.dollars);
    } else {
        record_null(arena, record, "dollars");
    }
    value_map_set_c(arena, record, "left", left);
    record_flag(arena, record, "nothing_left", result->is_proven && result->left_count == 0);
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
        status = launch_fail(&show, &err, failed);
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
