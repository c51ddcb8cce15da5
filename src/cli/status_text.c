/* status_text.c: Ray's words, then the nodes with their reasons, then what waits. */
#include "cli/status_text.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/live/failure.h"
#include "cli/live/table.h"
#include "cli/node_record.h"
#include "cli/output.h"
#include "cli/record.h"

enum { SHAPE_MAX = 48, STALE_MS = 10 * 1000, MICRO = 1000000, WHY_MIN = 20 };

/* ---- text ---- */

static void add_header(struct buf *out, const struct talk_status *said)
{
    const struct ctl_status *status = &said->status;
    buf_addf(out, "Cluster %.*s   ", STR_ARG(said->cluster));
    if (status->ray_version.len > 0) {
        buf_addf(out, "Ray %.*s on %.*s: %zu", STR_ARG(status->ray_version),
                 STR_ARG(status->ray_address), status->joined);
        if (status->joined < status->wanted) { /* more may be there than are wanted in any case */
            buf_addf(out, " of %zu", status->wanted);
        }
        buf_add_c(out, " nodes joined");
    } else {
        buf_addf(out, "Ray does not answer yet; %zu nodes are wanted", status->wanted);
    }
    if (status->price >= 0) {
        buf_add_c(out, "   ");
        columns_add_hourly(out, status->price, true);
    }
    if (status->price_limit >= 0) {
        buf_add_c(out, " of at most ");
        columns_add_hourly(out, status->price_limit, true);
    }
    if (status->stance.len > 0) {
        buf_addf(out, "   (%.*s)", STR_ARG(status->stance));
    }
    buf_add_char(out, '\n');
}

/* Only what is not as it should be. */
static void add_stance(struct buf *out, const struct ctl_status *status)
{
    int64_t age = status->now_ms - status->seen_ms;
    bool is_acting = str_starts(status->stance, "acting"); /* else the header has said why */
    if (is_acting && status->launching.len > 0) {
        buf_addf(out, "Nothing is launched: %.*s.\n", STR_ARG(status->launching));
    }
    if (is_acting && status->ending.len > 0) {
        buf_addf(out, "Nothing ends: %.*s.\n", STR_ARG(status->ending));
    }
    if (status->seen_ms > 0 && age > STALE_MS) {
        buf_add_c(out, "Ray was last seen ");
        columns_add_age(out, age);
        buf_add_c(out, " ago.\n");
    }
}

static struct str shape_words(struct arena *arena, const struct insight_demand *demand)
{
    return demand->labels.len > 0 ? arena_printf(arena, "%.*s with %.*s", STR_ARG(demand->shape),
                                                 STR_ARG(demand->labels))
                                  : demand->shape;
}

static const char *source_words(enum insight_source source)
{
    static const char *const words[INSIGHT_SOURCE_COUNT] = {
        [INSIGHT_TASKS] = "tasks/actors",
        [INSIGHT_GROUP] = "groups",
        [INSIGHT_CONSTRAINT] = "requested",
    };
    return words[source];
}

static void add_demands(struct buf *out, struct arena *arena, const struct talk_status *said,
                        const struct status_frame *frame)
{
    size_t wide = sizeof("WAITING") - 1;
    int64_t now = said->status.now_ms > 0 ? said->status.now_ms : frame->now_ms;
    for (size_t i = 0; i < said->demand_count; i++) {
        size_t own = utf8_width(shape_words(arena, &said->demands[i]));
        own = own < SHAPE_MAX ? own : SHAPE_MAX;
        wide = own > wide ? own : wide;
    }
    buf_add_char(out, '\n');
    columns_add_padded(out, STR("WAITING"), wide);
    buf_add_c(out, "   COUNT  WHAT          SINCE  WHY\n");
    for (size_t i = 0; i < said->demand_count; i++) {
        const struct insight_demand *demand = &said->demands[i];
        AUTO_BUF struct buf age;
        buf_init(&age, 32);
        columns_add_age(&age, demand->since_ms > 0 ? now - demand->since_ms : 0);
        size_t used = wide + 2 + 6 + 2 + 12 + 2 + 5 + 2;
        size_t room = frame->width == 0               ? SIZE_MAX / 4
                      : frame->width > used + WHY_MIN ? frame->width - used
                                                      : WHY_MIN;
        columns_add_padded(out, shape_words(arena, demand), wide);
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

void status_text_add(struct buf *out, struct arena *arena, const struct talk_status *said,
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
    add_header(out, said);
    add_stance(out, &said->status);
    buf_add_char(out, '\n');
    table_print_nodes(out, arena, said->nodes, said->node_count, now, frame->width, frame->colour);
    if (said->demand_count > 0) {
        add_demands(out, arena, said, frame);
    }
    AUTO_BUF struct buf failures;
    buf_init(&failures, OUTPUT_BYTES_MAX);
    failure_print_all(&failures, &scene);
    if (failures.len > 0) {
        buf_add_char(out, '\n');
        buf_add(out, buf_str(&failures));
    }
}

/* ---- record ---- */

static void add_price(struct arena *arena, struct value *record, const char *name, int64_t price)
{
    if (price < 0) {
        record_null(arena, record, name);
    } else {
        record_number(arena, record, name, (double)price / MICRO);
    }
}

static struct value *demand_records(struct arena *arena, const struct talk_status *said)
{
    struct value *list = record_list(arena);
    for (size_t i = 0; i < said->demand_count; i++) {
        const struct insight_demand *demand = &said->demands[i];
        struct value *record = record_new(arena);
        record_text(arena, record, "source", str_from(ctl_source_word(demand->source)));
        record_text(arena, record, "shape", demand->shape);
        record_text(arena, record, "labels", demand->labels);
        record_int(arena, record, "count", demand->count);
        record_int(arena, record, "unmet", demand->unmet);
        record_flag(arena, record, "infeasible", demand->is_infeasible);
        record_text(arena, record, "why", demand->why);
        record_int(arena, record, "since_ms", demand->since_ms);
        value_list_add(arena, list, record);
    }
    return list;
}

struct value *status_record(struct arena *arena, const struct talk_status *said)
{
    const struct ctl_status *status = &said->status;
    struct value *record = record_new(arena);
    record_text(arena, record, "cluster", said->cluster);
    record_text(arena, record, "shoal_version", said->version);
    record_text(arena, record, "ray_version", status->ray_version);
    record_text(arena, record, "ray_address", status->ray_address);
    record_text(arena, record, "stance", status->stance);
    record_text(arena, record, "launching", status->launching);
    record_text(arena, record, "ending", status->ending);
    record_text(arena, record, "goal", status->goal);
    record_int(arena, record, "joined", (int64_t)status->joined);
    record_int(arena, record, "wanted", (int64_t)status->wanted);
    record_flag(arena, record, "settled", status->is_settled);
    record_int(arena, record, "now_ms", status->now_ms);
    record_int(arena, record, "ray_seen_ms", status->seen_ms);
    add_price(arena, record, "dollars_per_hour", status->price);
    add_price(arena, record, "max_dollars_per_hour", status->price_limit);
    record_int(arena, record, "waiting", status->waiting);
    record_int(arena, record, "unmet", status->unmet);
    value_map_set_c(arena, record, "nodes", node_records(arena, said->nodes, said->node_count));
    value_map_set_c(arena, record, "demands", demand_records(arena, said));
    record_text(arena, record, "ray_status", said->ray_text);
    return record;
}
