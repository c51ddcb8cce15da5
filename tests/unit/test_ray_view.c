/* test_ray_view.c: Ray's cluster in the core's terms: which changes are reported, when, and what
 * is kept. */
#include "app/head/ray/ray_view.h"

#include "app/head/ray/ray_view_internal.h"
#include "ray_reply.h"
#include "unit.h"

enum { SEATS = 64, GROUP_TEXT = 64 };

/* Keeps references to what is reported, as the core does, and reads them again before releasing
 * them. */
struct listener {
    struct arena arena;
    struct names names;
    struct ray_view *mirror;
    struct ray_node nodes[SEATS];
    struct ray_load load;
    int told, loads_told;
    uint64_t hidden;       /* an instance */
    uint64_t unknown_from; /* instances from this number on are not known yet; 0: all are known */
    struct ray_view_training training[3];
    size_t training_count;
    int64_t looked; /* so that the reads are not optimized away */
    struct buf state, reply;
};

static uint64_t instance_of(void *context, struct str id)
{
    const struct listener *listener = context;
    uint32_t number = 0;
    if (!str_starts(id, "i-") || !str_to_u32(str_sub(id, 2, id.len), &number)) {
        return INSTANCE_NONE;
    }
    return listener->unknown_from > 0 && number >= listener->unknown_from ? INSTANCE_NONE : number;
}

static bool is_hidden(void *context, uint64_t instance)
{
    return ((const struct listener *)context)->hidden == instance;
}

static void look_at_node(struct listener *listener, const struct ray_node *node)
{
    for (size_t i = 0; i < node->capacity_count; i++) {
        listener->looked += node->capacities[i].free;
    }
    for (size_t i = 0; i < node->labels.count; i++) {
        listener->looked += node->labels.items[i].value;
    }
}

static void look_at_load(struct listener *listener)
{
    for (size_t i = 0; i < listener->load.demand_count; i++) {
        const struct request *request = &listener->load.demands[i].request;
        listener->looked += request->amount_count > 0 ? request->amounts[0].amount : 0;
    }
    for (size_t i = 0; i < listener->load.gang_count; i++) {
        listener->looked += (int64_t)listener->load.gangs[i].requests[0].placement_count;
    }
}

static void apply_node(void *context, const struct ray_node *node)
{
    struct listener *listener = context;
    struct ray_node *kept = &listener->nodes[node->instance % SEATS];
    look_at_node(listener, kept);
    *kept = *node;
    listener->told++;
}

static void apply_load(void *context, const struct ray_load *load)
{
    struct listener *listener = context;
    look_at_load(listener);
    listener->load = *load;
    listener->loads_told++;
}

static size_t add_training(void *context, struct arena *arena, const struct ray_view_training **ret)
{
    const struct listener *listener = context;
    (void)arena;
    *ret = listener->training;
    return listener->training_count;
}

static int setup(void **state)
{
    struct listener *listener = HEAP_NEW(struct listener);
    struct ray_view_hooks hooks = {.context = listener,
                                   .instance_of = instance_of,
                                   .is_hidden = is_hidden,
                                   .node = apply_node,
                                   .load = apply_load,
                                   .training = add_training};
    arena_init(&listener->arena);
    intern_init(&listener->names, &listener->arena);
    (void)intern_add(&listener->names, STR("CPU"));
    (void)intern_add(&listener->names, STR("market"));
    (void)intern_add(&listener->names, STR("spot"));
    listener->mirror = ray_view_open(&listener->names, &hooks);
    buf_init(&listener->state, REPLY_CAP);
    buf_init(&listener->reply, REPLY_CAP);
    *state = listener;
    return 0;
}

static int teardown(void **state)
{
    struct listener *listener = *state;
    for (size_t i = 0; i < SEATS; i++) {
        look_at_node(listener, &listener->nodes[i]);
    }
    look_at_load(listener);
    ray_view_close(listener->mirror);
    arena_clear(&listener->arena);
    buf_clear(&listener->state);
    buf_clear(&listener->reply);
    free(listener);
    return 0;
}

/* Everything written since the last time. Returns how many nodes were reported. */
static int take(struct listener *listener, int64_t at)
{
    struct err err;
    int before = listener->told;
    struct str bytes = reply_end(&listener->state, &listener->reply, at);
    assert_true(ray_view_update(listener->mirror, bytes, at, at + 1000000, &err));
    for (size_t i = 0; i < SEATS; i++) {
        look_at_node(listener, &listener->nodes[i]);
    }
    look_at_load(listener);
    return listener->told - before;
}

static struct reply_node worker(uint64_t number, const char *instance)
{
    return (struct reply_node){.number = number,
                               .instance = instance,
                               .status = RAY_NODE_RUNNING,
                               .amounts = {{"CPU", 4, 3}, {"memory", 8e9, 8e9}}};
}

