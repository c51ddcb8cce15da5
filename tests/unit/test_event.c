/* test_event.c: events as text. */
#include "core/event.h"

#include "base/rng.h"
#include "core/core.h"
#include "core/resource.h"
#include "unit.h"

#include <string.h>

enum { RANDOM_EVENTS = 5000, LOADS_AT_MOST = 4 };

struct scene {
    struct arena arena;
    struct names names;
    struct plan_type type;
    struct offering offering;
    struct core_settings settings;
};

static int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    intern_init(&scene.names, &scene.arena);
    scene.type.name = STR("g5.xlarge");
    scene.offering = (struct offering){.zone = intern_add(&scene.names, STR("us-east-1a")),
                                       .market = MARKET_SPOT,
                                       .price = 302000};
    scene.settings = (struct core_settings){.names = &scene.names,
                                            .types = &scene.type,
                                            .type_count = 1,
                                            .offerings = &scene.offering,
                                            .offering_count = 1};
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

/* ---- random events ------------------------------------------------------------------------- */

/* Of every size, including the limits of the range. */
static uint64_t any_u64(struct rng *rng)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    default:
        return rng_next(rng) >> rng_below(rng, 64);
    }
}

static int64_t any_i64(struct rng *rng)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return INT64_MIN;
    case 1:
        return INT64_MAX;
    case 2:
        return -1;
    default:
        return (int64_t)any_u64(rng);
    }
}

static uint32_t any_u32(struct rng *rng)
{
    return (uint32_t)any_u64(rng);
}

static struct label any_label(struct rng *rng)
{
    return (struct label){any_u32(rng), any_u32(rng)};
}

static size_t any_count(struct rng *rng)
{
    return (size_t)rng_below(rng, LOADS_AT_MOST);
}

static struct label_selector any_selector(struct scene *scene, struct rng *rng)
{
    size_t count = any_count(rng);
    struct label_rule *rules = ARENA_ARRAY(&scene->arena, count, struct label_rule);
    for (size_t i = 0; i < count; i++) {
        size_t value_count = any_count(rng);
        uint32_t *values = ARENA_ARRAY(&scene->arena, value_count, uint32_t);
        for (size_t j = 0; j < value_count; j++) {
            values[j] = any_u32(rng);
        }
        rules[i].key = any_u32(rng);
        rules[i].op = (enum label_operator)rng_below(rng, LABEL_NEVER + 1);
        rules[i].values = values;
        rules[i].value_count = value_count;
    }
    return (struct label_selector){rules, count};
}

static struct request any_request(struct scene *scene, struct rng *rng)
{
    struct request request = {.amount_count = any_count(rng),
                              .selector_count = any_count(rng),
                              .placement_count = any_count(rng)};
    struct amount *amounts = ARENA_ARRAY(&scene->arena, request.amount_count, struct amount);
    for (size_t i = 0; i < request.amount_count; i++) {
        amounts[i] = (struct amount){any_u32(rng), any_i64(rng)};
    }
    struct label_selector *selectors = ARENA_ARRAY(&scene->arena, request.selector_count,
                                                   struct label_selector);
    for (size_t i = 0; i < request.selector_count; i++) {
        selectors[i] = any_selector(scene, rng);
    }
    struct placement *placements = ARENA_ARRAY(&scene->arena, request.placement_count,
                                               struct placement);
    for (size_t i = 0; i < request.placement_count; i++) {
        placements[i].kind = (enum placement_kind)rng_below(rng, 2);
        placements[i].label = any_label(rng);
    }
    request.amounts = amounts;
    request.selectors = selectors;
    request.placements = placements;
    return request;
}

static struct demand *any_demands(struct scene *scene, struct rng *rng, size_t count)
{
    struct demand *demands = ARENA_ARRAY(&scene->arena, count, struct demand);
    for (size_t i = 0; i < count; i++) {
        demands[i].request = any_request(scene, rng);
        demands[i].count = (int64_t)(any_u64(rng) >> 1);
    }
    return demands;
}

static void any_load(struct scene *scene, struct rng *rng, struct ray_load *load)
{
    load->demand_count = any_count(rng);
    load->gang_count = any_count(rng);
    load->constraint_count = any_count(rng);
    load->demands = any_demands(scene, rng, load->demand_count);
    load->constraint = any_demands(scene, rng, load->constraint_count);
    struct gang *gangs = ARENA_ARRAY(&scene->arena, load->gang_count, struct gang);
    for (size_t i = 0; i < load->gang_count; i++) {
        size_t count = any_count(rng);
        struct request *requests = ARENA_ARRAY(&scene->arena, count, struct request);
        for (size_t j = 0; j < count; j++) {
            requests[j] = any_request(scene, rng);
        }
        gangs[i] = (struct gang){requests, count};
    }
    load->gangs = gangs;
}

