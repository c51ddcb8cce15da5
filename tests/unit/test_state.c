/* test_state.c: Ray's view of its cluster: change marks, nodes, pending requests. */
#include "ray/state.h"

#include "state_scene.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static struct arena arena;
static struct piece reply;
static struct err err;

static int open_all(void **state)
{
    (void)state;
    arena_init(&arena);
    reply = piece_new();
    err = (struct err){0};
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    arena_clear(&arena);
    buf_clear(&reply.bytes);
    return 0;
}

/* ---- what is reported ---- */

struct heard {
    struct ray_node_summary glances[8];
    size_t count;
};

static void hear(void *context, const struct ray_node_summary *glance)
{
    struct heard *heard = context;
    assert_true(heard->count < ARRAY_LEN(heard->glances));
    heard->glances[heard->count++] = *glance;
}

static struct ray_state pass(struct heard *heard)
{
    struct ray_state state = {0};
    *heard = (struct heard){0};
    assert_true(ray_state_pass(buf_str(&reply.bytes), hear, heard, &state, &err));
    assert_int_equal(state.node_count, heard->count);
    return state;
}

/* Makes this state the present reply. */
static void reply_with(struct piece *state)
{
    buf_clear(&reply.bytes);
    piece_into(state, &reply, 1);
}

/* The summary of a cluster with only this node. */
static struct ray_node_summary glance_of(struct piece *node)
{
    struct heard heard;
    struct piece state = piece_new();
    piece_into(node, &state, 3);
    reply_with(&state);
    (void)pass(&heard);
    assert_int_equal(heard.count, 1);
    return heard.glances[0];
}

static struct ray_node_detail read_node(struct ray_node_summary glance)
{
    struct ray_node_detail node;
    assert_true(ray_node_read(glance.bytes, &arena, &node, &err));
    return node;
}

/* ---- nodes ---- */

/* How a node differs from the default node of the tests. */
struct twist {
    int64_t version, idle_ms;
    int64_t status;          /* 0: idle */
    bool is_backward;        /* the maps */
    double cpus_left;        /* 0: 3 */
    const char *activity;    /* NULL: none */
    const char *label;       /* NULL: "a" */
    const char *type;        /* NULL: "worker" */
    const char *group_label; /* NULL: none */
};

static struct piece make_node(const struct twist *twist)
{
    struct piece node = piece_new();
    double cpus = twist->cpus_left > 0 ? twist->cpus_left : 3;
    put_id(&node, 'n');
    put_text(&node, 2, "i-1");
    put_text(&node, 3, twist->type ? twist->type : "worker");
    for (int i = 0; i < 2; i++) {
        if ((i == 0) != twist->is_backward) {
            put_amount(&node, 4, "CPU", cpus);
            put_amount(&node, 5, "CPU", 4);
            put_label(&node, 13, "zone", twist->label ? twist->label : "a");
        } else {
            put_amount(&node, 4, "memory", 1e9);
            put_amount(&node, 5, "memory", 2e9);
            put_label(&node, 13, "ray.io/market-type", "spot");
        }
    }
    if (twist->group_label) {
        put_label(&node, 6, twist->group_label, "");
    }
    put_number(&node, 7, twist->version);
    put_number(&node, 8, twist->status ? twist->status : RAY_NODE_IDLE);
    put_number(&node, 9, twist->idle_ms);
    put_text(&node, 10, "10.0.0.7");
    put_text(&node, 11, "m5.large");
    if (twist->activity) {
        put_text(&node, 12, twist->activity);
    }
    return node;
}

static uint64_t mark_of(struct twist twist)
{
    struct piece node = make_node(&twist);
    return glance_of(&node).mark;
}

static void test_a_node_at_a_glance(void **state)
{
    (void)state;
    struct piece node = make_node(&(struct twist){.idle_ms = 1234, .version = 7});
    struct ray_node_summary glance = glance_of(&node);
    assert_str(glance.id, "nnnnnnnnnnnnnnnnnnnnnnnnnnnn");
    assert_str(glance.instance_id, "i-1");
    assert_int_equal(glance.status, RAY_NODE_IDLE);
    assert_int_equal(glance.idle_ms, 1234);
}

