/* explain_node.c: why a node exists, is still running, or was terminated. */
#include "app/head/explain/explain_internal.h"

#include "base/number.h"

enum {
    LAUNCH_SLACK_MS = 60 * 1000, /* between the call and the launch time recorded by the cloud */
    USES_MAX = 6,
};

/* ---- existence ---- */

/* The launch event of this node. One without a node name is matched by time and machine type. */
static const struct cluster_event *explain_node_launch_of(const struct explain_sheet *sheet,
                                                          const struct node_view *view)
{
    const struct explain_scene *scene = sheet->scene;
    const struct cluster_event *own = explain_event(scene, 1u << CLUSTER_EVENT_LAUNCH, view->name);
    const char *machine = arena_str(sheet->arena, view->machine).ptr;
    for (size_t i = scene->event_count; i-- > 0 && !own && view->requested_ms > 0;) {
        const struct cluster_event *event = &scene->events[i];
        int64_t apart = event->wall_ms - view->requested_ms;
        if (event->kind == CLUSTER_EVENT_LAUNCH && event->node.len == 0 &&
            apart < LAUNCH_SLACK_MS && apart > -LAUNCH_SLACK_MS &&
            str_find(event->text, machine) != SIZE_MAX) {
            own = event;
        }
    }
    return own;
}

static size_t count_of_type(const struct explain_scene *scene, struct str type)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        count += !view->is_head && str_eq(view->type, type) && view->phase <= PHASE_READY;
    }
    return count;
}

static bool is_kept_by_min_workers(const struct explain_scene *scene, const struct node_view *view,
                                   const struct config_node_type *type)
{
    return type && (int64_t)count_of_type(scene, view->type) <= type->min_workers;
}

static void explain_being(struct explain_sheet *sheet, const struct node_view *view)
{
    struct str name = view->name;
    const char *verb = view->phase == PHASE_TERMINATED ? "did" : "does";
    struct str question = arena_printf(sheet->arena, "Why %s %.*s exist?", verb, STR_ARG(name));
    const struct config_node_type *type = explain_type(sheet->scene, view->type);
    const struct cluster_event *launch = explain_node_launch_of(sheet, view);
    if (view->is_head) {
        explain_line(sheet, "It is the head, which runs Ray's head processes and Shoal's service.");
        explain_give(sheet, question, STR(""));
        return;
    }
    struct str age = view->requested_ms > 0 ? explain_age(sheet, view->requested_ms) : STR("");
    struct str reason = view->phase <= PHASE_READY && !view->is_draining ? view->reason : STR("");
    reason = reason.len == 0 && launch ? launch->reason : reason;
    if (reason.len > 0) {
        explain_line(
            sheet, "Launched%s%.*s: %.*s.", age.len > 0 ? " " : "",
            STR_ARG(age.len > 0 ? arena_printf(sheet->arena, "%.*s ago", STR_ARG(age)) : STR("")),
            STR_ARG(reason));
    } else if (age.len > 0 && is_kept_by_min_workers(sheet->scene, view, type)) {
        explain_line(sheet, "Launched %.*s ago; kept by min_workers: %lld of type %.*s.",
                     STR_ARG(age), (long long)type->min_workers, STR_ARG(view->type));
    } else if (age.len > 0) {
        explain_line(sheet, "Launched %.*s ago; the reason is no longer in the journal.",
                     STR_ARG(age));
    } else {
        explain_line(sheet, "It was requested from the cloud and has not started yet.");
    }
    if (view->price >= 0) {
        explain_line(sheet, "It costs %.*s%s.", STR_ARG(format_price(view->price, sheet->arena)),
                     view->is_spot ? " on the spot market" : "");
    }
    explain_give(sheet, question, STR(""));
}

/* ---- still running ---- */

static void say_uses(struct explain_sheet *sheet, const struct node_view *view)
{
    AUTO_BUF struct buf out;
    size_t count = 0;
    buf_init(&out, 1024);
    for (size_t i = 0; i < view->use_count; i++) {
        const struct resource_usage *use = &view->uses[i];
        if (use->used <= 0 || str_ends(use->name, "memory") || str_starts(use->name, "node:") ||
            count++ >= USES_MAX) {
            continue;
        }
        buf_addf(&out, "%s%g of %g %.*s", count > 1 ? ", " : "", use->used, use->total,
                 STR_ARG(format_plain(use->name, sheet->arena)));
    }
    if (out.len > 0) {
        explain_line(sheet, "In use: %.*s.", STR_ARG(buf_str(&out)));
    }
}