static void any_node(struct scene *scene, struct rng *rng, struct ray_node *node)
{
    node->instance = any_u64(rng);
    node->status = (enum ray_status)rng_below(rng, RAY_STATUS_COUNT);
    node->idle_since = any_i64(rng);
    node->capacity_count = any_count(rng);
    struct capacity *capacities = ARENA_ARRAY(&scene->arena, node->capacity_count, struct capacity);
    for (size_t i = 0; i < node->capacity_count; i++) {
        capacities[i] = (struct capacity){any_u32(rng), any_i64(rng), any_i64(rng)};
    }
    node->capacities = capacities;
    node->labels.count = any_count(rng);
    struct label *labels = ARENA_ARRAY(&scene->arena, node->labels.count, struct label);
    for (size_t i = 0; i < node->labels.count; i++) {
        labels[i] = any_label(rng);
    }
    node->labels.items = labels;
}

static void any_listing(struct scene *scene, struct rng *rng, struct listing *listing)
{
    listing->asked_at = any_i64(rng);
    listing->is_complete = rng_chance(rng, 500);
    listing->count = any_count(rng);
    struct listed *items = ARENA_ARRAY(&scene->arena, listing->count, struct listed);
    for (size_t i = 0; i < listing->count; i++) {
        items[i] = (struct listed){
            any_u64(rng),         any_u64(rng),
            any_u32(rng),         (enum cloud_state)rng_below(rng, CLOUD_STATE_COUNT),
            rng_chance(rng, 500), any_i64(rng)};
    }
    listing->items = items;
}

/* The answers to calls: a number and an enum each. */
static void any_reply(struct rng *rng, struct event *event)
{
    if (event->kind == EVENT_LAUNCH_REPLY) {
        event->launch_reply.launch = any_u64(rng);
        event->launch_reply.outcome = (enum outcome)rng_below(rng, OUTCOME_COUNT);
    } else if (event->kind == EVENT_TERMINATE_REPLY) {
        event->terminate_reply.instance = any_u64(rng);
        event->terminate_reply.outcome = (enum outcome)rng_below(rng, OUTCOME_COUNT);
    } else if (event->kind == EVENT_SETUP_REPLY) {
        event->setup_reply.instance = any_u64(rng);
        event->setup_reply.news = (enum setup_news)rng_below(rng, SETUP_NEWS_COUNT);
    } else {
        event->drain_reply.instance = any_u64(rng);
        event->drain_reply.answer = (enum drain_answer)rng_below(rng, DRAIN_ANSWER_COUNT);
    }
}

static void any_fields(struct scene *scene, struct rng *rng, struct event *event)
{
    switch (event->kind) {
    case EVENT_START:
    case EVENT_TICK:
    case EVENT_KIND_COUNT:
        break;
    case EVENT_GOAL:
        event->goal = (enum goal)rng_below(rng, 2);
        break;
    case EVENT_LEASE:
        event->lease.epoch = any_u64(rng);
        event->lease.until = any_i64(rng);
        break;
    case EVENT_INTENT:
        event->intent.launch = any_u64(rng);
        event->intent.offering = any_u32(rng);
        event->intent.count = any_i64(rng);
        break;
    case EVENT_LAUNCHED:
        event->launched.launch = any_u64(rng);
        event->launched.instance = any_u64(rng);
        break;
    case EVENT_RECORDS_END:
        event->records.sole_writer_epoch = any_u64(rng);
        event->records.since = any_i64(rng);
        break;
    case EVENT_RAY_SEEN:
        event->asked_at = any_i64(rng);
        break;
    case EVENT_RAY_RESTARTED:
    case EVENT_PRICES:
        break;
    case EVENT_HEAD:
        event->head = (enum head_state)rng_below(rng, 3);
        break;
    case EVENT_LISTING:
        any_listing(scene, rng, &event->listing);
        break;
    case EVENT_LAUNCH_REPLY:
    case EVENT_TERMINATE_REPLY:
    case EVENT_SETUP_REPLY:
    case EVENT_DRAIN_REPLY:
        any_reply(rng, event);
        break;
    case EVENT_NOTICE:
        event->notice.instance = any_u64(rng);
        event->notice.until = any_i64(rng);
        break;
    case EVENT_RAY_NODE:
        any_node(scene, rng, &event->ray_node);
        break;
    case EVENT_RAY_LOAD:
        any_load(scene, rng, &event->ray_load);
        break;
    }
}

static void any_event(struct scene *scene, struct rng *rng, unsigned kind, struct event *event)
{
    memset(event, 0, sizeof(*event));
    event->kind = (enum event_kind)kind;
    event->at = any_i64(rng);
    any_fields(scene, rng, event);
}

