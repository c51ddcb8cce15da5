/* explain_sheet.c: lines, lookups and the common causes of all answers. */
#include "app/head/explain/explain_internal.h"

#include <stdarg.h>

enum {
    LATE_MS = 10 * 1000, /* without an answer from Ray for this long, nothing is decided */
    TEXT_BYTES_MAX = 4096,
};

/* ---- output ---- */

void explain_line(struct explain_sheet *sheet, const char *fmt, ...)
{
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, TEXT_BYTES_MAX);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    if (sheet->line_count < EXPLAIN_LINES_MAX) {
        sheet->lines[sheet->line_count++] = arena_str(sheet->arena, buf_str(&text));
    }
}

void explain_give(struct explain_sheet *sheet, struct str question, struct str fix)
{
    struct ctl_answer answer = {
        .question = question, .lines = sheet->lines, .line_count = sheet->line_count, .fix = fix};
    sheet->take(sheet->context, &answer);
    sheet->line_count = 0;
}

struct str explain_age(const struct explain_sheet *sheet, int64_t since_ms)
{
    int64_t age = sheet->scene->now_ms - since_ms;
    int64_t whole = age > 0 ? age - age % 1000 : 0;
    return format_span(whole, sheet->arena);
}

/* ---- lookups ---- */

const struct cluster_event *explain_event(const struct explain_scene *scene, unsigned kinds,
                                          struct str node)
{
    for (size_t i = scene->event_count; i-- > 0;) {
        const struct cluster_event *event = &scene->events[i];
        if ((kinds >> event->kind & 1) != 0 && str_eq(event->node, node)) {
            return event;
        }
    }
    return NULL;
}

const struct config_node_type *explain_type(const struct explain_scene *scene, struct str name)
{
    for (size_t i = 0; i < scene->config->node_type_count; i++) {
        if (str_eq(scene->config->node_types[i].name, name)) {
            return &scene->config->node_types[i];
        }
    }
    return NULL;
}

bool explain_is_coming(const struct node_view *view)
{
    return view->phase < PHASE_READY && !view->is_head;
}

/* ---- common causes ---- */

static bool is_ray_away(const struct explain_scene *scene)
{
    return scene->ray_trouble.len > 0 || (scene->cluster_status->seen_ms > 0 &&
                                          scene->now_ms - scene->cluster_status->seen_ms > LATE_MS);
}

bool explain_block(struct explain_sheet *sheet, struct str *ret_fix)
{
    const struct explain_scene *scene = sheet->scene;
    const struct cluster_status *cluster_status = scene->cluster_status;
    if (scene->is_ray_scaling) {
        explain_line(sheet, "Shoal is not scaling this cluster: %.*s.",
                     STR_ARG(scene->autoscaler_message));
        *ret_fix = STR("remove --autoscaling-config from head_start_ray_commands and run `shoal "
                       "up`, which starts Ray with --no-monitor");
        return true;
    }
    if (!scene->is_acting) {
        struct str why = scene->autoscaler_message.len > 0
                             ? scene->autoscaler_message
                             : STR("this autoscaler does not hold the cluster lease");
        explain_line(sheet, "Nothing is launched or terminated: %.*s.", STR_ARG(why));
        *ret_fix = STR("wait until the other controller stops, or run `shoal up` to take over");
        return true;
    }
    if (is_ray_away(scene)) {
        struct str since = cluster_status->seen_ms > 0
                               ? arena_printf(sheet->arena, " for %.*s",
                                              STR_ARG(explain_age(sheet, cluster_status->seen_ms)))
                               : STR(" so far");
        explain_line(sheet,
                     "Ray on the head has not answered%.*s%s%.*s. Until it answers, nothing is "
                     "launched or terminated.",
                     STR_ARG(since), scene->ray_trouble.len > 0 ? ": " : "",
                     STR_ARG(scene->ray_trouble));
        *ret_fix = STR("check Ray on the head: shoal attach FILE, then: ray status");
        return true;
    }
    if (cluster_status->launching && cluster_status->launching[0] != '\0') {
        explain_line(sheet, "Launches are paused: %s.", cluster_status->launching);
        *ret_fix = STR("");
        return true;
    }
    return false;
}