static const struct pending_demand *find_constraint(const struct explain_scene *scene)
{
    for (size_t i = 0; i < scene->cluster_status->demand_count; i++) {
        if (scene->cluster_status->demands[i].source == DEMAND_REQUEST_RESOURCES) {
            return &scene->cluster_status->demands[i];
        }
    }
    return NULL;
}

/* It has been idle for long enough, but something keeps it. */
static struct str say_holder(struct explain_sheet *sheet)
{
    const struct explain_scene *scene = sheet->scene;
    const struct pending_demand *constraint = find_constraint(scene);
    struct str fix = STR("");
    if (constraint) {
        explain_line(sheet, "Kept by request_resources() (%lld x %.*s).",
                     (long long)constraint->count, STR_ARG(constraint->shape));
        return explain_requester(sheet)
                   ? STR("end the Ray Train or Ray Data run; its request ends with it")
                   : STR("withdraw the request: shoal request-resources FILE");
    }
    if (explain_block(sheet, &fix)) {
        return fix;
    }
    if (scene->cluster_status->ending && scene->cluster_status->ending[0] != '\0') {
        explain_line(sheet, "Scale-down is paused: %s.", scene->cluster_status->ending);
        return STR("");
    }
    explain_line(sheet, "Draining; it will be terminated shortly.");
    return STR("");
}

static struct str say_idle(struct explain_sheet *sheet, const struct node_view *view)
{
    const struct explain_scene *scene = sheet->scene;
    const struct config_node_type *type = explain_type(scene, view->type);
    int64_t limit = type ? type->idle_timeout_ms : scene->config->idle_timeout_ms;
    int64_t idle = scene->now_ms - view->idle_since_ms;
    const char *key = type && type->idle_timeout_ms != scene->config->idle_timeout_ms
                          ? "idle_timeout_s of its type"
                          : "idle_timeout_minutes";
    struct str age = explain_age(sheet, view->idle_since_ms);
    if (is_kept_by_min_workers(scene, view, type)) {
        explain_line(sheet, "Idle for %.*s, but kept by min_workers: %lld of type %.*s.",
                     STR_ARG(age), (long long)type->min_workers, STR_ARG(view->type));
        return STR("lower min_workers of that type and run `shoal up`");
    }
    explain_line(sheet, "Idle for %.*s; it can be terminated after %.*s (%s).", STR_ARG(age),
                 STR_ARG(format_span(limit, sheet->arena)), key);
    return idle < limit ? STR("") : say_holder(sheet);
}

static void explain_staying(struct explain_sheet *sheet, const struct node_view *view)
{
    struct str fix = STR("");
    struct str question = STR("Why is it still running?");
    if (view->is_head) {
        explain_line(sheet, "The head is never scaled down; shoal down FILE removes the cluster.");
    } else if (explain_is_coming(view)) {
        question = STR("Why is it not ready?");
        explain_line(sheet, "It has been in state \"%s\" for %.*s.", node_phase_text(view->phase),
                     STR_ARG(explain_age(sheet, view->since_ms)));
        if (view->step > 0) {
            explain_line(sheet, "Step %zu of %zu of its setup: %.*s", view->step, view->steps,
                         STR_ARG(format_plain(view->detail, sheet->arena)));
        }
    } else if (view->idle_since_ms > 0) {
        fix = say_idle(sheet, view);
    } else if (view->ray_id.len == 0) {
        explain_line(sheet, "Ray has not reported the activity of this node.");
    } else {
        explain_line(sheet, "It is busy%s%.*s", view->activity.len > 0 ? ": " : ".",
                     STR_ARG(view->activity));
        say_uses(sheet, view);
    }
    if (view->is_outdated) {
        explain_line(sheet, "It is outdated, because its node_config was changed in the file. The "
                            "workers of its type are replaced in turn. No worker is replaced after "
                            "a failed setup, while the cloud has no capacity, or while "
                            "max_hourly_cost has no room for the new one.");
    }
    explain_give(sheet, question, fix);
}

