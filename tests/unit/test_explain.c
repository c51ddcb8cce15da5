/* test_explain.c: the explanations that users read: whole transcripts. */
#include "app/head/explain/service_explain.h"

#include "fixture.h"

#include <string.h>

static const char file[] = "cluster_name: demo\n"
                           "max_workers: 6\n"
                           "idle_timeout_minutes: 5\n"
                           "provider: {type: aws, region: us-west-2}\n"
                           "auth: {ssh_user: ubuntu}\n"
                           "available_node_types:\n"
                           "  head: {resources: {CPU: 2}, node_config: {InstanceType: m5.large}}\n"
                           "  cpu:\n"
                           "    {min_workers: 1, max_workers: 4, resources: {CPU: 4},\n"
                           "     node_config: {InstanceType: m5.xlarge}}\n"
                           "  gpu:\n"
                           "    {max_workers: 4, resources: {CPU: 4, GPU: 1},\n"
                           "     node_config: {InstanceType: g5.xlarge}}\n"
                           "head_node_type: head\n";

enum { NOW_S = 1790000000, SECOND = 1000, MINUTE = 60 * SECOND };
static const int64_t now_ms = (int64_t)NOW_S * SECOND;

struct stage {
    struct fixture *fixture;
    struct cluster_status cluster_status;
    struct explain_scene scene;
    struct buf told;
    struct err err;
};

static const struct node_view head_node = {.name = {"head", 4},
                                           .type = {"head", 4},
                                           .machine = {"m5.large", 8},
                                           .is_head = true,
                                           .phase = PHASE_READY,
                                           .price = 96000,
                                           .ray_id = {"aa", 2}};

static void open_stage(struct stage *stage)
{
    *stage = (struct stage){.fixture = fixture_new()};
    const struct value *tree = fixture_prepare(stage->fixture, file);
    assert_non_null(tree);
    stage->cluster_status = (struct cluster_status){.seen_ms = now_ms - 200,
                                                    .decided_ms = now_ms - 200,
                                                    .launching = "",
                                                    .ending = "",
                                                    .price = 96000,
                                                    .billed_count = 2,
                                                    .price_limit = -1};
    stage->scene = (struct explain_scene){
        .config = config_type(&stage->fixture->arena, tree),
        .cluster_status = &stage->cluster_status,
        .nodes = &head_node,
        .node_count = 1,
        .now_ms = now_ms,
        .is_acting = true,
    };
    buf_init(&stage->told, 1 << 20);
}

static void close_stage(struct stage *stage)
{
    buf_clear(&stage->told);
    fixture_free(&stage->fixture);
}

static void take(void *context, const struct ctl_answer *answer)
{
    struct buf *out = context;
    buf_addf(out, "%.*s\n", STR_ARG(answer->question));
    for (size_t i = 0; i < answer->line_count; i++) {
        buf_addf(out, "  %.*s\n", STR_ARG(answer->lines[i]));
    }
    if (answer->fix.len > 0) {
        buf_addf(out, "  -> %.*s\n", STR_ARG(answer->fix));
    }
}

static const char *ask(struct stage *stage, const char *about)
{
    stage->told.len = 0;
    buf_add_c(&stage->told, "");
    if (!explain(&stage->scene, str_from(about), &stage->fixture->arena, take, &stage->told,
                 &stage->err)) {
        buf_addf(&stage->told, "refused: %s\n", stage->err.text);
    }
    return stage->told.ptr;
}

static void have_demand(struct stage *stage, const struct pending_demand *demand)
{
    stage->cluster_status.demands = demand;
    stage->cluster_status.demand_count = 1;
}

static void have_nodes(struct stage *stage, const struct node_view *nodes, size_t count)
{
    stage->scene.nodes = nodes;
    stage->scene.node_count = count;
}

static void have_events(struct stage *stage, const struct cluster_event *events, size_t count)
{
    stage->scene.events = events;
    stage->scene.event_count = count;
}

/* ---- requests ---- */

