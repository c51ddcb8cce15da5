/* test_metrics.c: counters and gauges as Prometheus reads them. */
#include "app/head/metrics/metrics.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { NOW_MS = 1794738 };

static const struct resource cpu_4[] = {{{"CPU", 3}, 4 * RESOURCE_UNIT},
                                        {{"memory", 6}, 1000 * (int64_t)RESOURCE_UNIT}};
static const struct config_node_type types[] = {
    {.name = {"head", 4}, .is_head = true, .resources = {cpu_4, 2}},
    {.name = {"wor\"ker\\", 8}, .resources = {cpu_4, 2}},
};
static const struct config config = {.node_types = types, .node_type_count = 2};

static const struct node_view nodes[] = {
    {.name = {"head", 4}, .type = {"head", 4}, .is_head = true, .phase = PHASE_READY, .price = 1},
    {.name = {"worker-1", 8},
     .type = {"wor\"ker\\", 8},
     .phase = PHASE_SETTING_UP,
     .is_spot = true,
     .price = 2500000},
    {.name = {"worker-2", 8}, .type = {"old", 3}, .phase = PHASE_READY, .price = PRICE_UNKNOWN},
    {.name = {"worker-3", 8}, .type = {"old", 3}, .phase = PHASE_FAILED, .price = 7},
};

static struct str text_of(struct buf *out, const struct metrics *counts,
                          const struct cluster_status *cluster_status)
{
    struct metrics_scene scene = {
        .counts = counts,
        .config = &config,
        .cluster_status = cluster_status,
        .nodes = nodes,
        .node_count = ARRAY_LEN(nodes),
        .cluster = STR("de\nmo"),
        .session = STR("session_1"),
        .ray_version = STR("2.60.0"),
        .is_acting = true,
        .now_ms = NOW_MS,
        .process = {1.5, 4096, -1, 2000},
    };
    buf_init(out, 1000000);
    metrics_write(out, &scene);
    assert_false(out->is_full);
    return buf_str(out);
}

static void check_has(struct str text, const char *line)
{
    char wanted[400];
    snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    if (str_find(text, wanted) == SIZE_MAX) {
        unit_fail(text, line, __FILE__, __LINE__);
    }
}

static void nodes_are_counted_by_type(void **state)
{
    AUTO_BUF struct buf out;
    struct metrics counts = {0};
    (void)state;
    struct str text = text_of(&out, &counts, NULL);
    check_has(text, "autoscaler_active_nodes{NodeType=\"head\",SessionName=\"session_1\"} 1");
    check_has(text,
              "autoscaler_pending_nodes{NodeType=\"wor\\\"ker\\\\\",SessionName=\"session_1\"} 1");
    check_has(text, "autoscaler_active_nodes{NodeType=\"(other)\",SessionName=\"session_1\"} 1");
    check_has(text,
              "autoscaler_recently_failed_nodes{NodeType=\"(other)\",SessionName=\"session_1\"} 1");
    check_has(text, "autoscaler_running_workers_nodes{SessionName=\"session_1\"} 1");
    check_has(text, "autoscaler_updating_nodes{SessionName=\"session_1\"} 1");
    check_has(text, "shoal_nodes{type=\"head\",state=\"ready\",cluster=\"de?mo\"} 1");
    check_has(text, "shoal_nodes{type=\"head\",state=\"requested\",cluster=\"de?mo\"} 0");
    check_has(text, "shoal_spot_nodes{cluster=\"de?mo\"} 1");
    check_has(text, "shoal_price_dollars_per_hour{cluster=\"de?mo\"} 2.500001");
    check_has(text, "shoal_nodes_without_price{cluster=\"de?mo\"} 1");
    check_has(text, "autoscaler_pending_resources{resource=\"CPU\",SessionName=\"session_1\"} 4");
    check_has(text, "autoscaler_cluster_resources{resource=\"GPU\",SessionName=\"session_1\"} 0");
    check_has(text, "process_resident_memory_bytes{cluster=\"de?mo\"} 4096");
    assert_int_equal(str_find(text, "process_open_fds"), SIZE_MAX);
    check_has(text, "shoal_scale_up_allowed{cluster=\"de?mo\"} 0"); /* Ray was never seen */
}