static void test_what_changes_by_itself_is_not_in_the_mark(void **state)
{
    (void)state;
    uint64_t mark = mark_of((struct twist){.version = 1});
    assert_true(mark == mark_of((struct twist){.version = 2}));
    assert_true(mark == mark_of((struct twist){.idle_ms = 9000}));
    assert_true(mark == mark_of((struct twist){.is_backward = true}));
    /* Of an activity from before it became idle. */
    assert_true(mark == mark_of((struct twist){.activity = "Busy workers on node."}));
}

static void test_what_matters_is_in_the_mark(void **state)
{
    (void)state;
    const struct twist twists[] = {
        {0},
        {.status = RAY_NODE_RUNNING},
        {.status = RAY_NODE_RUNNING, .activity = "Busy workers on node."},
        {.status = RAY_NODE_RUNNING, .activity = "Resource: CPU currently in use."},
        {.status = RAY_NODE_DRAINING},
        {.status = RAY_NODE_DEAD},
        {.cpus_left = 2},
        {.cpus_left = 4},
        {.label = "b"},
        {.type = "other"},
        {.group_label = "_PG_1"},
        {.group_label = "_PG_2"},
    };
    uint64_t marks[ARRAY_LEN(twists)];
    for (size_t i = 0; i < ARRAY_LEN(twists); i++) {
        marks[i] = mark_of(twists[i]);
        for (size_t j = 0; j < i; j++) {
            assert_true(marks[i] != marks[j]);
        }
    }
}

/* The same amounts, but not of the same map. */
static void test_maps_are_told_apart(void **state)
{
    (void)state;
    uint64_t marks[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct piece node = piece_new();
        put_id(&node, 'n');
        put_number(&node, 8, RAY_NODE_RUNNING);
        put_amount(&node, 4 + i, "CPU", 4);
        marks[i] = glance_of(&node).mark;
    }
    assert_true(marks[0] != marks[1]);
}

static void test_a_node_is_read_whole(void **state)
{
    (void)state;
    struct piece made = make_node(&(struct twist){
        .status = RAY_NODE_RUNNING, .group_label = "_PG_1", .activity = "Busy workers on node."});
    struct ray_node_detail node = read_node(glance_of(&made));
    assert_str(node.type, "worker");
    assert_str(node.address, "10.0.0.7");
    assert_str(node.machine, "m5.large");
    assert_int_equal(node.total_count, 2);
    assert_str(node.totals[0].name, "CPU");
    assert_true(node.totals[0].amount == 4);
    assert_int_equal(node.available_count, 2);
    assert_true(node.available[1].amount == 1e9);
    assert_int_equal(node.label_count, 3);
    assert_str(node.labels[0].key, "zone");
    assert_str(node.labels[0].value, "a");
    assert_str(node.labels[2].key, "_PG_1");
    assert_str(node.labels[2].value, "");
    assert_int_equal(node.activity_count, 1);
    assert_str(node.activities[0], "Busy workers on node.");
    assert_false(node.is_head);
}

static void test_what_is_stale_is_not_read(void **state)
{
    (void)state;
    struct piece made = make_node(&(struct twist){.activity = "Busy workers on node."});
    assert_int_equal(read_node(glance_of(&made)).activity_count, 0);
    made = make_node(&(struct twist){.status = RAY_NODE_RUNNING, .idle_ms = 5});
    assert_int_equal(glance_of(&made).idle_ms, 0);
}

static void test_the_dead_have_nothing(void **state)
{
    (void)state;
    struct piece made = make_node(&(struct twist){.status = RAY_NODE_DEAD, .activity = "x"});
    struct ray_node_summary glance = glance_of(&made);
    struct ray_node_detail node = read_node(glance);
    assert_str(node.type, "worker");
    assert_str(node.address, "10.0.0.7");
    assert_str(node.machine, "m5.large");
    assert_int_equal(node.total_count + node.available_count + node.label_count, 0);
    assert_int_equal(node.activity_count, 0);
    assert_true(glance.mark == mark_of((struct twist){.status = RAY_NODE_DEAD, .cpus_left = 1}));
}