static void why_it_waits_while_nodes_come(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{CPU: 4}"), .count = 9, .since_ms = now_ms - 12 * SECOND};
    const struct node_view nodes[] = {
        head_node,
        {.name = STR("worker-1"), .type = STR("cpu"), .phase = PHASE_BOOTING, .price = -1},
        {.name = STR("worker-2"),
         .type = STR("gpu"),
         .phase = PHASE_SETTING_UP,
         .step = 2,
         .steps = 5,
         .price = -1}};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    have_nodes(&stage, nodes, 3);
    assert_string_equal(ask(&stage, "{cpu:4}"),
                        "Why are 9 requests of {CPU: 4} still waiting?\n"
                        "  Requested 12 s ago. They fit node types cpu, gpu.\n"
                        "  2 nodes are pending: worker-1 (booting), worker-2 (setup 2/5).\n");
    close_stage(&stage);
}

static void why_it_waits_without_capacity(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{GPU: 1}"),
        .count = 4,
        .unmet = 4,
        .why = STR("1x GPU: gpu would fit, but cannot be launched now; next try in 40 s"),
        .cause = CAUSE_UNAVAILABLE,
        .since_ms = now_ms - 6 * MINUTE};
    const struct cluster_event events[] = {
        {.number = 1,
         .wall_ms = now_ms - 9 * MINUTE,
         .kind = CLUSTER_EVENT_LAUNCH_FAILED,
         .text = STR("old")},
        {.number = 2,
         .wall_ms = now_ms - 25 * SECOND,
         .kind = CLUSTER_EVENT_LAUNCH_FAILED,
         .launch = (UINT64_C(3) << 32) + 7,
         .text = STR("launch 3.7 failed"),
         .reason = STR("no capacity for g5.xlarge (spot) in us-west-2a: "
                       "InsufficientInstanceCapacity")}};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    have_events(&stage, events, 2);
    assert_string_equal(ask(&stage, "GPU"),
                        "Why are 4 requests of {GPU: 1} still waiting?\n"
                        "  Requested 6 min ago. They fit node type gpu.\n"
                        "  1x GPU: gpu would fit, but cannot be launched now; next try in 40 s.\n"
                        "  25 s ago: no capacity for g5.xlarge (spot) in us-west-2a: "
                        "InsufficientInstanceCapacity.\n"
                        "  -> allow another zone or instance type, or use on-demand instances\n");
    close_stage(&stage);
}

static void why_it_waits_at_a_limit(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{GPU: 1}"),
        .count = 4,
        .unmet = 1,
        .why = STR("1x GPU: every node type that fits is at its max_workers (gpu: 4)"),
        .cause = CAUSE_TYPE_LIMIT,
        .since_ms = now_ms - 6 * MINUTE};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    assert_string_equal(
        ask(&stage, "{'GPU': 1}"),
        "Why are 4 requests of {GPU: 1} still waiting?\n"
        "  Requested 6 min ago. They fit node type gpu.\n"
        "  1 of them: 1x GPU: every node type that fits is at its max_workers (gpu: 4).\n"
        "  -> raise max_workers of that node type, or add a type that fits\n");
    demand.why = STR("1x GPU: the cluster is at its max_workers of 6");
    demand.cause = CAUSE_CLUSTER_LIMIT;
    assert_non_null(strstr(ask(&stage, "GPU"), "  -> raise max_workers of the cluster"));
    close_stage(&stage);
}