/* With NAME_NONE if the node has no such value. */
static struct capacity capacity(const struct listener *listener, const struct ray_node *node,
                                const char *name)
{
    uint32_t number = intern_find(&listener->names, str_from(name));
    for (size_t i = 0; i < node->capacity_count; i++) {
        if (node->capacities[i].name == number) {
            return node->capacities[i];
        }
    }
    return (struct capacity){.name = NAME_NONE};
}

/* ---- nodes ---- */

static void a_node_comes_changes_and_goes(void **state)
{
    struct listener *listener = *state;
    const struct ray_node *told = &listener->nodes[5];
    struct reply_node node = worker(1, "i-5");
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    assert_int_equal(told->status, RAY_ALIVE);
    assert_int_equal(told->idle_since, NOT_IDLE);
    assert_int_equal(capacity(listener, told, "CPU").total, 40000);
    assert_int_equal(capacity(listener, told, "CPU").free, 30000);
    assert_int_equal(ray_view_alive(listener->mirror), 1);
    uint64_t mark = ray_view_mark(listener->mirror);

    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1400), 0);
    assert_int_equal(ray_view_version(listener->mirror), 1400);
    node.amounts[0].free = 0.5;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1800), 1);
    assert_int_equal(capacity(listener, told, "CPU").free, 5000);
    assert_int_equal(ray_view_mark(listener->mirror), mark);
    assert_int_equal(ray_view_node_id(listener->mirror, 5).len, RAY_ID_BYTES);

    assert_int_equal(take(listener, 2200), 1);
    assert_int_equal(told->status, RAY_ABSENT);
    assert_int_equal(told->capacity_count, 0);
    assert_int_equal(ray_view_alive(listener->mirror), 0);
    assert_int_equal(ray_view_node_id(listener->mirror, 5).len, 0);
    assert_true(ray_view_mark(listener->mirror) != mark);
    assert_int_equal(take(listener, 2600), 0);
}

/* Ray sends each node once. If a reply names one twice, it means the same each time it is read. */
static void a_node_that_is_named_twice_is_reported_once(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5"), other = worker(1, "i-5");
    other.amounts[0].free = 1;
    for (int64_t at = 1000; at < 3000; at += 400) {
        reply_add_node(&listener->state, &node);
        reply_add_node(&listener->state, &other);
        assert_int_equal(take(listener, at), at == 1000);
        assert_int_equal(capacity(listener, &listener->nodes[5], "CPU").free, 30000);
        assert_int_equal(ray_view_alive(listener->mirror), 1);
    }
}

static void idle_time_is_told_when_it_moves(void **state)
{
    struct listener *listener = *state;
    const struct ray_node *told = &listener->nodes[5];
    struct reply_node node = worker(1, "i-5");
    node.status = RAY_NODE_IDLE;
    node.idle_ms = 700;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    assert_int_equal(told->idle_since, 300);
    node.idle_ms = 1200; /* since 200: Ray is inexact */
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1400), 0);
    node.idle_ms = 100; /* it was busy in between */
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1800), 1);
    assert_int_equal(told->idle_since, 1700);
    node.status = RAY_NODE_RUNNING;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 2200), 1);
    assert_int_equal(told->idle_since, NOT_IDLE);
    node.status = RAY_NODE_IDLE;
    node.idle_ms = 99999; /* longer than this machine has been running */
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 2600), 1);
    assert_int_equal(told->idle_since, 0);
}

static void of_several_lives_the_last_counts(void **state)
{
    struct listener *listener = *state;
    const struct ray_node *told = &listener->nodes[5];
    struct reply_node old = worker(1, "i-5");
    struct reply_node new = worker(2, "i-5");
    reply_add_node(&listener->state, &old);
    assert_int_equal(take(listener, 1000), 1);
    old.status = RAY_NODE_DEAD;
    reply_add_node(&listener->state, &old);
    assert_int_equal(take(listener, 1400), 1);
    assert_int_equal(told->status, RAY_DEAD);
    new.amounts[0].free = 1;
    reply_add_node(&listener->state, &new);
    reply_add_node(&listener->state, &old);
    assert_int_equal(take(listener, 1800), 1);
    assert_int_equal(told->status, RAY_ALIVE);
    assert_int_equal(capacity(listener, told, "CPU").free, 10000);

    /* A restarted GCS may report a dead node as alive. */
    old.status = RAY_NODE_RUNNING;
    reply_add_node(&listener->state, &new);
    reply_add_node(&listener->state, &old);
    assert_int_equal(take(listener, 2200), 0);
    new.status = RAY_NODE_DRAINING;
    reply_add_node(&listener->state, &new);
    reply_add_node(&listener->state, &old);
    assert_int_equal(take(listener, 2600), 1);
    assert_int_equal(told->status, RAY_ALIVE);
    assert_int_equal(capacity(listener, told, "CPU").free, 30000);
    reply_add_node(&listener->state, &new);
    assert_int_equal(take(listener, 3000), 1);
    assert_int_equal(told->status, RAY_DRAINING);
    assert_int_equal(capacity(listener, told, "CPU").free, 10000);
}