static void what_was_counted_is_told(void **state)
{
    AUTO_BUF struct buf out;
    struct metrics counts = {0};
    (void)state;
    metrics_count_poll(&counts, 50);
    metrics_count_poll(&counts, 2500000);
    counts.failed_polls = 1;
    metrics_count_launch(&counts, OUTCOME_DONE, 4, 1200);
    metrics_count_launch(&counts, OUTCOME_CAPACITY, 2, 300);
    metrics_count_set_up(&counts, true, 61 * 1000);
    metrics_count_set_up(&counts, false, 1000);
    metrics_count_drain(&counts, DRAIN_REFUSED);
    metrics_count_notice(&counts);
    metrics_count_end(&counts);
    metrics_count_spent(&counts, 3000000, 1200 * 1000);
    struct str text = text_of(&out, &counts, NULL);
    check_has(text, "shoal_polls_total{cluster=\"de?mo\"} 2");
    check_has(text, "shoal_failed_polls_total{cluster=\"de?mo\"} 1");
    check_has(text,
              "autoscaler_update_time_seconds_bucket{le=\"0.01\",SessionName=\"session_1\"} 0");
    check_has(text,
              "autoscaler_update_time_seconds_bucket{le=\"0.1\",SessionName=\"session_1\"} 1");
    check_has(text,
              "autoscaler_update_time_seconds_bucket{le=\"1000.0\",SessionName=\"session_1\"} 1");
    check_has(text,
              "autoscaler_update_time_seconds_bucket{le=\"+Inf\",SessionName=\"session_1\"} 2");
    check_has(text, "autoscaler_update_time_seconds_count{SessionName=\"session_1\"} 2");
    check_has(text, "autoscaler_update_time_seconds_sum{SessionName=\"session_1\"} 2500.05");
    check_has(text, "autoscaler_started_nodes_total{SessionName=\"session_1\"} 4");
    check_has(text, "autoscaler_failed_create_nodes_total{SessionName=\"session_1\"} 2");
    check_has(text, "autoscaler_node_launch_exceptions_total{SessionName=\"session_1\"} 1");
    check_has(text, "shoal_launches_total{outcome=\"capacity\",cluster=\"de?mo\"} 1");
    check_has(text,
              "autoscaler_worker_create_node_time_seconds_count{SessionName=\"session_1\"} 4");
    check_has(
        text,
        "autoscaler_worker_update_time_seconds_bucket{le=\"90.0\",SessionName=\"session_1\"} 1");
    check_has(text, "autoscaler_failed_updates_total{SessionName=\"session_1\"} 1");
    check_has(text, "shoal_drains_total{answer=\"refused\",cluster=\"de?mo\"} 1");
    check_has(text, "shoal_spot_interruptions_total{cluster=\"de?mo\"} 1");
    check_has(text, "autoscaler_stopped_nodes_total{SessionName=\"session_1\"} 1");
    check_has(text, "shoal_spent_dollars_total{cluster=\"de?mo\"} 1");
}