static void why_it_can_never_run(void **state)
{
    struct stage stage;
    struct pending_demand demand = {.shape = STR("{GPU: 8}"),
                                    .count = 1,
                                    .unmet = 1,
                                    .is_infeasible = true,
                                    .why = STR("8x GPU: no node type has that much; the largest "
                                               "is gpu with 1"),
                                    .cause = CAUSE_TOO_LARGE,
                                    .since_ms = now_ms - 90 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    assert_string_equal(ask(&stage, "GPU"),
                        "Why is 1 request of {GPU: 8} still waiting?\n"
                        "  Requested 1 min 30 s ago.\n"
                        "  No node type in the cluster file can run it: 8x GPU: no node type has "
                        "that much; the largest is gpu with 1.\n"
                        "  -> add a node type with enough of that resource, or request less\n");
    demand.labels = STR("zone in (a, b)");
    demand.why = STR("1x CPU with zone in (a, b): node types that are large enough, such as cpu, "
                     "lack the labels");
    demand.cause = CAUSE_LABELS;
    assert_non_null(strstr(ask(&stage, "GPU"), "{GPU: 8} with zone in (a, b) still waiting?\n"));
    assert_non_null(strstr(stage.told.ptr, "  -> add the labels to a node type (labels)"));
    demand.why = STR("1x GPU, 64x CPU: no single node type has all of it");
    demand.cause = CAUSE_COMBINATION;
    assert_non_null(
        strstr(ask(&stage, "GPU"), "  -> add a node type that has all of these resources\n"));
    close_stage(&stage);
}

static void why_money_keeps_it_waiting(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{GPU: 1}"),
        .count = 2,
        .unmet = 2,
        .why = STR("max_hourly_cost of $1.00/h would be exceeded: gpu costs $1.006/h"),
        .cause = CAUSE_PRICE,
        .since_ms = now_ms - 5 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    assert_string_equal(ask(&stage, "GPU"),
                        "Why are 2 requests of {GPU: 1} still waiting?\n"
                        "  Requested 5 s ago. They fit node type gpu.\n"
                        "  max_hourly_cost of $1.00/h would be exceeded: gpu costs $1.006/h.\n"
                        "  -> raise metadata.shoal.max_hourly_cost, or stop other jobs\n");
    demand.why = STR("1x GPU: gpu would fit, but its price is unknown and max_hourly_cost is set");
    demand.cause = CAUSE_PRICE_UNKNOWN;
    assert_non_null(strstr(ask(&stage, "GPU"), "  -> set its price: metadata.shoal.prices"));
    close_stage(&stage);
}

/* The text may contain anything, also the cloud's message: the advice depends on the cause. */
static void advice_goes_by_the_cause(void **state)
{
    static const struct {
        enum pending_cause cause;
        const char *advice; /* NULL: none */
    } cases[] = {
        {CAUSE_UNAVAILABLE, "  -> allow another zone"},
        {CAUSE_RAMP, "  -> raise upscaling_speed to launch more at once\n"},
        {CAUSE_PASSING, NULL},
        {CAUSE_NONE, NULL},
    };
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{GPU: 1}"),
        .count = 2,
        .unmet = 2,
        .why = STR("gpu cannot be had now: max_workers, max_hourly_cost, lack the labels"),
        .since_ms = now_ms - 5 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        demand.cause = cases[i].cause;
        const char *answer = ask(&stage, "GPU");
        assert_non_null(strstr(answer, cases[i].advice ? cases[i].advice : "lack the labels.\n"));
        assert_true((strstr(answer, "->") != NULL) == (cases[i].advice != NULL));
    }
    close_stage(&stage);
}

static void why_a_group_waits(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .source = DEMAND_PLACEMENT_GROUP,
        .shape = STR("{CPU: 1} * 9 (STRICT_SPREAD)"),
        .count = 1,
        .unmet = 1,
        .why = STR("1x CPU: each request fits alone, but the group does not fit at once"),
        .cause = CAUSE_TOGETHER,
        .since_ms = now_ms - 61 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    assert_string_equal(ask(&stage, "strict_spread"),
                        "Why is 1 placement group of {CPU: 1} * 9 (STRICT_SPREAD) still waiting?\n"
                        "  Requested 1 min 1 s ago. It fits node types cpu, gpu.\n"
                        "  1x CPU: each request fits alone, but the group does not fit at once.\n"
                        "  -> raise max_workers, or request fewer bundles at once\n");
    close_stage(&stage);
}