static void hidden_is_absent(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    listener->hidden = 5;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1400), 1);
    assert_int_equal(listener->nodes[5].status, RAY_ABSENT);
    node.amounts[0].free = 2;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1800), 0);
    listener->hidden = INSTANCE_NONE;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 2200), 1);
    assert_int_equal(listener->nodes[5].status, RAY_ALIVE);
    assert_int_equal(capacity(listener, &listener->nodes[5], "CPU").free, 20000);
}

static void who_is_not_known_is_asked_for_again(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_node by_hand = worker(2, "");
    listener->unknown_from = 5;
    for (int64_t at = 1000; at < 3000; at += 400) {
        reply_add_node(&listener->state, &node);
        reply_add_node(&listener->state, &by_hand);
        assert_int_equal(take(listener, at), 0);
        assert_int_equal(ray_view_alive(listener->mirror), 2);
    }
    listener->unknown_from = 0;
    reply_add_node(&listener->state, &node);
    reply_add_node(&listener->state, &by_hand);
    assert_int_equal(take(listener, 3000), 1);
    assert_int_equal(listener->nodes[5].status, RAY_ALIVE);
}

static void the_head_is_known(void **state)
{
    struct listener *listener = *state;
    struct reply_node head = worker(1, "i-1");
    head.is_head = true;
    assert_int_equal(ray_view_head(listener->mirror).len, 0);
    reply_add_node(&listener->state, &head);
    assert_int_equal(take(listener, 1000), 1);
    struct str id = ray_view_head(listener->mirror);
    assert_int_equal(id.len, 56);
    reply_add_node(&listener->state, &head);
    assert_int_equal(take(listener, 1400), 0);
    assert_int_equal(ray_view_head(listener->mirror).len, 56);
    head.status = RAY_NODE_DEAD;
    reply_add_node(&listener->state, &head);
    assert_int_equal(take(listener, 1800), 1);
    assert_int_equal(ray_view_head(listener->mirror).len, 0);
}

/* ---- names ---- */

#define GROUP "0123456789abcdef0123456789abcdef0123"

static void ids_do_not_become_names(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    node.amounts[2] = (struct reply_amount){"CPU_group_" GROUP, 1, 1};
    node.amounts[3] = (struct reply_amount){"CPU_group_0_" GROUP, 1, 1};
    node.amounts[4] = (struct reply_amount){"bundle_group_" GROUP, 1000, 1000};
    node.amounts[5] = (struct reply_amount){"node:10.0.0.7", 1, 1};
    node.amounts[6] = (struct reply_amount){"my_group_a", 2, 2};
    node.labels[0] = (struct reply_label){"ray.io/node-id", "abc"};
    node.labels[1] = (struct reply_label){"market", "on-demand"};
    node.groups[0] = "_PG_" GROUP;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    const struct ray_node *told = &listener->nodes[5];
    assert_int_equal(told->capacity_count, 4); /* CPU, memory, the group's name, its own */
    assert_int_equal(capacity(listener, told, "my_group_a").total, 20000);
    assert_int_equal(intern_find(&listener->names, STR("node:10.0.0.7")), NAME_NONE);
    assert_int_equal(intern_find(&listener->names, STR("CPU_group_" GROUP)), NAME_NONE);
    assert_int_equal(intern_find(&listener->names, STR("on-demand")), NAME_NONE);
    assert_int_equal(intern_find(&listener->names, STR("ray.io/node-id")), NAME_NONE);
    /* A node type has labels with this key: the value differs from all requested ones. */
    assert_int_equal(told->labels.count, 1);
    assert_true(told->labels.items[0].value != intern_find(&listener->names, STR("spot")));
}

