/* test_gcs_replies.c: what replies of the GCS mean, byte by byte as Ray writes them. */
#include "ray/gcs.h"
#include "ray/wire.h"

#include "unit.h"

#include <string.h>

static struct arena arena;
static struct buf reply;

static int open_reply(void **state)
{
    (void)state;
    arena_init(&arena);
    buf_init(&reply, 1 << 20);
    return 0;
}

static int close_reply(void **state)
{
    (void)state;
    arena_clear(&arena);
    buf_clear(&reply);
    return 0;
}

/* ---- nodes ---- */

enum { ALIVE = 0, DEAD = 1, EXPECTED = 1, PREEMPTED = 3, DRAINED_IDLE = 4 };

static void add_node(const char *instance, int state, int death)
{
    static const char id[RAY_ID_BYTES + 1] = "0123456789012345678901234567";
    AUTO_BUF struct buf node;
    AUTO_BUF struct buf info;
    buf_init(&node, 1000);
    buf_init(&info, 100);
    wire_add_bytes(&node, 1, (struct str){id, RAY_ID_BYTES});
    wire_add_number(&node, 7, state);
    wire_add_text(&node, 13, str_from(instance));
    if (state == DEAD) {
        wire_add_number(&info, 1, death);
        wire_add_text(&info, 2, STR("its words"));
        wire_add_bytes(&node, 29, buf_str(&info));
    }
    wire_add_bytes(&reply, 2, buf_str(&node));
}

static void add_draining(size_t id_len, int64_t deadline)
{
    static const char id[RAY_ID_BYTES + 1] = "0123456789012345678901234567";
    AUTO_BUF struct buf node;
    buf_init(&node, 1000);
    wire_add_bytes(&node, 1, (struct str){id, id_len});
    wire_add_number(&node, 2, deadline);
    wire_add_bytes(&reply, 2, buf_str(&node));
}

static void draining_nodes_have_their_deadline(void **state)
{
    (void)state;
    const struct gcs_draining *nodes;
    size_t count;
    add_draining(RAY_ID_BYTES, 1794896230388);
    add_draining(RAY_ID_BYTES - 1, 5); /* an invalid id is skipped */
    add_draining(RAY_ID_BYTES, 0);
    struct gcs_answer answer = gcs_draining_read(buf_str(&reply), &arena, &nodes, &count);
    assert_int_equal(answer.trouble, GCS_FINE);
    assert_int_equal(count, 2);
    assert_int_equal(nodes[0].deadline_ms, 1794896230388);
    assert_int_equal(nodes[0].id.len, 2 * RAY_ID_BYTES);
    assert_int_equal(nodes[1].deadline_ms, 0);
    answer = gcs_draining_read(STR("\xff"), &arena, &nodes, &count);
    assert_int_not_equal(answer.trouble, GCS_FINE);
    assert_int_equal(count, 0);
}

static void dead_nodes_are_dead_and_preempted_ones_known(void **state)
{
    (void)state;
    const struct gcs_node *nodes;
    size_t count;
    add_node("i-1", ALIVE, 0);
    add_node("i-2", DEAD, EXPECTED);
    add_node("i-3", DEAD, PREEMPTED);
    add_node("i-4", DEAD, DRAINED_IDLE);
    struct gcs_answer answer = gcs_nodes_read(buf_str(&reply), &arena, &nodes, &count);
    assert_int_equal(answer.trouble, GCS_FINE);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(nodes[i].is_alive, i == 0);
        assert_int_equal(nodes[i].is_preempted, i == 2);
        assert_int_equal(nodes[i].id.len, 2 * RAY_ID_BYTES);
    }
    assert_true(str_is(nodes[1].instance_id, "i-2"));
    assert_true(str_is(nodes[1].death, "its words"));
    assert_int_equal(nodes[0].death.len, 0);
}

