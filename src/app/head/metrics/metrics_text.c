/* metrics_text.c: writes all metrics, one family after the other. */
#include "app/head/metrics/metrics_internal.h"
#include "base/table.h"

static const double MICRO = 1e6;
static const double MILLI = 1e3;

/* ---- Ray's names ---- */

static void add_rays_counts(struct metrics_writing *writing, const struct metrics_census *census)
{
    const struct metrics *counts = writing->scene->counts;
    uint64_t calls = 0;
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        calls += counts->launches[i];
    }
    /* Recoveries, resets and their exceptions do not exist here. They are 0, so that queries that
     * sum them work. */
    const struct metrics_fact facts[] = {
        {"autoscaler_started_nodes_total", "counter", "Number of nodes started.",
         (double)counts->started},
        {"autoscaler_stopped_nodes_total", "counter", "Number of nodes stopped.",
         (double)counts->stopped},
        {"autoscaler_updating_nodes", "gauge", "Number of nodes in the process of updating.",
         (double)census->updating},
        {"autoscaler_recovering_nodes", "gauge", "Number of nodes in the process of recovering.",
         0},
        {"autoscaler_running_workers_nodes", "gauge", "Number of worker nodes running.",
         (double)census->workers_ready},
        {"autoscaler_failed_create_nodes_total", "counter",
         "Number of nodes that failed to be created.", (double)counts->refused},
        {"autoscaler_failed_updates_total", "counter", "Number of failed worker node updates.",
         (double)counts->failed_set_ups},
        {"autoscaler_successful_updates_total", "counter",
         "Number of successful worker node updates.", (double)counts->set_ups},
        {"autoscaler_failed_recoveries_total", "counter", "Number of failed node recoveries.", 0},
        {"autoscaler_successful_recoveries_total", "counter",
         "Number of successful node recoveries.", 0},
        {"autoscaler_update_loop_exceptions_total", "counter", "Failed polls of Ray.",
         (double)counts->failed_polls},
        {"autoscaler_node_launch_exceptions_total", "counter", "Failed launches.",
         (double)(calls - counts->launches[OUTCOME_DONE])},
        {"autoscaler_reset_exceptions_total", "counter",
         "Number of exceptions raised while resetting the autoscaler.", 0},
        {"autoscaler_config_validation_exceptions_total", "counter",
         "Number of exceptions raised while validating the config during a reset.", 0},
        {"autoscaler_drain_node_exceptions_total", "counter", "Drain requests without an answer.",
         (double)counts->drains[DRAIN_UNKNOWN]},
    };
    metrics_facts(writing, facts, ARRAY_LEN(facts));
    metrics_add_histogram(writing, "autoscaler_update_time_seconds",
                          "Time from requesting Ray's state to the decision.", &counts->poll_time,
                          &metrics_poll_bounds);
    metrics_add_histogram(writing, "autoscaler_worker_create_node_time_seconds",
                          "Time until the cloud answered a launch request, counted once per node.",
                          &counts->launch_time, &metrics_node_bounds);
    metrics_add_histogram(writing, "autoscaler_worker_update_time_seconds",
                          "Duration of successful node setups.", &counts->set_up_time,
                          &metrics_node_bounds);
}

/* ---- demand ---- */

/* Requests of one shape, with any labels. */
struct metrics_text_shape {
    enum demand_source source;
    struct str text;
    int64_t count, unmet;
};

struct metrics_text_shapes {
    struct metrics_text_shape *items;
    size_t count, capacity;
    struct table table;
    int64_t waiting, unmet, infeasible, since_ms;
};

static const char *source_word(enum demand_source source)
{
    static const char *const words[DEMAND_SOURCE_COUNT] = {
        [DEMAND_TASKS] = "tasks",
        [DEMAND_PLACEMENT_GROUP] = "group",
        [DEMAND_REQUEST_RESOURCES] = "constraint",
        [DEMAND_TRAINING] = "training",
    };
    return words[source];
}

struct same_shape {
    const struct metrics_text_shapes *shapes;
    const struct pending_demand *demand;
};

static bool is_same_shape(const void *context, size_t position)
{
    const struct same_shape *same = context;
    const struct metrics_text_shape *shape = &same->shapes->items[position];
    return shape->source == same->demand->source && str_eq(shape->text, same->demand->shape);
}