static void every_event_is_one_line(void **state)
{
    struct scene *scene = *state;
    struct rng rng = {1};
    for (unsigned i = 0; i < RANDOM_EVENTS; i++) {
        struct arena outer = scene->arena;
        struct event event;
        arena_init(&scene->arena);
        any_event(scene, &rng, i % EVENT_KIND_COUNT, &event);
        struct str text = event_text(&event, &scene->settings, &scene->arena);
        assert_true(text.len > 0 && str_find_char(text, '\n') == SIZE_MAX);
        arena_clear(&scene->arena);
        scene->arena = outer;
    }
}

/* ---- as text ------------------------------------------------------------------------------- */

static uint32_t name(struct scene *scene, const char *text)
{
    return intern_add(&scene->names, str_from(text));
}

static struct str words(struct scene *scene, const struct event *event)
{
    return event_text(event, &scene->settings, &scene->arena);
}

#define WORDS(scene, KIND, ...) \
    words(scene, &(struct event){.kind = EVENT_##KIND, .at = 12500, __VA_ARGS__})

static void events_of_the_shell_in_words(void **state)
{
    struct scene *scene = *state;
    assert_str(WORDS(scene, START, .goal = GOAL_RUN), "12.500 start");
    assert_str(WORDS(scene, GOAL, .goal = GOAL_RUN), "12.500 goal: run the cluster");
    assert_str(WORDS(scene, GOAL, .goal = GOAL_DOWN), "12.500 goal: delete the cluster");
    assert_str(WORDS(scene, LEASE, .lease = {7, 42500}), "12.500 lease 7 held until 42.500");
    assert_str(WORDS(scene, LEASE, .lease = {7, 0}), "12.500 lease 7 lost");
    assert_str(WORDS(scene, RECORDS_END, .records = {.sole_writer_epoch = 7}),
               "12.500 end of records: no other controller has acted since lease 7");
    assert_str(WORDS(scene, TICK, .goal = GOAL_RUN), "12.500 tick");
    struct event early = {.kind = EVENT_TICK, .at = -5};
    assert_str(words(scene, &early), "-0.005 tick");
}

static void events_of_the_cloud_in_words(void **state)
{
    struct scene *scene = *state;
    assert_str(WORDS(scene, INTENT, .intent = {3, 0, 2}),
               "12.500 launch 0.3 recorded: 2 x g5.xlarge in us-east-1a, spot");
    assert_str(WORDS(scene, INTENT, .intent = {3, 9, 2}),
               "12.500 launch 0.3 recorded: 2 x offering 9");
    assert_str(WORDS(scene, LAUNCHED, .launched = {3, 17}),
               "12.500 launch 0.3 answered: instance 17");
    assert_str(WORDS(scene, LAUNCH_REPLY, .launch_reply = {3, OUTCOME_CAPACITY}),
               "12.500 launch 0.3 answered: no capacity");
    assert_str(WORDS(scene, LAUNCH_REPLY, .launch_reply = {3, OUTCOME_UNKNOWN}),
               "12.500 launch 0.3 answered: no definite reply; it may have taken effect");
    struct listed items[] = {{17, 3, 0, CLOUD_RUNNING}, {18, 3, 0, CLOUD_PENDING}};
    assert_str(WORDS(scene, LISTING, .listing = {12000, true, items, 2}),
               "12.500 listing as of 12.000: 2 instances (1 pending, 1 running)");
    assert_str(WORDS(scene, LISTING, .listing = {12000, false, NULL, 0}),
               "12.500 listing as of 12.000: 0 instances, incomplete");
    assert_str(WORDS(scene, TERMINATE_REPLY, .terminate_reply = {17, OUTCOME_DONE}),
               "12.500 termination of instance 17 answered: done");
    assert_str(WORDS(scene, NOTICE, .notice = {17, 132500}),
               "12.500 instance 17: interruption notice; the cloud reclaims it at 132.500");
}

static void events_of_nodes_in_words(void **state)
{
    struct scene *scene = *state;
    assert_str(WORDS(scene, SETUP_REPLY, .setup_reply = {17, SETUP_CONTACT}),
               "12.500 setup of instance 17: ssh works, the steps are running");
    assert_str(WORDS(scene, SETUP_REPLY, .setup_reply = {17, SETUP_FAILED}),
               "12.500 setup of instance 17: failed");
    assert_str(WORDS(scene, SETUP_REPLY, .setup_reply = {17, SETUP_FAILED, true}),
               "12.500 setup of instance 17: failed, before Ray was started");
    assert_str(WORDS(scene, SETUP_REPLY, .setup_reply = {17, SETUP_BLOCKED}),
               "12.500 setup of instance 17: failed; another node would fail, too");
    assert_str(WORDS(scene, DRAIN_REPLY, .drain_reply = {17, DRAIN_REFUSED}),
               "12.500 drain of instance 17 answered: refused; it is no longer idle");
    assert_str(WORDS(scene, RAY_SEEN, .asked_at = 12400), "12.500 Ray state as of 12.400");
    assert_str(WORDS(scene, RAY_RESTARTED, .asked_at = 0), "12.500 Ray restarted");
    assert_str(WORDS(scene, RAY_NODE, .ray_node = {17, RAY_ABSENT, NOT_IDLE}),
               "12.500 instance 17 in Ray: not listed by Ray");
    struct capacity capacities[] = {
        {name(scene, "CPU"), 4 * RESOURCE_UNIT, 35000},
        {name(scene, "GPU"), RESOURCE_UNIT, CAPACITY_ABSENT},
        {name(scene, "memory"), ((int64_t)16 << 30) * RESOURCE_UNIT,
         ((int64_t)8 << 30) * RESOURCE_UNIT},
        {name(scene, "odd"), CAPACITY_ABSENT, RESOURCE_UNIT},
    };
    struct label label = {name(scene, "zone"), name(scene, "a\nb")};
    struct ray_node node = {17, RAY_ALIVE, NOT_IDLE, capacities, 4, {&label, 1}};
    assert_str(WORDS(scene, RAY_NODE, .ray_node = node),
               "12.500 instance 17 in Ray: alive, busy; free: 3.5 of 4 CPU, none of 1 GPU, "
               "8 GiB of 16 GiB memory, 1 odd, not in its totals; labels: zone=a?b");
    node = (struct ray_node){17, RAY_ALIVE, 10000, capacities, 1, {NULL, 0}};
    assert_str(WORDS(scene, RAY_NODE, .ray_node = node),
               "12.500 instance 17 in Ray: alive, idle since 10.000; free: 3.5 of 4 CPU");
}

static void demand_in_words(void **state)
{
    struct scene *scene = *state;
    struct amount amounts[] = {{name(scene, "CPU"), RESOURCE_UNIT},
                               {name(scene, "GPU"), 2 * RESOURCE_UNIT}};
    uint32_t values[] = {name(scene, "a"), name(scene, "b")};
    struct label_rule rule = {name(scene, "zone"), LABEL_IN, values, 2};
    struct label_selector selectors[] = {{&rule, 1}, {NULL, 0}};
    struct placement apart = {PLACEMENT_ANTI_AFFINITY, {name(scene, "group"), name(scene, "")}};
    struct demand demands[] = {
        {{.amounts = amounts, .amount_count = 1}, 3},
        {{.amounts = amounts, .amount_count = 2, .selectors = selectors, .selector_count = 2}, 1},
    };
    struct request members[] = {
        {.amounts = amounts, .amount_count = 1, .placements = &apart, .placement_count = 1},
        {.amounts = amounts, .amount_count = 1, .placements = &apart, .placement_count = 1},
    };
    struct gang gang = {members, 2};
    struct ray_load load = {demands, 2, &gang, 1, demands, 1};
    assert_str(WORDS(scene, RAY_LOAD, .ray_load = load),
               "12.500 demand in Ray: 4 pending requests (3 for 1x CPU; 1 for 1x CPU, 2x GPU with "
               "zone in (a, b) or 1 fallback), 1 placement group (2 for 1x CPU, apart by group "
               "and so on), request_resources of 3 bundles (3 for 1x CPU)");
    struct amount memory = {name(scene, "memory"), ((int64_t)3 << 29) * RESOURCE_UNIT};
    struct demand large = {{.amounts = &memory, .amount_count = 1}, 1};
    load = (struct ray_load){.demands = &large, .demand_count = 1};
    assert_str(WORDS(scene, RAY_LOAD, .ray_load = load),
               "12.500 demand in Ray: 1 pending request (1 for 1.5 GiB memory)");
    load = (struct ray_load){0};
    assert_str(WORDS(scene, RAY_LOAD, .ray_load = load), "12.500 demand in Ray: nothing");
}

static void long_loads_stay_short_in_words(void **state)
{
    struct scene *scene = *state;
    struct demand demands[1000] = {0};
    for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
        demands[i].count = INT64_MAX;
    }
    struct ray_load load = {.demands = demands, .demand_count = ARRAY_LEN(demands)};
    assert_like(WORDS(scene, RAY_LOAD, .ray_load = load),
                "12.500 demand in Ray: 9223372036854775807 pending requests (*; 994 more kinds)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_event_is_one_line),
        TEST(events_of_the_shell_in_words),
        TEST(events_of_the_cloud_in_words),
        TEST(events_of_nodes_in_words),
        TEST(demand_in_words),
        TEST(long_loads_stay_short_in_words),
    };
    return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