static void why_a_training_job_waits(void **state)
{
    struct stage stage;
    struct pending_demand demand = {.source = DEMAND_TRAINING,
                                    .shape = STR("{CPU: 1}"),
                                    .job = STR("ddp"),
                                    .count = 2,
                                    .since_ms = now_ms - 5 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    assert_string_equal(ask(&stage, "ddp"),
                        "Why does training job ddp need 2 more replicas of {CPU: 1}?\n"
                        "  Requested 5 s ago. They fit node types cpu, gpu.\n"
                        "  The cluster has room for it; shoal train will use it shortly.\n");
    demand.count = 1;
    assert_non_null(strstr(ask(&stage, "{cpu:1}"), "training job ddp need 1 more replica of"));
    /* A launch that is impossible, for example, for which the plan has the nodes already. */
    stage.scene.autoscaler_message = STR("this service will not start by itself");
    assert_null(strstr(ask(&stage, "ddp"), "The autoscaler reports"));
    stage.scene.launch_trouble = STR("this identity lacks permissions");
    const char *said = ask(&stage, "ddp");
    assert_non_null(strstr(said, "  The autoscaler reports: this identity lacks permissions.\n"));
    assert_null(strstr(said, "room for it"));
    close_stage(&stage);
}

/* ---- when nothing happens ---- */

static void why_nothing_happens(void **state)
{
    struct stage stage;
    struct pending_demand demand = {
        .shape = STR("{CPU: 1}"), .count = 1, .since_ms = now_ms - 40 * SECOND};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    stage.cluster_status.seen_ms = now_ms - 40 * SECOND;
    stage.scene.ray_trouble = STR("nobody answers at 10.0.0.4:6379");
    assert_string_equal(
        ask(&stage, ""),
        "Why is nothing happening?\n"
        "  Ray on the head has not answered for 40 s: nobody answers at 10.0.0.4:6379. Until it "
        "answers, nothing is launched or terminated.\n"
        "  1 request is waiting.\n"
        "  -> check Ray on the head: shoal attach FILE, then: ray status\n"
        "What does it cost?\n"
        "  $0.096/h for 2 instances, including pending and failed ones.\n"
        "  There is no limit; metadata.shoal.max_hourly_cost sets one.\n");
    close_stage(&stage);
}

static void why_shoal_does_not_act(void **state)
{
    struct stage stage;
    (void)state;
    open_stage(&stage);
    stage.scene.is_acting = false;
    stage.scene.autoscaler_message = STR("shoal up on laptop, pid 7 acts");
    assert_string_equal(
        ask(&stage, ""),
        "Why is nothing happening?\n"
        "  Nothing is launched or terminated: shoal up "
        "on laptop, pid 7 acts.\n"
        "  -> wait until the other controller stops, or run `shoal up` to take over\n"
        "What does it cost?\n"
        "  $0.096/h for 2 instances, including pending and failed ones.\n"
        "  There is no limit; metadata.shoal.max_hourly_cost sets one.\n");
    stage.scene.is_ray_scaling = true;
    stage.scene.autoscaler_message = STR("Ray's own autoscaler runs on this head (process 7)");
    assert_non_null(strstr(ask(&stage, ""), "  Shoal is not scaling this cluster: "
                                            "Ray's own autoscaler runs"));
    assert_non_null(
        strstr(stage.told.ptr, "  -> remove --autoscaling-config from head_start_ray_commands"));
    close_stage(&stage);
}

/* Workers are missing, although no task waits for them. */
static void why_workers_are_missing(void **state)
{
    struct stage stage;
    const struct str held = STR("cpu cannot be launched now: no capacity");
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, &head_node, 1);
    stage.cluster_status.held = &held;
    stage.cluster_status.held_count = 1;
    const char *said = ask(&stage, "");
    assert_non_null(strstr(said, "Why are there fewer workers than min_workers?\n"
                                 "  cpu cannot be launched now: no capacity.\n"));
    assert_null(strstr(said, "Nothing is waiting"));
    close_stage(&stage);
}

static void why_nothing_is_launched(void **state)
{
    struct stage stage;
    const struct node_view nodes[] = {head_node,
                                      {.name = STR("worker-1"),
                                       .type = STR("cpu"),
                                       .phase = PHASE_READY,
                                       .price = -1,
                                       .idle_since_ms = now_ms - 10 * SECOND}};
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, nodes, 2);
    stage.cluster_status.price = -1;
    stage.cluster_status.price_limit = 20000000;
    assert_string_equal(
        ask(&stage, ""),
        "Why is nothing launched?\n"
        "  Nothing is waiting: every task, actor and placement group has the resources it "
        "requested.\n"
        "  1 node is idle; shoal explain FILE NODE says why a node stays and for how long.\n"
        "What does it cost?\n"
        "  $0.096/h for 2 instances, including pending and failed ones; some prices are unknown.\n"
        "  The price of 1 of them is unknown.\n"
        "  Launches that would exceed $20.00/h are refused (metadata.shoal.max_hourly_cost).\n"
        "  -> set their prices: metadata.shoal.prices: {m5.large: PRICE}\n");
    stage.cluster_status.launching = "the cloud was not seen for long enough";
    assert_non_null(strstr(ask(&stage, ""),
                           "Why is nothing happening?\n"
                           "  Launches are paused: the cloud was not seen for long enough.\n"));
    close_stage(&stage);
}