static void labels_are_read_when_they_are_asked_for(void **state)
{
    struct listener *listener = *state;
    struct reply_node near = worker(1, "i-5");
    struct reply_node far = worker(2, "i-6");
    struct reply_request asked = {.amounts = {{"CPU", 1}},
                                  .selectors = {{{"zone", RAY_IN, {"a", "b"}}}}};
    near.labels[0] = (struct reply_label){"zone", "b"};
    far.labels[0] = (struct reply_label){"zone", "c"};
    reply_add_node(&listener->state, &near);
    reply_add_node(&listener->state, &far);
    assert_int_equal(take(listener, 1000), 2);
    assert_int_equal(listener->nodes[5].labels.count, 0);
    reply_add_node(&listener->state, &near);
    reply_add_node(&listener->state, &far);
    reply_add_demand(&listener->state, &asked, 3);
    assert_int_equal(take(listener, 1400), 2);
    uint32_t zone = intern_find(&listener->names, STR("zone"));
    const struct label_rule *rule = &listener->load.demands[0].request.selectors[0].rules[0];
    assert_int_equal(rule->key, zone);
    assert_true(label_rule_accepts(rule, label_value(listener->nodes[5].labels, zone)));
    assert_false(label_rule_accepts(rule, label_value(listener->nodes[6].labels, zone)));
    reply_add_node(&listener->state, &near);
    reply_add_node(&listener->state, &far);
    reply_add_demand(&listener->state, &asked, 2);
    assert_int_equal(take(listener, 1800), 0);
}

static void a_node_asked_for_by_its_id_is_found(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_request asked = {.amounts = {{"CPU", 1}},
                                  .selectors = {{{"ray.io/node-id", RAY_IN, {"abc"}}}}};
    struct arena arena;
    struct pending_demand *demands;
    size_t count;
    node.labels[0] = (struct reply_label){"ray.io/node-id", "abc"};
    reply_add_node(&listener->state, &node);
    reply_add_demand(&listener->state, &asked, 1);
    assert_int_equal(take(listener, 1000), 1);
    const struct label_rule *rule = &listener->load.demands[0].request.selectors[0].rules[0];
    assert_true(label_rule_accepts(rule, label_value(listener->nodes[5].labels, rule->key)));
    assert_int_equal(intern_find(&listener->names, STR("abc")), NAME_NONE);
    arena_init(&arena);
    ray_view_demands(listener->mirror, &arena, &demands, &count);
    assert_str(demands[0].labels, "ray.io/node-id=abc");
    arena_clear(&arena);
}

static void a_group_that_has_bundles_keeps_off_their_nodes(void **state)
{
    struct listener *listener = *state;
    struct reply_node taken = worker(1, "i-5");
    struct reply_node free_one = worker(2, "i-6");
    struct reply_request bundle = {.amounts = {{"CPU", 1}}, .apart = "_PG_" GROUP};
    const struct reply_request *const bundles[] = {&bundle, &bundle, &bundle};
    taken.groups[0] = "_PG_" GROUP;
    reply_add_node(&listener->state, &taken);
    reply_add_node(&listener->state, &free_one);
    reply_add_gang(&listener->state, bundles, 3, GROUP ":STRICT_SPREAD|RESCHEDULING");
    assert_int_equal(take(listener, 1000), 2);
    const struct gang *gang = &listener->load.gangs[0];
    assert_int_equal(gang->request_count, 3);
    assert_int_equal(gang->requests[0].placements[0].kind, PLACEMENT_ANTI_AFFINITY);
    uint32_t key = gang->requests[0].placements[0].label.key;
    assert_true(label_value(listener->nodes[5].labels, key) != NAME_NONE);
    assert_int_equal(label_value(listener->nodes[6].labels, key), NAME_NONE);
    assert_int_equal(intern_find(&listener->names, STR("_PG_" GROUP)), NAME_NONE);
    assert_str(intern_text(&listener->names, key), "group 0"); /* reasons say "apart by group 0" */
}

static void the_object_store_is_no_news(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_request asked = {.amounts = {{"object_store_memory", 1e9}}};
    const struct node_usage *nodes;
    struct arena arena;
    size_t count;
    node.amounts[2] = (struct reply_amount){"object_store_memory", 4e9, 4e9};
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    node.amounts[2].free = 1e9;
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1400), 0);
    arena_init(&arena);
    ray_view_nodes(listener->mirror, &arena, &nodes, &count);
    assert_true(nodes[0].uses[2].used == 3e9);
    arena_clear(&arena);
    reply_add_node(&listener->state, &node);
    reply_add_demand(&listener->state, &asked, 1);
    assert_int_equal(take(listener, 1800), 1);
    assert_true(capacity(listener, &listener->nodes[5], "object_store_memory").free ==
                INT64_C(10000000000000));
}

/* ---- load ---- */

