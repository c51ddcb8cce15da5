/* status_text.c: Ray's own status, then the nodes with their reasons, then pending demand. */
#include "cli/status_text.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/json_object.h"
#include "cli/node_json.h"
#include "cli/output.h"
#include "cli/progress/failure.h"
#include "cli/progress/node_table.h"

enum { SHAPE_MAX = 48, STALE_MS = 10 * 1000, WHY_MIN = 20 };

/* ---- text ---- */

static void status_text_add_header(struct buf *out, const struct ctl_query_status *said)
{
    const struct ctl_status *status = &said->status;
    buf_addf(out, "Cluster %.*s   ", STR_ARG(said->cluster));
    if (status->ray_version.len > 0) {
        buf_addf(out, "Ray %.*s on %.*s: %zu", STR_ARG(status->ray_version),
                 STR_ARG(status->ray_address), status->joined);
        if (status->joined < status->wanted) { /* there may be more nodes than the target */
            buf_addf(out, " of %zu", status->wanted);
        }
        size_t counted = status->joined < status->wanted ? status->wanted : status->joined;
        buf_addf(out, " node%s joined", counted == 1 ? "" : "s");
    } else {
        buf_addf(out, "Ray does not answer yet; %zu node%s requested", status->wanted,
                 status->wanted == 1 ? " is" : "s are");
    }
    if (status->price >= 0) {
        buf_add_c(out, "   ");
        columns_add_hourly(out, status->price, true);
    }
    if (status->price_limit >= 0) {
        buf_add_c(out, " of at most ");
        columns_add_hourly(out, status->price_limit, true);
    }
    if (status->autoscaler != AUTOSCALER_UNKNOWN) {
        buf_addf(out, "   autoscaler: %s",
                 status->autoscaler == AUTOSCALER_ACTIVE ? "on" : "paused");
    }
    buf_add_char(out, '\n');
}

/* Prints only what is not normal. */
static void status_text_add_problems(struct buf *out, const struct ctl_status *status)
{
    int64_t age = status->now_ms - status->seen_ms;
    bool is_active = status->autoscaler == AUTOSCALER_ACTIVE; /* else it changes nothing anyway */
    if (status->autoscaler_message.len > 0) {
        buf_addf(out, "%s%.*s.\n", is_active ? "Note: " : "The autoscaler is paused: ",
                 STR_ARG(status->autoscaler_message));
    }
    if (is_active && status->launching.len > 0) {
        buf_addf(out, "Launches are paused: %.*s.\n", STR_ARG(status->launching));
    }
    if (is_active && status->ending.len > 0) {
        buf_addf(out, "Scale-down is paused: %.*s.\n", STR_ARG(status->ending));
    }
    if (is_active && status->held.len > 0) {
        buf_addf(out, "Fewer workers than min_workers: %.*s.\n", STR_ARG(status->held));
    }
    if (status->stopped > 0) {
        buf_addf(out,
                 "%zu stopped worker%s kept for the next scale-up: disks are billed, and are not "
                 "in the price.\n",
                 status->stopped, status->stopped == 1 ? " is" : "s are");
    }
    if (is_active && status->idle_stop.len > 0) {
        buf_addf(out, "idle_stop: the cluster is %.*s.\n", STR_ARG(status->idle_stop));
    }
    if (status->seen_ms > 0 && age > STALE_MS) {
        buf_add_c(out, "Ray was last seen ");
        columns_add_age(out, age);
        buf_add_c(out, " ago.\n");
    }
}

static const char *source_words(enum demand_source source)
{
    static const char *const words[DEMAND_SOURCE_COUNT] = {
        [DEMAND_TASKS] = "tasks/actors",
        [DEMAND_PLACEMENT_GROUP] = "groups",
        [DEMAND_REQUEST_RESOURCES] = "requested",
        [DEMAND_TRAINING] = "training",
    };
    return words[source];
}

