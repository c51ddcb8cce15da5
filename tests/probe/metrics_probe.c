/*
 * metrics_probe.c: the metrics of a cluster that never was, for tests that read them as Prometheus
 * does. Everything that can be counted is counted a little further with every reading.
 *
 *     metrics_probe            prints them once
 *     metrics_probe PORT       serves them on loopback until standard input ends; 0: any port,
 *                              which is printed
 */
#include "app/head/metrics/metrics.h"
#include "app/head/metrics/metrics_port.h"
#include "io/hangup.h"

#include <stdio.h>
#include <unistd.h>

static const struct resource head_has[] = {{{"CPU", 3}, 4 * RESOURCE_UNIT},
                                           {{"memory", 6}, 16 * (int64_t)RESOURCE_UNIT}};
static const struct resource gpu_has[] = {{{"CPU", 3}, 8 * RESOURCE_UNIT},
                                          {{"GPU", 3}, 1 * RESOURCE_UNIT}};
static const struct config_node_type types[] = {
    {.name = {"head", 4}, .is_head = true, .resources = {head_has, 2}},
    {.name = {"gpu", 3}, .resources = {gpu_has, 2}},
};
static const struct config config = {.node_types = types, .node_type_count = 2};

static const struct node_view nodes[] = {
    {.name = {"head", 4},
     .type = {"head", 4},
     .is_head = true,
     .phase = PHASE_READY,
     .price = 192000},
    {.name = {"worker-1", 8},
     .type = {"gpu", 3},
     .is_spot = true,
     .phase = PHASE_READY,
     .price = 402400},
    {.name = {"worker-2", 8},
     .type = {"gpu", 3},
     .phase = PHASE_SETTING_UP,
     .price = PRICE_UNKNOWN},
};

static const struct resource_usage head_uses[] = {{{"CPU", 3}, 1, 4}, {{"memory", 6}, 2e9, 16e9}};
static const struct resource_usage gpu_uses[] = {{{"CPU", 3}, 8, 8}, {{"GPU", 3}, 1, 1}};
static const struct node_usage seen[] = {
    {.instance = 1, .uses = head_uses, .use_count = 2, .idle_ms = -1},
    {.instance = 2, .uses = gpu_uses, .use_count = 2, .idle_ms = -1},
};
static const struct pending_demand demands[] = {
    {.shape = {"{CPU: 4, \"GPU\": 1}", 18}, .count = 6, .since_ms = 1},
    {.source = DEMAND_PLACEMENT_GROUP,
     .shape = {"{CPU: 1} * 3 (STRICT_SPREAD)", 28},
     .count = 1,
     .since_ms = 1},
    {.source = DEMAND_REQUEST_RESOURCES,
     .shape = {"{GPU: 99}", 9},
     .count = 2,
     .unmet = 2,
     .is_infeasible = true,
     .since_ms = 1},
};

struct probe {
    struct loop *loop;
    struct metrics counts;
    int64_t began_ms;
};

static void count_on(struct metrics *counts)
{
    metrics_count_poll(counts, 3.5);
    counts->failed_polls++;
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        metrics_count_launch(counts, (enum outcome)i, 2, 1500);
    }
    for (size_t i = 0; i < DRAIN_ANSWER_COUNT; i++) {
        metrics_count_drain(counts, (enum drain_answer)i);
    }
    metrics_count_set_up(counts, true, 42 * 1000);
    metrics_count_set_up(counts, false, 7000);
    metrics_count_notice(counts);
    metrics_count_end(counts);
    metrics_count_spent(counts, 594400, 60 * 1000);
}

static void write_all(void *context, struct buf *out)
{
    struct probe *probe = context;
    int64_t now_ms = clock_wall_ms(&clock_of_machine);
    struct cluster_status cluster_status = {
        .demands = demands,
        .demand_count = ARRAY_LEN(demands),
        .nodes = seen,
        .node_count = ARRAY_LEN(seen),
        .launching = "",
        .ending = "",
        .seen_ms = now_ms,
        .price = -1,
        .price_limit = 20000000,
    };
    struct metrics_scene scene = {
        .counts = &probe->counts,
        .config = &config,
        .cluster_status = &cluster_status,
        .nodes = nodes,
        .node_count = ARRAY_LEN(nodes),
        .cluster = STR("demo"),
        .ray_version = STR("2.60.0"),
        .session = STR("session_2026-11-15_10-30-00_000000_1"),
        .is_acting = true,
        .now_ms = now_ms,
        .process = process_facts_now(probe->began_ms),
    };
    count_on(&probe->counts);
    metrics_write(out, &scene);
}

static void on_listening(void *context, uint16_t port)
{
    (void)context;
    printf("%u\n", port);
    fflush(stdout);
}

static void on_trouble(void *context, const struct err *err)
{
    struct probe *probe = context;
    fprintf(stderr, "metrics_probe: %s\n", err->text);
    loop_stop(probe->loop);
}

static void on_gone(void *context)
{
    struct probe *probe = context;
    loop_stop(probe->loop);
}

static int serve(struct probe *probe, uint16_t number)
{
    struct err err;
    if (!loop_open(&clock_of_machine, &probe->loop, &err)) {
        return 1;
    }
    struct metrics_port_setup setup = {
        .loop = probe->loop,
        .address = "127.0.0.1",
        .port = number,
        .context = probe,
        .write = write_all,
        .listening = on_listening,
        .trouble = on_trouble,
    };
    struct metrics_port *port = metrics_port_open(&setup);
    struct hangup *hangup = hangup_watch(probe->loop, STDIN_FILENO, on_gone, probe);
    loop_run(probe->loop);
    hangup_end(hangup);
    metrics_port_close(port);
    loop_close(probe->loop);
    return 0;
}

int main(int argc, char **argv)
{
    struct probe probe = {.began_ms = clock_wall_ms(&clock_of_machine)};
    uint32_t number;
    if (argc > 1) {
        return str_to_u32(str_from(argv[1]), &number) && number <= UINT16_MAX
                   ? serve(&probe, (uint16_t)number)
                   : 2;
    }
    AUTO_BUF struct buf out;
    buf_init(&out, 1 << 20);
    write_all(&probe, &out);
    return fwrite(out.ptr, 1, out.len, stdout) == out.len ? 0 : 1;
}