static void add_status(int code)
{
    AUTO_BUF struct buf status;
    buf_init(&status, 100);
    wire_add_number(&status, 1, code);
    wire_add_text(&status, 2, STR("why"));
    wire_add_bytes(&reply, 1, buf_str(&status));
}

static void nodes_that_are_refused_or_garbled(void **state)
{
    (void)state;
    const struct gcs_node *nodes;
    size_t count = 9;
    struct gcs_answer answer = gcs_nodes_read(STR("\xff\xff"), &arena, &nodes, &count);
    assert_int_equal(answer.trouble, GCS_REFUSED);
    assert_int_equal(count, 0);
    add_status(5);
    add_node("i-1", ALIVE, 0);
    answer = gcs_nodes_read(buf_str(&reply), &arena, &nodes, &count);
    assert_int_equal(answer.trouble, GCS_REFUSED);
    assert_non_null(strstr(answer.err.text, "why"));
    assert_int_equal(count, 0);
}

/* ---- drains ---- */

static void a_drain_is_accepted_only_when_the_raylet_says_so(void **state)
{
    (void)state;
    struct str why_not;
    bool is_accepted = true;
    assert_int_equal(gcs_drain_read(STR(""), &is_accepted, &why_not).trouble, GCS_FINE);
    assert_false(is_accepted);
    buf_add(&reply, STR("\x08\x00")); /* false, written out */
    wire_add_text(&reply, 2, STR("it is busy"));
    is_accepted = true;
    assert_int_equal(gcs_drain_read(buf_str(&reply), &is_accepted, &why_not).trouble, GCS_FINE);
    assert_false(is_accepted);
    assert_true(str_is(why_not, "it is busy"));
    reply.len = 0;
    wire_add_number(&reply, 1, 1);
    assert_int_equal(gcs_drain_read(buf_str(&reply), &is_accepted, &why_not).trouble, GCS_FINE);
    assert_true(is_accepted);
    assert_int_equal(why_not.len, 0);
    buf_add(&reply, STR("\x12\x7f")); /* longer than what follows */
    assert_int_equal(gcs_drain_read(buf_str(&reply), &is_accepted, &why_not).trouble, GCS_REFUSED);
    assert_false(is_accepted);
}

/* ---- versions ---- */

static void versions_are_there_missing_or_not_understood(void **state)
{
    (void)state;
    struct gcs_versions versions;
    bool is_there;
    wire_add_bytes(&reply, 2, STR("{\"ray_version\": \"2.60.0\", \"python_version\": \"3.11.2\"}"));
    struct gcs_answer answer = gcs_versions_read(buf_str(&reply), &arena, &is_there, &versions);
    assert_int_equal(answer.trouble, GCS_FINE);
    assert_true(is_there && str_is(versions.ray, "2.60.0"));
    reply.len = 0;
    add_status(17); /* not found: the head has not written it yet */
    answer = gcs_versions_read(buf_str(&reply), &arena, &is_there, &versions);
    assert_int_equal(answer.trouble, GCS_FINE);
    assert_false(is_there);
    /* A reply that cannot be parsed is an error, not a reason to wait. */
    const char *const values[] = {"", "2.60.0", "[]", "{\"ray_version\""};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        reply.len = 0;
        wire_add_bytes(&reply, 2, str_from(values[i]));
        answer = gcs_versions_read(buf_str(&reply), &arena, &is_there, &versions);
        assert_int_equal(answer.trouble, GCS_REFUSED);
        assert_false(is_there);
        assert_true(answer.err.text[0] != '\0');
    }
    assert_int_equal(gcs_versions_read(STR("\xff"), &arena, &is_there, &versions).trouble,
                     GCS_REFUSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_reply, close_reply)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(draining_nodes_have_their_deadline),
        TEST(dead_nodes_are_dead_and_preempted_ones_known),
        TEST(nodes_that_are_refused_or_garbled),
        TEST(a_drain_is_accepted_only_when_the_raylet_says_so),
        TEST(versions_are_there_missing_or_not_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