static void metrics_text_add_demand(struct metrics_text_shapes *shapes, struct arena *arena,
                                    const struct pending_demand *demand)
{
    struct same_shape same = {shapes, demand};
    uint64_t hash = str_hash_from(demand->source + 1, demand->shape);
    size_t at = table_find(&shapes->table, hash, is_same_shape, &same);
    if (at == TABLE_NONE) {
        at = shapes->count++;
        ARENA_GROW(arena, shapes->items, at, shapes->capacity);
        shapes->items[at] = (struct metrics_text_shape){.source = demand->source,
                                                        .text = demand->shape};
        table_add(&shapes->table, arena, hash, at);
    }
    shapes->items[at].count += demand->count;
    shapes->items[at].unmet += demand->unmet;
    shapes->waiting += demand->count;
    shapes->unmet += demand->unmet;
    shapes->infeasible += demand->is_infeasible ? demand->count : 0;
    if (demand->count > 0 && (shapes->since_ms == 0 || demand->since_ms < shapes->since_ms)) {
        shapes->since_ms = demand->since_ms;
    }
}

/* Keeps the METRICS_SHAPES_MAX largest shapes, largest first, and sums the others. */
static void keep_largest(struct metrics_text_shapes *shapes)
{
    struct metrics_text_shape rest = {.text = STR("other")};
    for (size_t i = 0; i < shapes->count; i++) {
        struct metrics_text_shape moving = shapes->items[i];
        size_t kept = i < METRICS_SHAPES_MAX ? i : METRICS_SHAPES_MAX;
        for (size_t j = 0; j < kept; j++) {
            if (moving.count > shapes->items[j].count) {
                struct metrics_text_shape smaller = shapes->items[j];
                shapes->items[j] = moving;
                moving = smaller;
            }
        }
        if (kept < METRICS_SHAPES_MAX) {
            shapes->items[kept] = moving;
        } else {
            rest.count += moving.count;
            rest.unmet += moving.unmet;
        }
    }
    if (shapes->count > METRICS_SHAPES_MAX) {
        shapes->items[METRICS_SHAPES_MAX] = rest;
        shapes->count = METRICS_SHAPES_MAX + 1;
    }
}

static void metrics_text_add_demands(struct metrics_writing *writing)
{
    const struct cluster_status *cluster_status = writing->scene->cluster_status;
    struct metrics_text_shapes shapes = {0};
    for (size_t i = 0; cluster_status && i < cluster_status->demand_count; i++) {
        metrics_text_add_demand(&shapes, writing->arena, &cluster_status->demands[i]);
    }
    keep_largest(&shapes);
    metrics_family(writing, "shoal_demand", "gauge",
                   "Pending requests by shape; shapes beyond the limit are summed.");
    for (size_t i = 0; i < shapes.count; i++) {
        metrics_line(
            writing, "shoal_demand", "",
            (struct metrics_label){"source", str_from(source_word(shapes.items[i].source))},
            (struct metrics_label){"shape", shapes.items[i].text}, (double)shapes.items[i].count);
    }
    int64_t age_ms = shapes.since_ms > 0 ? writing->scene->now_ms - shapes.since_ms : 0;
    const struct metrics_fact facts[] = {
        {"shoal_demand_pending", "gauge", "Pending requests.", (double)shapes.waiting},
        {"shoal_demand_unschedulable", "gauge",
         "Pending requests for which nothing can be launched now.", (double)shapes.unmet},
        {"shoal_demand_infeasible", "gauge", "Pending requests that no node type can run.",
         (double)shapes.infeasible},
        {"shoal_demand_oldest_seconds", "gauge", "Age of the oldest pending request.",
         age_ms > 0 ? (double)age_ms / MILLI : 0},
    };
    metrics_facts(writing, facts, ARRAY_LEN(facts));
}

/* ---- our names ---- */

static void add_outcomes(struct metrics_writing *writing)
{
    static const char *const outcomes[OUTCOME_COUNT] = {
        [OUTCOME_DONE] = "done",           [OUTCOME_UNKNOWN] = "unknown",
        [OUTCOME_THROTTLED] = "throttled", [OUTCOME_CAPACITY] = "capacity",
        [OUTCOME_QUOTA] = "quota",         [OUTCOME_DENIED] = "denied",
        [OUTCOME_INVALID] = "invalid",     [OUTCOME_MISMATCH] = "mismatch",
        [OUTCOME_NOT_FOUND] = "not-found", [OUTCOME_NO_LEASE] = "no-lease",
    };
    static const char *const answers[DRAIN_ANSWER_COUNT] = {
        [DRAIN_ACCEPTED] = "accepted",
        [DRAIN_REFUSED] = "refused",
        [DRAIN_UNKNOWN] = "unknown",
    };
    const struct metrics *counts = writing->scene->counts;
    metrics_family(writing, "shoal_launches_total", "counter", "Launch requests by outcome.");
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        metrics_line(writing, "shoal_launches_total", "",
                     (struct metrics_label){"outcome", str_from(outcomes[i])}, metrics_none,
                     (double)counts->launches[i]);
    }
    metrics_family(writing, "shoal_drains_total", "counter", "Drain requests by answer.");
    for (size_t i = 0; i < DRAIN_ANSWER_COUNT; i++) {
        metrics_line(writing, "shoal_drains_total", "",
                     (struct metrics_label){"answer", str_from(answers[i])}, metrics_none,
                     (double)counts->drains[i]);
    }
}