static void test_the_head_is_known_by_its_mark(void **state)
{
    (void)state;
    struct piece node = piece_new();
    put_id(&node, 'h');
    put_number(&node, 8, RAY_NODE_RUNNING);
    put_amount(&node, 5, "node:__internal_head__", 1);
    assert_true(read_node(glance_of(&node)).is_head);
}

static void test_amounts_that_cannot_be(void **state)
{
    (void)state;
    const double given[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -1, 1e300, 0.5};
    const double wanted[] = {0, 9e14, 0, 0, 9e14, 0.5};
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        struct piece node = piece_new();
        put_id(&node, 'n');
        put_number(&node, 8, RAY_NODE_RUNNING);
        put_amount(&node, 5, "CPU", given[i]);
        assert_true(read_node(glance_of(&node)).totals[0].amount == wanted[i]);
    }
}

static void test_a_status_that_is_new(void **state)
{
    (void)state;
    struct piece node = make_node(&(struct twist){.status = 77});
    assert_int_equal(glance_of(&node).status, RAY_NODE_UNSPECIFIED);
    node = make_node(&(struct twist){.status = -1});
    assert_int_equal(glance_of(&node).status, RAY_NODE_UNSPECIFIED);
    node = make_node(&(struct twist){.idle_ms = -5});
    assert_int_equal(glance_of(&node).idle_ms, 0);
}

static void test_the_reply_as_a_whole(void **state)
{
    (void)state;
    struct heard heard;
    struct piece cluster = piece_new();
    struct piece odd = piece_new();
    put_text(&odd, 1, "not 28 bytes");
    put_number(&cluster, 1, 42);
    put_text(&cluster, 7, "session_1");
    put_text(&cluster, 99, "of a later release");
    for (char letter = 'a'; letter < 'd'; letter++) {
        struct piece node = piece_new();
        put_id(&node, letter);
        piece_into(&node, &cluster, 3);
    }
    piece_into(&odd, &cluster, 3);
    reply_with(&cluster);
    struct ray_state told = pass(&heard);
    assert_int_equal(told.version, 42);
    assert_str(told.session, "session_1");
    assert_int_equal(told.node_count, 3);
    assert_int_equal(heard.glances[2].id.ptr[0], 'c');
}

/* ---- the load ---- */

static struct ray_load_read read_load(void)
{
    struct ray_load_read load;
    assert_true(ray_state_load(buf_str(&reply.bytes), &arena, &load, &err));
    return load;
}

static void test_demands(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    struct piece demand = piece_new();
    struct piece request = piece_new();
    struct piece first = piece_new();
    struct piece second = piece_new();
    put_amount(&request, 1, "GPU", 0.5);
    put_amount(&request, 1, "foo", 2);
    put_rule(&first, "ray.io/market-type", 1, "spot", NULL);
    put_rule(&first, "ray.io/accelerator-type", 2, "A100", "H100");
    put_rule(&second, "zone", 9, NULL, NULL);
    piece_into(&first, &request, 3);
    piece_into(&second, &request, 3);
    struct str request_bytes = arena_str(&arena, buf_str(&request.bytes));
    piece_into(&request, &demand, 1);
    put_number(&demand, 2, 2);
    piece_into(&demand, &cluster, 4);
    put_demand(&cluster, 4, "CPU", 1, 5);
    reply_with(&cluster);

    struct ray_load_read load = read_load();
    assert_int_equal(load.demand_count, 2);
    const struct ray_request *read = &load.demands[0].request;
    assert_int_equal(load.demands[0].count, 2);
    assert_true(str_eq(load.demands[0].bytes, request_bytes));
    assert_int_equal(read->amount_count, 2);
    assert_str(read->amounts[1].name, "foo");
    assert_int_equal(read->selector_count, 2);
    assert_int_equal(read->selectors[0].rule_count, 2);
    assert_int_equal(read->selectors[0].rules[0].op, RAY_IN);
    assert_str(read->selectors[0].rules[0].key, "ray.io/market-type");
    assert_int_equal(read->selectors[0].rules[1].op, RAY_NOT_IN);
    assert_int_equal(read->selectors[0].rules[1].value_count, 2);
    assert_str(read->selectors[0].rules[1].values[1], "H100");
    assert_int_equal(read->selectors[1].rules[0].op, RAY_OPERATOR_OTHER);
    assert_int_equal(load.demands[1].count, 5);
    assert_int_equal(load.demands[1].request.selector_count, 1);
    assert_int_equal(load.demands[1].request.selectors[0].rule_count, 0);
}