static void the_load_is_told_when_it_is_another(void **state)
{
    struct listener *listener = *state;
    struct reply_request one = {.amounts = {{"GPU", 1}, {"CPU", 2}}};
    struct reply_request same = {.amounts = {{"CPU", 2}, {"GPU", 1}}};
    struct reply_request inside = {.amounts = {{"CPU_group_" GROUP, 1}}};
    struct reply_request bundle = {.amounts = {{"CPU", 1}}, .together = "_PG_" GROUP};
    const struct reply_request *const bundles[] = {&bundle, &bundle};
    for (int i = 0; i < 3; i++) {
        reply_add_demand(&listener->state, &one, 5);
        reply_add_demand(&listener->state, &same, 2);
        reply_add_demand(&listener->state, &inside, 9);
        reply_add_gang(&listener->state, bundles, 2, GROUP ":STRICT_PACK|PENDING");
        reply_add_constraint(&listener->state, &one, 4);
        assert_int_equal(take(listener, 1000 + i), 0);
        assert_int_equal(listener->loads_told, 1);
    }
    const struct ray_load *load = &listener->load;
    assert_int_equal(load->demand_count, 1);
    assert_int_equal(load->demands[0].count, 7);
    assert_int_equal(load->demands[0].request.selector_count, 0);
    assert_int_equal(load->demands[0].request.amount_count, 2);
    assert_int_equal(load->demands[0].request.amounts[0].amount, 20000); /* CPU before GPU */
    assert_int_equal(load->gang_count, 1);
    assert_int_equal(load->gangs[0].requests[1].placements[0].kind, PLACEMENT_AFFINITY);
    assert_int_equal(load->constraint_count, 1);
    assert_int_equal(load->constraint[0].count, 4);
    assert_int_equal(take(listener, 2000), 0);
    assert_int_equal(listener->loads_told, 2);
    assert_int_equal(load->demand_count + load->gang_count + load->constraint_count, 0);
}

static void demand_in_words(void **state)
{
    struct listener *listener = *state;
    struct reply_request one = {
        .amounts = {{"memory", 2147483648.0}, {"CPU", 0.5}},
        .selectors = {{{"zone", RAY_IN, {"a"}}, {"market", RAY_NOT_IN, {"spot", "odd"}}},
                      {{"zone", RAY_IN, {"b", "c"}}}}};
    struct reply_request cpu = {.amounts = {{"CPU", 1}}, .apart = "_PG_" GROUP};
    struct reply_request gpu = {.amounts = {{"GPU", 1}}, .apart = "_PG_" GROUP};
    const struct reply_request *const bundles[] = {&cpu, &gpu, &cpu};
    struct arena arena;
    struct pending_demand *demands;
    size_t count;
    arena_init(&arena);
    reply_add_demand(&listener->state, &one, 5);
    assert_int_equal(take(listener, 1000), 0);
    reply_add_gang(&listener->state, bundles, 3, GROUP ":STRICT_SPREAD|PENDING");
    reply_add_demand(&listener->state, &one, 4);
    reply_add_constraint(&listener->state, &gpu, 4);
    assert_int_equal(take(listener, 2000), 0);
    ray_view_demands(listener->mirror, &arena, &demands, &count);
    assert_int_equal(count, 3);
    assert_str(demands[0].shape, "{CPU: 0.5, memory: 2 GiB}");
    assert_str(demands[0].labels, "zone=a and market not in (spot, odd), or zone in (b, c)");
    assert_int_equal(demands[0].source, DEMAND_TASKS);
    assert_int_equal(demands[0].count, 4);
    assert_int_equal(demands[0].since_ms, 1001000); /* it waits since the first of the two */
    assert_true(demands[0].bytes.len > 20);
    assert_str(demands[1].shape, "{CPU: 1} * 2, {GPU: 1} * 1 (STRICT_SPREAD)");
    assert_str(demands[1].labels, "");
    assert_int_equal(demands[1].source, DEMAND_PLACEMENT_GROUP);
    assert_int_equal(demands[1].since_ms, 1002000);
    assert_str(demands[2].shape, "{GPU: 1}");
    assert_int_equal(demands[2].source, DEMAND_REQUEST_RESOURCES);
    assert_int_equal(demands[2].count, 4);
    arena_clear(&arena);
}