static void add_info(struct metrics_writing *writing)
{
    metrics_family(writing, "shoal_info", "gauge", "Versions of Shoal and Ray; always 1.");
    metrics_line(writing, "shoal_info", "", (struct metrics_label){"version", STR(SHOAL_VERSION)},
                 (struct metrics_label){"ray_version", writing->scene->ray_version}, 1);
}

/* Is it permitted, as far as known? */
static double may(const struct metrics_scene *scene, bool launches)
{
    if (!scene->cluster_status || !scene->is_acting) {
        return 0;
    }
    const char *why_not = launches ? scene->cluster_status->launching
                                   : scene->cluster_status->ending;
    return !why_not || why_not[0] == '\0';
}

static void metrics_text_add_ours(struct metrics_writing *writing,
                                  const struct metrics_census *census)
{
    const struct metrics_scene *scene = writing->scene;
    const struct metrics *counts = scene->counts;
    const struct metrics_fact facts[] = {
        {"shoal_leader", "gauge", "1 while this process holds the cluster lease.",
         scene->is_acting},
        {"shoal_journal_writable", "gauge",
         "1 while the journal is writable; otherwise nothing is launched.", scene->is_recording},
        {"shoal_scale_up_allowed", "gauge", "1 while launches are allowed.", may(scene, true)},
        {"shoal_scale_down_allowed", "gauge", "1 while scale-down is allowed.", may(scene, false)},
        {"shoal_spot_nodes", "gauge", "Spot nodes.", (double)census->spot},
        {"shoal_price_dollars_per_hour", "gauge",
         "Price per hour of running and pending nodes with a known price.",
         (double)census->price / MICRO},
        {"shoal_nodes_without_price", "gauge", "Nodes with an unknown price.",
         (double)census->unknown_prices},
        {"shoal_spent_dollars_total", "counter",
         "Cost of nodes since this process started, as far as prices are known.",
         counts->spent / MICRO},
        {"shoal_polls_total", "counter", "Successful polls of Ray.", (double)counts->polls},
        {"shoal_failed_polls_total", "counter", "Failed polls of Ray.",
         (double)counts->failed_polls},
        {"shoal_poll_seconds", "gauge", "Duration of the last poll, from request to decision.",
         counts->poll_s},
        {"shoal_ray_seen_timestamp_seconds", "gauge",
         "Time of the last successful poll of Ray; 0 if there was none.",
         scene->cluster_status ? (double)scene->cluster_status->seen_ms / MILLI : 0},
        {"shoal_spot_interruptions_total", "counter", "Nodes with a spot interruption notice.",
         (double)counts->notices},
    };
    metrics_facts(writing, facts, ARRAY_LEN(facts));
    if (scene->cluster_status && scene->cluster_status->price_limit >= 0) {
        const struct metrics_fact limit = {
            "shoal_price_limit_dollars_per_hour", "gauge",
            "max_hourly_cost of the cluster file; absent if not set.",
            (double)scene->cluster_status->price_limit / MICRO};
        metrics_facts(writing, &limit, 1);
    }
}

/* Standard process metrics. */
static void add_process(struct metrics_writing *writing)
{
    const struct process_facts *process = &writing->scene->process;
    const struct metrics_fact facts[] = {
        {"process_cpu_seconds_total", "counter", "CPU time of this process.", process->cpu_s},
        {"process_resident_memory_bytes", "gauge", "Memory of this process.",
         (double)process->resident_bytes},
        {"process_open_fds", "gauge", "Open file descriptors of this process.",
         (double)process->open_files},
        {"process_start_time_seconds", "gauge", "Start time of this process.",
         (double)process->began_ms / MILLI},
    };
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        if (facts[i].value >= 0) {
            metrics_facts(writing, &facts[i], 1);
        }
    }
}

void metrics_write(struct buf *out, const struct metrics_scene *scene)
{
    struct arena arena;
    arena_init(&arena);
    struct metrics_writing writing = {out, scene, &arena};
    struct metrics_census census = metrics_take_census(&writing);
    add_info(&writing);
    metrics_add_nodes(&writing, &census);
    metrics_add_resources(&writing, &census);
    metrics_text_add_demands(&writing);
    metrics_text_add_ours(&writing, &census);
    add_outcomes(&writing);
    add_rays_counts(&writing, &census);
    add_process(&writing);
    arena_clear(&arena);
}