static void test_what_asks_for_nothing_is_left_out(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    struct piece demand = piece_new();
    struct piece request = piece_new();
    struct piece selector = piece_new();
    put_demand(&cluster, 4, "CPU", 1, 0);
    put_demand(&cluster, 4, "CPU", 1, -3);
    put_text(&cluster, 4, "");
    put_text(&cluster, 5, "");
    put_text(&cluster, 6, "");
    /* An actor without resources but with a label selector is a request. */
    put_rule(&selector, "zone", 1, "b", NULL);
    piece_into(&selector, &request, 3);
    piece_into(&request, &demand, 1);
    put_number(&demand, 2, 1);
    piece_into(&demand, &cluster, 4);
    reply_with(&cluster);
    struct ray_load_read load = read_load();
    assert_int_equal(load.demand_count, 1);
    assert_int_equal(load.demands[0].request.amount_count, 0);
    assert_int_equal(load.gang_count, 0);
    assert_int_equal(load.constraint_count, 0);
}

static void test_the_wish_of_request_resources(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    struct piece constraint = piece_new();
    put_demand(&constraint, 1, "CPU", 2, 4);
    put_demand(&constraint, 1, "GPU", 1, 1);
    piece_into(&constraint, &cluster, 6);
    reply_with(&cluster);
    struct ray_load_read load = read_load();
    assert_int_equal(load.constraint_count, 2);
    assert_int_equal(load.constraint[0].count, 4);
    assert_str(load.constraint[1].request.amounts[0].name, "GPU");
}

/* A gang of two, in the old place and, when asked for, in the new one. */
static void put_gang(struct piece *cluster, bool has_bundles, const char *locality,
                     const char *pinned_to)
{
    struct piece gang = piece_new();
    struct piece bundles = piece_new();
    for (int i = 0; i < 2; i++) {
        struct piece request = piece_new();
        struct piece placement = piece_new();
        put_amount(&request, 1, "CPU", 1);
        put_label(&placement, i == 0 ? 1 : 2, "_PG_1", "");
        piece_into(&placement, &request, 2);
        wire_add_bytes(&bundles.bytes, 1, buf_str(&request.bytes));
        piece_into(&request, &gang, 1);
    }
    put_request(&bundles, 1, "only-here", 1);
    put_text(&gang, 2, "1:STRICT_SPREAD|PENDING");
    if (locality) {
        struct piece where = piece_new();
        struct piece constraint = piece_new();
        put_text(&constraint, 1, locality);
        put_number(&constraint, 2, 2);
        piece_into(&constraint, &where, 1);
        if (pinned_to) {
            struct piece selector = piece_new();
            put_rule(&selector, locality, 1, pinned_to, NULL);
            piece_into(&selector, &where, 2);
        }
        piece_into(&where, &bundles, 2);
    }
    if (has_bundles) {
        piece_into(&bundles, &gang, 3);
        put_text(&gang, 3, ""); /* a fallback */
    }
    buf_clear(&bundles.bytes);
    piece_into(&gang, cluster, 5);
}