/* ---- nodes ---- */

static void why_a_node_exists_and_has_not_gone(void **state)
{
    struct stage stage;
    struct node_view node = {.name = STR("worker-3"),
                             .type = STR("gpu"),
                             .machine = STR("g5.xlarge"),
                             .id = STR("i-0b7"),
                             .is_spot = true,
                             .phase = PHASE_READY,
                             .requested_ms = now_ms - 12 * MINUTE,
                             .price = 390000,
                             .ray_id = STR("ab"),
                             .idle_since_ms = now_ms - 190 * SECOND};
    const struct cluster_event events[] = {
        {.number = 1,
         .wall_ms = now_ms - 12 * MINUTE - 2 * SECOND,
         .kind = CLUSTER_EVENT_LAUNCH,
         .text = STR("launched 2 x g5.xlarge (spot) in us-west-2a"),
         .reason = STR("2 for pending requests")}};
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, &node, 1);
    have_events(&stage, events, 1);
    assert_string_equal(
        ask(&stage, "worker-3"),
        "Why does worker-3 exist?\n"
        "  Launched 12 min ago: 2 for pending requests.\n"
        "  It costs $0.39/h on the spot market.\n"
        "Why is it still running?\n"
        "  Idle for 3 min 10 s; it can be terminated after 5 min (idle_timeout_minutes).\n");
    node.reason = STR("1 for pending requests; waiting: 9 x {GPU: 1}");
    assert_non_null(
        strstr(ask(&stage, "worker-3"),
               "  Launched 12 min ago: 1 for pending requests; waiting: 9 x {GPU: 1}.\n"));
    node.idle_since_ms = 0;
    node.activity = STR("Resource: GPU currently in use.");
    const struct resource_usage uses[] = {{STR("GPU"), 1, 1}, {STR("CPU"), 0.5, 4}};
    node.uses = uses;
    node.use_count = 2;
    assert_non_null(strstr(ask(&stage, "i-0b7"), "Why is it still running?\n"
                                                 "  It is busy: Resource: GPU currently in use.\n"
                                                 "  In use: 1 of 1 GPU, 0.5 of 4 CPU.\n"));
    close_stage(&stage);
}

static void what_holds_an_idle_node(void **state)
{
    struct stage stage;
    struct node_view node = {.name = STR("worker-1"),
                             .type = STR("cpu"),
                             .phase = PHASE_READY,
                             .requested_ms = now_ms - 60 * MINUTE,
                             .price = -1,
                             .ray_id = STR("ab"),
                             .idle_since_ms = now_ms - 6 * MINUTE};
    const struct pending_demand request = {
        .source = DEMAND_REQUEST_RESOURCES, .shape = STR("{CPU: 1}"), .count = 4};
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, &node, 1);
    assert_string_equal(ask(&stage, "worker-1"),
                        "Why does worker-1 exist?\n"
                        "  Launched 1 h ago; kept by min_workers: 1 of type cpu.\n"
                        "Why is it still running?\n"
                        "  Idle for 6 min, but kept by min_workers: 1 of type cpu.\n"
                        "  -> lower min_workers of that type and run `shoal up`\n");
    node.idle_since_ms = now_ms - SECOND; /* it will not be terminated after 5 min either */
    assert_non_null(strstr(ask(&stage, "worker-1"), "Idle for 1 s, but kept by min_workers: 1"));
    node.idle_since_ms = now_ms - 6 * MINUTE;
    node.type = STR("gpu");
    assert_non_null(strstr(ask(&stage, "worker-1"), "Launched 1 h ago; the reason is no longer"));
    have_demand(&stage, &request);
    assert_non_null(strstr(ask(&stage, "worker-1"),
                           "  Kept by request_resources() (4 x {CPU: 1}).\n"
                           "  -> withdraw the request: shoal request-resources FILE\n"));
    stage.cluster_status.demand_count = 0;
    assert_non_null(
        strstr(ask(&stage, "worker-1"), "  Draining; it will be terminated shortly.\n"));
    stage.cluster_status.ending = "the cloud was not seen for long enough";
    assert_non_null(strstr(ask(&stage, "worker-1"), "  Scale-down is paused: the cloud"));
    close_stage(&stage);
}