/* ---- failure and termination ---- */

void explain_failure(struct explain_sheet *sheet, const struct node_view *view, struct str also)
{
    const struct node_failure *failure = &view->failure;
    struct str said = failure->said;
    struct str first = str_cut(&said, '\n');
    struct str question = arena_printf(sheet->arena, "Why did %.*s fail?", STR_ARG(view->name));
    if (failure->step.len > 0) {
        explain_line(sheet, "It failed in %.*s, %.*s ago.", STR_ARG(failure->step),
                     STR_ARG(explain_age(sheet, view->since_ms)));
    }
    if (failure->command.len > 0) {
        explain_line(sheet, "Command: %.*s", STR_ARG(failure->command));
    }
    if (first.len > 0) {
        explain_line(sheet, "Output: %.*s", STR_ARG(first));
    }
    if (failure->why.len > 0) {
        explain_line(sheet, "Cause: %.*s", STR_ARG(failure->why));
    }
    if (sheet->line_count == 0) {
        explain_line(sheet, "%.*s.", STR_ARG(view->reason.len > 0 ? view->reason : STR("unknown")));
    }
    if (also.len > 0) {
        explain_line(sheet, "Also failed: %.*s.", STR_ARG(also));
    }
    struct str logs = arena_printf(sheet->arena, "read its log: shoal logs FILE %.*s",
                                   STR_ARG(view->name));
    explain_give(sheet, question, failure->next.len > 0 ? failure->next : logs);
}

static const unsigned endings = 1u << CLUSTER_EVENT_TERMINATE |
                                1u << CLUSTER_EVENT_SPOT_INTERRUPTION | 1u << CLUSTER_EVENT_DRAIN |
                                1u << CLUSTER_EVENT_FAILURE;

static void explain_node_send_event(struct explain_sheet *sheet, const struct cluster_event *event)
{
    explain_line(sheet, "%.*s ago: %.*s%s%.*s.", STR_ARG(explain_age(sheet, event->wall_ms)),
                 STR_ARG(event->text), event->reason.len > 0 ? ": " : "", STR_ARG(event->reason));
}

static void explain_ending(struct explain_sheet *sheet, const struct node_view *view)
{
    const struct cluster_event *event = explain_event(sheet->scene, endings, view->name);
    bool is_past = view->phase == PHASE_TERMINATED;
    if (view->reason.len > 0) {
        explain_line(sheet, "%.*s.", STR_ARG(view->reason));
    }
    if (event) {
        explain_node_send_event(sheet, event);
    }
    if (view->is_draining && view->phase == PHASE_READY) {
        explain_line(sheet, "It accepts no new work and finishes what is running.");
    }
    if (sheet->line_count == 0) {
        explain_line(sheet, "It is being terminated; the reason is unknown.");
    }
    explain_give(sheet,
                 is_past ? STR("Why was it terminated?") : STR("Why is it being terminated?"),
                 STR(""));
}

bool explain_past_node(struct explain_sheet *sheet, struct str name)
{
    const struct explain_scene *scene = sheet->scene;
    size_t told = 0;
    for (size_t i = scene->event_count; i-- > 0 && told < 3;) {
        const struct cluster_event *event = &scene->events[i];
        if (str_eq(event->node, name)) {
            explain_node_send_event(sheet, event);
            told++;
        }
    }
    if (told > 0) {
        explain_give(sheet, arena_printf(sheet->arena, "Why was %.*s terminated?", STR_ARG(name)),
                     STR(""));
    }
    return told > 0;
}

void explain_node(struct explain_sheet *sheet, const struct node_view *view)
{
    explain_being(sheet, view);
    if (view->phase == PHASE_FAILED) {
        explain_failure(sheet, view, STR(""));
    } else if (view->phase == PHASE_TERMINATING || view->phase == PHASE_TERMINATED ||
               view->is_draining) {
        explain_ending(sheet, view);
    } else {
        explain_staying(sheet, view);
    }
}