static void training_jobs_are_merged_with_the_load(void **state)
{
    static const struct ray_quantity amounts[] = {{{"CPU", 3}, 1}};
    struct listener *listener = *state;
    struct reply_request cpu = {.amounts = {{"CPU", 1}}};
    struct ray_demand demand = {.request = {.amounts = amounts, .amount_count = 1}, .count = 2};
    struct pending_demand *demands;
    struct arena arena;
    size_t count;
    arena_init(&arena);
    listener->training[0] = (struct ray_view_training){STR("a"), demand};
    listener->training[1] = (struct ray_view_training){STR("b"), demand};
    listener->training[2] = (struct ray_view_training){STR("b"), demand};
    listener->training[1].leaving = 1;
    listener->training_count = 3;
    reply_add_demand(&listener->state, &cpu, 5);
    reply_add_constraint(&listener->state, &cpu, 4);
    assert_int_equal(take(listener, 1000), 0);
    assert_int_equal(listener->load.demand_count, 3);
    assert_int_equal(listener->load.demands[0].count, 5);
    assert_int_equal(listener->load.demands[1].count, 2);
    assert_int_equal(listener->load.demands[2].count, 4); /* both of b */
    assert_int_equal(listener->load.demands[2].request.amounts[0].amount, 10000);
    assert_int_equal(listener->load.constraint_count, 1);
    assert_int_equal(listener->load.moving_count, 1);
    assert_int_equal(listener->load.moving[0].count, 1);
    assert_int_equal(listener->load.moving[0].request.amounts[0].amount, 10000);
    ray_view_demands(listener->mirror, &arena, &demands, &count);
    assert_int_equal(count, 4);
    assert_int_equal(demands[0].source, DEMAND_TASKS);
    assert_int_equal(demands[1].source, DEMAND_TRAINING);
    assert_str(demands[1].job, "a");
    assert_str(demands[2].job, "b");
    assert_str(demands[2].shape, "{CPU: 1}");
    assert_int_equal(demands[3].source, DEMAND_REQUEST_RESOURCES);

    listener->training_count = 1; /* the same reply again: only a hint leads to a new load */
    int before = listener->loads_told;
    reply_add_demand(&listener->state, &cpu, 5);
    reply_add_constraint(&listener->state, &cpu, 4);
    assert_int_equal(take(listener, 2000), 0);
    assert_int_equal(listener->loads_told, before);
    ray_view_resend_load(listener->mirror);
    reply_add_demand(&listener->state, &cpu, 5);
    reply_add_constraint(&listener->state, &cpu, 4);
    assert_int_equal(take(listener, 3000), 0);
    assert_int_equal(listener->loads_told, before + 1);
    assert_int_equal(listener->load.demand_count, 2);
    ray_view_demands(listener->mirror, &arena, &demands, &count);
    assert_int_equal(demands[1].since_ms, 1001000); /* it waits since the first reply */

    ray_view_resend_load(listener->mirror); /* Ray is replaced before the next reply */
    ray_view_forget(listener->mirror);
    assert_int_equal(listener->load.demand_count, 0);
    arena_clear(&arena);
}

static void nodes_in_words(void **state)
{
    struct listener *listener = *state;
    struct reply_node busy = worker(1, "i-5");
    struct reply_node idle = worker(2, "i-6");
    struct reply_node dead = worker(3, "i-6");
    struct reply_node by_hand = worker(4, "");
    const struct node_usage *nodes;
    struct arena arena;
    size_t count;
    busy.activity = "Busy workers on node.";
    idle.status = RAY_NODE_IDLE;
    idle.idle_ms = 900;
    idle.activity = "stale";
    dead.status = RAY_NODE_DEAD;
    reply_add_node(&listener->state, &busy);
    reply_add_node(&listener->state, &dead);
    reply_add_node(&listener->state, &idle);
    reply_add_node(&listener->state, &by_hand);
    assert_int_equal(take(listener, 1000), 2);
    arena_init(&arena);
    ray_view_nodes(listener->mirror, &arena, &nodes, &count);
    assert_int_equal(count, 3);
    assert_int_equal(nodes[0].instance, 5);
    assert_int_equal(nodes[0].ray_id.len, 56);
    assert_int_equal(nodes[0].idle_ms, -1);
    assert_str(nodes[0].activity, "Busy workers on node.");
    assert_int_equal(nodes[0].use_count, 2);
    assert_str(nodes[0].uses[0].name, "CPU");
    assert_true(nodes[0].uses[0].used == 1 && nodes[0].uses[0].total == 4);
    assert_int_equal(nodes[1].instance, 6);
    assert_int_equal(nodes[1].idle_ms, 900);
    assert_str(nodes[1].activity, "");
    assert_int_equal(nodes[2].instance, INSTANCE_NONE);
    arena_clear(&arena);
}

/* ---- errors ---- */

static void what_is_not_understood_changes_nothing(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_request asked = {.amounts = {{"CPU", 1}},
                                  .selectors = {{{"zone", RAY_IN, {"a"}}}}};
    struct err err;
    node.labels[0] = (struct reply_label){"zone", "a"};
    reply_add_node(&listener->state, &node);
    assert_int_equal(take(listener, 1000), 1);
    int loads = listener->loads_told;
    node.amounts[0].free = 1;
    struct reply_node other = worker(2, "i-6");
    reply_add_demand(&listener->state, &asked, 1);
    reply_add_node(&listener->state, &node);
    reply_add_node(&listener->state, &other);
    struct str bytes = reply_end(&listener->state, &listener->reply, 2);
    for (size_t len = 0; len < bytes.len; len++) {
        struct str part = {bytes.ptr, len};
        assert_false(ray_view_update(listener->mirror, part, 2000, 0, &err));
        assert_int_equal(listener->told, 1);
        assert_int_equal(listener->loads_told, loads);
        assert_int_equal(ray_view_alive(listener->mirror), 1);
    }
    assert_true(ray_view_update(listener->mirror, bytes, 2000, 0, &err));
    assert_int_equal(listener->told, 3);
    assert_int_equal(listener->nodes[5].labels.count, 1);
    assert_int_equal(listener->loads_told, loads + 1);
}