static void status_text_add_demands(struct buf *out, struct arena *arena,
                                    const struct ctl_query_status *said,
                                    const struct status_frame *frame)
{
    size_t wide = sizeof("WAITING") - 1;
    int64_t now = said->status.now_ms > 0 ? said->status.now_ms : frame->now_ms;
    size_t third = frame->width > 0 ? frame->width / 3 : SHAPE_MAX;
    size_t shape_max = third < SHAPE_MAX ? third : SHAPE_MAX;
    for (size_t i = 0; i < said->demand_count; i++) {
        size_t own = utf8_width(pending_demand_text(&said->demands[i], arena));
        own = own < shape_max ? own : shape_max;
        wide = own > wide ? own : wide;
    }
    buf_add_char(out, '\n');
    columns_add_padded(out, STR("WAITING"), wide);
    buf_add_c(out, "   COUNT  WHAT          SINCE  WHY\n");
    for (size_t i = 0; i < said->demand_count; i++) {
        const struct pending_demand *demand = &said->demands[i];
        AUTO_BUF struct buf age;
        buf_init(&age, 32);
        columns_add_age(&age, demand->since_ms > 0 ? now - demand->since_ms : 0);
        size_t used = wide + 2 + 6 + 2 + 12 + 2 + 5 + 2;
        size_t room = frame->width == 0               ? SIZE_MAX / 4
                      : frame->width > used + WHY_MIN ? frame->width - used
                                                      : WHY_MIN;
        columns_add_padded(out, pending_demand_text(demand, arena), wide);
        buf_addf(out, "  %6lld  ", (long long)demand->count);
        columns_add_padded(out, str_from(source_words(demand->source)), 12);
        buf_addf(out, "  %5s  ", demand->since_ms > 0 ? age.ptr : "-");
        columns_add(out, demand->why.len > 0 ? demand->why : STR(""), room);
        while (out->len > 0 && out->ptr[out->len - 1] == ' ') {
            out->len--;
        }
        buf_add_char(out, '\n');
    }
    if (said->status.demand_count > said->demand_count) {
        buf_addf(out, "and %zu more\n", said->status.demand_count - said->demand_count);
    }
}

void status_text_add(struct buf *out, struct arena *arena, const struct ctl_query_status *said,
                     const struct status_frame *frame)
{
    struct failure_scene scene = {
        .file = frame->file,
        .tree = frame->tree,
        .nodes = said->nodes,
        .node_count = said->node_count,
        .style = output_style(frame->colour),
    };
    int64_t now = said->status.now_ms > 0 ? said->status.now_ms : frame->now_ms;
    if (frame->has_ray_text && said->ray_text.len > 0) {
        buf_add(out, said->ray_text);
        buf_add_c(out, "\n\n");
    }
    status_text_add_header(out, said);
    status_text_add_problems(out, &said->status);
    buf_add_char(out, '\n');
    table_print_nodes(out, arena, said->nodes, said->node_count, now, frame->width, frame->colour);
    if (said->demand_count > 0) {
        status_text_add_demands(out, arena, said, frame);
    }
    AUTO_BUF struct buf failures;
    buf_init(&failures, OUTPUT_BYTES_MAX);
    failure_print_all(&failures, &scene);
    if (failures.len > 0) {
        buf_add_char(out, '\n');
        buf_add(out, buf_str(&failures));
    }
}

/* ---- JSON ---- */

static struct value *demand_records(struct arena *arena, const struct ctl_query_status *said)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < said->demand_count; i++) {
        const struct pending_demand *demand = &said->demands[i];
        struct value *record = record_new(arena);
        record_fields(arena, record, &pending_demand_table, demand);
        value_list_add(arena, list, record);
    }
    return list;
}

struct value *status_record(struct arena *arena, const struct ctl_query_status *said)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "cluster", said->cluster);
    record_text(arena, record, "shoal_version", said->version);
    record_fields(arena, record, &ctl_status_table, &said->status);
    value_map_set_c(arena, record, "nodes", node_records(arena, said->nodes, said->node_count));
    value_map_set_c(arena, record, "demands", demand_records(arena, said));
    record_text(arena, record, "ray_status", said->ray_text);
    return record;
}