static void test_gangs_are_read_once(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    put_gang(&cluster, false, NULL, NULL);
    put_gang(&cluster, true, NULL, NULL);
    put_gang(&cluster, true, "rack", NULL);
    reply_with(&cluster);
    struct ray_load_read load = read_load();
    assert_int_equal(load.gang_count, 3);
    assert_int_equal(load.gangs[0].request_count, 2);
    assert_str(load.gangs[0].details, "1:STRICT_SPREAD|PENDING");
    assert_true(load.gangs[0].requests[0].placements[0].is_apart);
    assert_false(load.gangs[0].requests[1].placements[0].is_apart);
    assert_str(load.gangs[0].requests[1].placements[0].label.key, "_PG_1");
    assert_int_equal(load.gangs[1].request_count, 3);
    assert_str(load.gangs[1].requests[2].amounts[0].name, "only-here");
    assert_str(load.gangs[1].locality, "");
    assert_str(load.gangs[2].locality, "rack");
    assert_true(load.gangs[2].bytes.len > load.gangs[1].bytes.len);
}

static void test_a_gang_that_must_go_back(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    put_gang(&cluster, true, "rack", "r7");
    reply_with(&cluster);
    struct ray_load_read load = read_load();
    assert_int_equal(load.gangs[0].request_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ray_request *request = &load.gangs[0].requests[i];
        assert_int_equal(request->selector_count, 1);
        assert_int_equal(request->selectors[0].rule_count, 1);
        assert_str(request->selectors[0].rules[0].key, "rack");
        assert_str(request->selectors[0].rules[0].values[0], "r7");
    }
}

/* ---- the mark of the load ---- */

enum load_change {
    AS_IT_IS,
    OTHER_ORDER,
    OTHER_COUNT,
    OTHER_AMOUNT,
    OTHER_CHOICE, /* the fallback first */
    OTHER_VALUE,
    WITH_GANG,
    WITH_WISH,
    WITH_NODE_AND_VERSION,
    WITH_EMPTY_WISH,
};

static void put_choices(struct piece *cluster, enum load_change change)
{
    struct piece demand = piece_new();
    struct piece request = piece_new();
    bool is_turned = change == OTHER_ORDER;
    put_amount(&request, 1, is_turned ? "GPU" : "CPU", 1);
    put_amount(&request, 1, is_turned ? "CPU" : "GPU", 1);
    for (int i = 0; i < 2; i++) {
        struct piece selector = piece_new();
        if ((i == 0) == (change == OTHER_CHOICE)) {
            put_rule(&selector, "zone", 1, is_turned ? "b" : "a", is_turned ? "a" : "b");
        } else {
            put_rule(&selector, "zone", 1, change == OTHER_VALUE ? "d" : "c", NULL);
        }
        piece_into(&selector, &request, 3);
    }
    piece_into(&request, &demand, 1);
    put_number(&demand, 2, 3);
    piece_into(&demand, cluster, 4);
}

static uint64_t load_mark_of(enum load_change change)
{
    struct heard heard;
    struct piece cluster = piece_new();
    if (change == OTHER_ORDER) {
        put_demand(&cluster, 4, "CPU", 1, 5);
    }
    put_choices(&cluster, change);
    if (change != OTHER_ORDER) {
        put_demand(&cluster, 4, "CPU", change == OTHER_AMOUNT ? 2 : 1,
                   change == OTHER_COUNT ? 6 : 5);
    }
    if (change == WITH_GANG) {
        put_gang(&cluster, true, NULL, NULL);
    }
    if (change == WITH_WISH || change == WITH_EMPTY_WISH) {
        struct piece request = piece_new();
        if (change == WITH_WISH) {
            put_demand(&request, 1, "CPU", 1, 5);
        }
        piece_into(&request, &cluster, 6);
    }
    if (change == WITH_NODE_AND_VERSION) {
        struct piece node = make_node(&(struct twist){0});
        put_number(&cluster, 1, 17);
        piece_into(&node, &cluster, 3);
    }
    reply_with(&cluster);
    return pass(&heard).load_mark;
}