static void another_listener_hears_everything(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_request asked = {.amounts = {{"CPU", 1}}};
    for (int i = 0; i < 2; i++) {
        reply_add_node(&listener->state, &node);
        reply_add_demand(&listener->state, &asked, 1);
        assert_int_equal(take(listener, 1000), i == 0);
    }
    assert_int_equal(listener->loads_told, 1);
    ray_view_resend_all(listener->mirror);
    reply_add_node(&listener->state, &node);
    reply_add_demand(&listener->state, &asked, 1);
    assert_int_equal(take(listener, 1400), 1);
    assert_int_equal(listener->loads_told, 2);
    /* It may be the same node: what was reported before does not stay with it. */
    ray_view_resend_all(listener->mirror);
    assert_int_equal(take(listener, 1800), 1);
    assert_int_equal(listener->nodes[5].status, RAY_ABSENT);
}

static void another_ray_begins_with_nothing(void **state)
{
    struct listener *listener = *state;
    struct reply_node node = worker(1, "i-5");
    struct reply_request asked = {.amounts = {{"CPU", 1}}};
    const struct node_usage *nodes;
    struct pending_demand *demands;
    struct arena arena;
    size_t count;
    reply_add_node(&listener->state, &node);
    reply_add_demand(&listener->state, &asked, 1);
    assert_int_equal(take(listener, 1000), 1);
    ray_view_forget(listener->mirror);
    assert_int_equal(listener->nodes[5].status, RAY_ABSENT);
    assert_int_equal(listener->load.demand_count, 0);
    assert_int_equal(ray_view_alive(listener->mirror), 0);
    arena_init(&arena);
    ray_view_nodes(listener->mirror, &arena, &nodes, &count);
    assert_int_equal(count, 0);
    ray_view_demands(listener->mirror, &arena, &demands, &count);
    assert_int_equal(count, 0);
    arena_clear(&arena);
    reply_add_node(&listener->state, &node);
    reply_add_demand(&listener->state, &asked, 1);
    assert_int_equal(take(listener, 2000), 1);
    assert_int_equal(listener->load.demand_count, 1);
}

/* Nodes and placement groups come and go: neither names nor slots grow with them. */
static void churn_leaves_nothing_behind(void **state)
{
    struct listener *listener = *state;
    char text[6][GROUP_TEXT];
    size_t names_before = 0;
    for (uint64_t round = 0; round < 3000; round++) {
        struct reply_node node = worker(round, text[0]);
        struct reply_request bundle = {.amounts = {{"CPU", 1}}, .apart = text[1]};
        struct reply_request pinned = {.amounts = {{"CPU", 1}},
                                       .selectors = {{{"ray.io/node-id", RAY_IN, {text[2]}}}}};
        const struct reply_request *const bundles[] = {&bundle, &bundle};
        snprintf(text[0], GROUP_TEXT, "i-%d", (int)(round % 50) + 2);
        snprintf(text[1], GROUP_TEXT, "_PG_%036llx", (unsigned long long)round);
        snprintf(text[2], GROUP_TEXT, "%056llx", (unsigned long long)round);
        snprintf(text[3], GROUP_TEXT, "%036llx:STRICT_SPREAD|PENDING", (unsigned long long)round);
        snprintf(text[4], GROUP_TEXT, "node:10.0.%d.%d", (int)(round / 250), (int)(round % 250));
        snprintf(text[5], GROUP_TEXT, "CPU_group_%036llx", (unsigned long long)round);
        node.labels[0] = (struct reply_label){"ray.io/node-id", text[2]};
        node.groups[0] = text[1];
        node.amounts[2] = (struct reply_amount){text[4], 1, 1};
        node.amounts[3] = (struct reply_amount){text[5], 1, 1};
        reply_add_node(&listener->state, &node);
        reply_add_gang(&listener->state, bundles, 2, text[3]);
        reply_add_demand(&listener->state, &pinned, 1);
        assert_true(take(listener, (int64_t)round * 400 + 1000) >= 1);
        const struct ray_node *told = &listener->nodes[round % 50 + 2];
        uint32_t key = listener->load.gangs[0].requests[0].placements[0].label.key;
        const struct label_rule *rule = &listener->load.demands[0].request.selectors[0].rules[0];
        assert_true(label_value(told->labels, key) != NAME_NONE);
        assert_true(label_rule_accepts(rule, label_value(told->labels, rule->key)));
        if (round == 2) {
            names_before = listener->names.count;
        }
    }
    assert_int_equal(listener->names.count, names_before);
    assert_true(listener->mirror->names.slot_count <= 4);
    assert_int_equal(listener->mirror->node_count, 1);
    assert_int_equal(listener->mirror->seat_count, 1);
}