static void what_ray_says_is_added_up(void **state)
{
    AUTO_BUF struct buf out;
    struct metrics counts = {0};
    static const struct resource_usage uses[] = {
        {{"CPU", 3}, 1.5, 4}, {{"node:10.0.0.4", 13}, 0, 1}, {{"lane", 4}, 1, 2}};
    static const struct node_usage seen[] = {
        {.instance = 1, .uses = uses, .use_count = 3},
        {.instance = 2, .uses = uses, .use_count = 3},
        {.instance = 3, .uses = uses, .use_count = 3, .is_dead = true},
    };
    static const struct pending_demand demands[] = {
        {.shape = {"{CPU: 4}", 8}, .count = 7, .unmet = 2, .since_ms = NOW_MS - 9000},
        {.shape = {"{CPU: 4}", 8}, .labels = {"zone in a", 9}, .count = 1},
        {.source = DEMAND_PLACEMENT_GROUP,
         .shape = {"{CPU: 4}", 8},
         .count = 2,
         .since_ms = NOW_MS},
        {.shape = {"{GPU: 99}", 9},
         .count = 3,
         .unmet = 3,
         .is_infeasible = true,
         .since_ms = NOW_MS},
    };
    struct cluster_status cluster_status = {.demands = demands,
                                            .demand_count = ARRAY_LEN(demands),
                                            .nodes = seen,
                                            .node_count = ARRAY_LEN(seen),
                                            .launching = "",
                                            .ending = "Ray was not seen for 40 s",
                                            .seen_ms = 1500,
                                            .price = 4000000,
                                            .price_limit = 20000000};
    (void)state;
    struct str text = text_of(&out, &counts, &cluster_status);
    check_has(text, "autoscaler_cluster_resources{resource=\"CPU\",SessionName=\"session_1\"} 8");
    check_has(text, "shoal_used_resources{resource=\"CPU\",cluster=\"de?mo\"} 3");
    check_has(text, "shoal_used_resources{resource=\"lane\",cluster=\"de?mo\"} 2");
    assert_int_equal(str_find(text, "node:"), SIZE_MAX);
    check_has(text, "shoal_demand{source=\"tasks\",shape=\"{CPU: 4}\",cluster=\"de?mo\"} 8");
    check_has(text, "shoal_demand{source=\"group\",shape=\"{CPU: 4}\",cluster=\"de?mo\"} 2");
    check_has(text, "shoal_demand_pending{cluster=\"de?mo\"} 13");
    check_has(text, "shoal_demand_unschedulable{cluster=\"de?mo\"} 5");
    check_has(text, "shoal_demand_infeasible{cluster=\"de?mo\"} 3");
    check_has(text, "shoal_scale_up_allowed{cluster=\"de?mo\"} 1");
    check_has(text, "shoal_scale_down_allowed{cluster=\"de?mo\"} 0");
    check_has(text, "shoal_price_dollars_per_hour{cluster=\"de?mo\"} 4");
    check_has(text, "shoal_price_limit_dollars_per_hour{cluster=\"de?mo\"} 20");
    check_has(text, "shoal_ray_seen_timestamp_seconds{cluster=\"de?mo\"} 1.5");
}

static size_t count_of(struct str text, const char *needle)
{
    size_t count = 0;
    for (size_t at = str_find(text, needle); at != SIZE_MAX; at = str_find(text, needle)) {
        text = str_sub(text, at + 1, text.len);
        count++;
    }
    return count;
}

/* The number of lines is limited, whatever the number of pending shapes and resources. */
static void series_are_bounded(void **state)
{
    enum { MANY = 3000 };
    static struct pending_demand demands[MANY];
    static struct resource_usage uses[MANY];
    static char names[MANY][24];
    AUTO_BUF struct buf out;
    struct metrics counts = {0};
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "{CPU: %zu}", i);
        demands[i] = (struct pending_demand){
            .shape = str_from(names[i]), .count = (int64_t)i, .since_ms = 1};
        uses[i] = (struct resource_usage){str_from(names[i]), 1, 1};
    }
    struct node_usage node = {.uses = uses, .use_count = MANY};
    struct cluster_status cluster_status = {
        .demands = demands, .demand_count = MANY, .nodes = &node, .node_count = 1, .price = -1};
    struct str text = text_of(&out, &counts, &cluster_status);
    assert_int_equal(count_of(text, "\nshoal_demand{"), METRICS_SHAPES_MAX + 1);
    assert_int_equal(count_of(text, "\nshoal_used_resources{"), METRICS_RESOURCES_MAX);
    check_has(text, "shoal_demand{source=\"tasks\",shape=\"{CPU: 2999}\",cluster=\"de?mo\"} 2999");
    check_has(text, "shoal_demand{source=\"tasks\",shape=\"{CPU: 2980}\",cluster=\"de?mo\"} 2980");
    check_has(text, "shoal_demand{source=\"tasks\",shape=\"other\",cluster=\"de?mo\"} 4438710");
    check_has(text, "shoal_demand_pending{cluster=\"de?mo\"} 4498500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_counted_by_type),
        cmocka_unit_test(what_was_counted_is_told),
        cmocka_unit_test(what_ray_says_is_added_up),
        cmocka_unit_test(series_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