static void why_a_node_ended(void **state)
{
    struct stage stage;
    struct node_view node = {.name = STR("worker-2"),
                             .type = STR("gpu"),
                             .phase = PHASE_READY,
                             .price = -1,
                             .is_draining = true,
                             .reason = STR("the cloud reclaims it")};
    const struct cluster_event events[] = {{.number = 7,
                                            .wall_ms = now_ms - 3 * SECOND,
                                            .kind = CLUSTER_EVENT_SPOT_INTERRUPTION,
                                            .node = STR("worker-2"),
                                            .text = STR("the cloud will take it away in 2 min")},
                                           {.number = 8,
                                            .wall_ms = now_ms - 30 * MINUTE,
                                            .kind = CLUSTER_EVENT_DRAIN,
                                            .node = STR("worker-9"),
                                            .text = STR("drained"),
                                            .reason = STR("idle for 5 min 10 s (limit: 5 min)")}};
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, &node, 1);
    have_events(&stage, events, 2);
    assert_non_null(strstr(ask(&stage, "worker-2"),
                           "Why is it being terminated?\n"
                           "  the cloud reclaims it.\n"
                           "  3 s ago: the cloud will take it away in 2 min.\n"
                           "  It accepts no new work and finishes what is running.\n"));
    assert_string_equal(ask(&stage, "worker-9"),
                        "Why was worker-9 terminated?\n"
                        "  30 min ago: drained: idle for 5 min 10 s (limit: 5 min).\n");
    assert_string_equal(
        ask(&stage, "worker-77"),
        "refused: no node or waiting request matches \"worker-77\"; nodes: worker-2\n");
    close_stage(&stage);
}

static void why_a_node_failed(void **state)
{
    struct stage stage;
    const struct node_view node = {.name = STR("worker-2"),
                                   .type = STR("gpu"),
                                   .phase = PHASE_FAILED,
                                   .since_ms = now_ms - 20 * SECOND,
                                   .price = -1,
                                   .failure = {.step = STR("setup command 3 of 5"),
                                               .command = STR("pip install torch==9.9"),
                                               .said = STR("ERROR: No matching distribution\nmore"),
                                               .why = STR("there is no such package or version")}};
    (void)state;
    open_stage(&stage);
    have_nodes(&stage, &node, 1);
    assert_non_null(strstr(ask(&stage, ""), "Why did worker-2 fail?\n"
                                            "  It failed in setup command 3 of 5, 20 s ago.\n"
                                            "  Command: pip install torch==9.9\n"
                                            "  Output: ERROR: No matching distribution\n"
                                            "  Cause: there is no such package or version\n"
                                            "  -> read its log: shoal logs FILE worker-2\n"));
    close_stage(&stage);
}

/* Nodes of one kind that fail one after the other, until no more are launched. */
static void one_cause_of_many_failures(void **state)
{
    struct stage stage;
    struct node_view nodes[4];
    const struct str held[] = {STR("gpu: no more launches after 3 failures")};
    (void)state;
    open_stage(&stage);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        nodes[i] = (struct node_view){
            .name = arena_printf(&stage.fixture->arena, "worker-%zu", i + 1),
            .phase = PHASE_FAILED,
            .since_ms = now_ms,
            .price = -1,
            .failure = {.command = i == 1 ? STR("false") : STR("pip install x"), .status = 1}};
    }
    have_nodes(&stage, nodes, ARRAY_LEN(nodes));
    stage.cluster_status.held = held;
    stage.cluster_status.held_count = 1;
    assert_non_null(strstr(ask(&stage, ""), "Why did worker-1 fail?\n"
                                            "  Command: pip install x\n"
                                            "  Also failed: worker-3, worker-4.\n"
                                            "  -> read its log: shoal logs FILE worker-1\n"
                                            "Why did worker-2 fail?\n"
                                            "  Command: false\n"
                                            "  -> read its log: shoal logs FILE worker-2\n"
                                            "Why are there fewer workers than min_workers?\n"
                                            "  gpu: no more launches after 3 failures.\n"));
    assert_null(strstr(ask(&stage, "worker-3"), "Also failed"));
    close_stage(&stage);
}