static void test_the_mark_of_the_load(void **state)
{
    (void)state;
    uint64_t mark = load_mark_of(AS_IT_IS);
    assert_true(mark == load_mark_of(OTHER_ORDER));
    assert_true(mark == load_mark_of(WITH_NODE_AND_VERSION));
    assert_true(mark == load_mark_of(WITH_EMPTY_WISH));
    for (int change = OTHER_COUNT; change <= WITH_WISH; change++) {
        assert_true(mark != load_mark_of((enum load_change)change));
    }
    struct piece nothing = piece_new();
    struct heard heard;
    reply_with(&nothing);
    assert_true(pass(&heard).load_mark == 0);
}

/* ---- invalid bytes ---- */

static bool is_understood(struct str bytes)
{
    struct heard heard = {0};
    struct ray_state state;
    struct ray_load_read load;
    bool is_passed = ray_state_pass(bytes, hear, &heard, &state, &err);
    bool is_read = ray_state_load(bytes, &arena, &load, &err);
    assert_true(is_passed || err.kind == ERR_PROTOCOL);
    return is_passed && is_read;
}

static void test_a_reply_that_is_cut(void **state)
{
    (void)state;
    struct piece cluster = piece_new();
    struct piece node = make_node(&(struct twist){0});
    piece_into(&node, &cluster, 3);
    put_choices(&cluster, AS_IT_IS);
    put_gang(&cluster, true, "rack", "r7");
    reply_with(&cluster);
    struct str whole = buf_str(&reply.bytes);
    assert_true(is_understood(whole));
    for (size_t len = 0; len < whole.len; len++) {
        assert_false(is_understood(str_sub(whole, 0, len)));
    }
}

/* Broken deep inside, where the lengths around it are right. */
static void test_a_reply_that_is_broken_inside(void **state)
{
    (void)state;
    const uint32_t tags[] = {3, 4, 5, 6};
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        struct piece cluster = piece_new();
        put_text(&cluster, tags[i], "\x0a\x7f");
        reply_with(&cluster);
        assert_false(is_understood(buf_str(&reply.bytes)));
    }
}

static void test_a_reply_without_a_state(void **state)
{
    (void)state;
    assert_false(is_understood(STR("")));
    assert_false(is_understood(STR("\x10\x01")));
    assert_true(is_understood(STR("\x0a\x00")));
    assert_false(is_understood(STR("\x0a\x00\x0a\x00"))); /* nor with two */
}

static void test_a_node_with_a_broken_map(void **state)
{
    (void)state;
    struct ray_node_detail detail;
    struct piece node = piece_new();
    put_id(&node, 'n');
    put_number(&node, 8, RAY_NODE_RUNNING);
    put_text(&node, 5, "\x0a\x7f");
    assert_false(ray_node_read(glance_of(&node).bytes, &arena, &detail, &err));
    assert_int_equal(err.kind, ERR_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_at_a_glance),
        TEST(test_what_changes_by_itself_is_not_in_the_mark),
        TEST(test_what_matters_is_in_the_mark),
        TEST(test_maps_are_told_apart),
        TEST(test_a_node_is_read_whole),
        TEST(test_what_is_stale_is_not_read),
        TEST(test_the_dead_have_nothing),
        TEST(test_the_head_is_known_by_its_mark),
        TEST(test_amounts_that_cannot_be),
        TEST(test_a_status_that_is_new),
        TEST(test_the_reply_as_a_whole),
        TEST(test_demands),
        TEST(test_what_asks_for_nothing_is_left_out),
        TEST(test_the_wish_of_request_resources),
        TEST(test_gangs_are_read_once),
        TEST(test_a_gang_that_must_go_back),
        TEST(test_the_mark_of_the_load),
        TEST(test_a_reply_that_is_cut),
        TEST(test_a_reply_that_is_broken_inside),
        TEST(test_a_reply_without_a_state),
        TEST(test_a_node_with_a_broken_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