/* Users can invent other names without end: the number is limited, and everything still works. */
static void made_up_texts_come_to_an_end(void **state)
{
    struct listener *listener = *state;
    char text[3][GROUP_TEXT];
    for (uint64_t round = 0; round < 6000; round++) {
        struct reply_node node = worker(round, "i-5");
        struct reply_request asked = {.amounts = {{text[0], 1}},
                                      .selectors = {{{"job", RAY_IN, {text[1]}}}}};
        snprintf(text[0], GROUP_TEXT, "resource_%d", (int)round);
        snprintf(text[1], GROUP_TEXT, "value_%d", (int)round);
        snprintf(text[2], GROUP_TEXT, "own_%d", (int)round);
        node.amounts[2] = (struct reply_amount){text[0], 1, 1};
        node.amounts[3] = (struct reply_amount){text[2], 1, 1};
        node.labels[0] = (struct reply_label){"job", text[1]};
        reply_add_node(&listener->state, &node);
        reply_add_demand(&listener->state, &asked, 1);
        assert_int_equal(take(listener, (int64_t)round * 400 + 1000), 1);
        const struct request *request = &listener->load.demands[0].request;
        const struct label_rule *rule = &request->selectors[0].rules[0];
        const struct ray_node *told = &listener->nodes[5];
        assert_true(label_rule_accepts(rule, label_value(told->labels, rule->key)));
        size_t at = 0;
        while (at < told->capacity_count && told->capacities[at].name != request->amounts[0].name) {
            at++;
        }
        assert_true(at < told->capacity_count);
    }
    assert_true(listener->names.count < 4096 + 256 + 32);
    assert_true(listener->mirror->names.slot_count <= 4);
}

/* Many at once, through all sizes of the tables, and none is confused with another. */
static void thousands_come_and_go(void **state)
{
    struct listener *listener = *state;
    char id[GROUP_TEXT];
    for (uint64_t round = 0; round < 6; round++) {
        size_t count = round % 2 == 0 ? 3000 : 100;
        for (uint64_t i = 0; i < count; i++) {
            struct reply_node node = worker(round / 2 * 1000 + i, id);
            snprintf(id, sizeof(id), "i-%llu", (unsigned long long)node.number + 1);
            node.amounts[0].free = (double)(node.number % 4);
            reply_add_node(&listener->state, &node);
        }
        (void)take(listener, (int64_t)round * 400 + 1000);
        assert_int_equal(ray_view_alive(listener->mirror), count);
        assert_int_equal(listener->mirror->seat_count, count);
        char wanted[RAY_ID_BYTES];
        uint64_t number = round / 2 * 1000 + 42;
        reply_id(number, wanted);
        struct str found = ray_view_node_id(listener->mirror, number + 1);
        assert_int_equal(found.len, RAY_ID_BYTES);
        assert_memory_equal(found.ptr, wanted, RAY_ID_BYTES);
    }
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_node_comes_changes_and_goes),
        SCENE(a_node_that_is_named_twice_is_reported_once),
        SCENE(idle_time_is_told_when_it_moves),
        SCENE(of_several_lives_the_last_counts),
        SCENE(hidden_is_absent),
        SCENE(who_is_not_known_is_asked_for_again),
        SCENE(the_head_is_known),
        SCENE(ids_do_not_become_names),
        SCENE(labels_are_read_when_they_are_asked_for),
        SCENE(a_node_asked_for_by_its_id_is_found),
        SCENE(a_group_that_has_bundles_keeps_off_their_nodes),
        SCENE(the_object_store_is_no_news),
        SCENE(the_load_is_told_when_it_is_another),
        SCENE(demand_in_words),
        SCENE(training_jobs_are_merged_with_the_load),
        SCENE(nodes_in_words),
        SCENE(what_is_not_understood_changes_nothing),
        SCENE(another_listener_hears_everything),
        SCENE(another_ray_begins_with_nothing),
        SCENE(churn_leaves_nothing_behind),
        SCENE(made_up_texts_come_to_an_end),
        SCENE(thousands_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