static void what_keeps_an_idle_cluster_running(void **state)
{
    struct stage stage;
    (void)state;
    open_stage(&stage);
    assert_null(strstr(ask(&stage, ""), "idle_stop"));
    stage.scene.idle_stop = STR("kept running by 1 ssh session on the head");
    assert_non_null(strstr(ask(&stage, ""),
                           "When does idle_stop stop the cluster?\n"
                           "  The cluster is kept running by 1 ssh session on the head.\n"
                           "  idle_stop stops it after "));
    close_stage(&stage);
}

static void many_kinds_are_counted(void **state)
{
    struct stage stage;
    struct pending_demand demands[30];
    (void)state;
    open_stage(&stage);
    for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
        demands[i] = (struct pending_demand){
            .shape = arena_printf(&stage.fixture->arena, "{CPU: %zu}", i + 1), .count = 1};
    }
    stage.cluster_status.demands = demands;
    stage.cluster_status.demand_count = ARRAY_LEN(demands);
    assert_non_null(strstr(ask(&stage, ""), "22 more kinds of requests are waiting.\n"));
    close_stage(&stage);
}

static void who_requested_capacity(void **state)
{
    struct stage stage;
    struct pending_demand demand = {.source = DEMAND_REQUEST_RESOURCES,
                                    .shape = STR("{CPU: 1}"),
                                    .count = 4,
                                    .since_ms = now_ms - MINUTE};
    struct gcs_requesters found = {.has_coordinator = true,
                                   .run_count = 1,
                                   .job = "02000000",
                                   .entrypoint = "python train.py"};
    (void)state;
    open_stage(&stage);
    have_demand(&stage, &demand);
    stage.scene.requesters = &found;
    assert_string_equal(
        ask(&stage, "CPU"),
        "What does request_resources() for 4 x {CPU: 1} do?\n"
        "  Requested 1 min ago. They fit node types cpu, gpu.\n"
        "  A Ray Train run is active (job 02000000, python train.py). Ray Train and "
        "Ray Data request capacity this way and renew it every 20 s.\n"
        "  The cluster has the resources, and keeps the nodes that provide them.\n");
    found = (struct gcs_requesters){.has_coordinator = true};
    assert_non_null(strstr(ask(&stage, "CPU"),
                           "  Ray Train or Ray Data has run in this cluster; both request capacity "
                           "this way and renew it every 20 s.\n"));
    found = (struct gcs_requesters){.has_coordinator = false};
    assert_null(strstr(ask(&stage, "CPU"), "Ray Train"));
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(why_it_waits_while_nodes_come),
        cmocka_unit_test(why_it_waits_without_capacity),
        cmocka_unit_test(why_it_waits_at_a_limit),
        cmocka_unit_test(why_it_can_never_run),
        cmocka_unit_test(why_money_keeps_it_waiting),
        cmocka_unit_test(advice_goes_by_the_cause),
        cmocka_unit_test(why_a_group_waits),
        cmocka_unit_test(why_a_training_job_waits),
        cmocka_unit_test(why_nothing_happens),
        cmocka_unit_test(why_shoal_does_not_act),
        cmocka_unit_test(why_workers_are_missing),
        cmocka_unit_test(why_nothing_is_launched),
        cmocka_unit_test(why_a_node_exists_and_has_not_gone),
        cmocka_unit_test(what_holds_an_idle_node),
        cmocka_unit_test(why_a_node_ended),
        cmocka_unit_test(why_a_node_failed),
        cmocka_unit_test(one_cause_of_many_failures),
        cmocka_unit_test(what_keeps_an_idle_cluster_running),
        cmocka_unit_test(many_kinds_are_counted),
        cmocka_unit_test(who_requested_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
