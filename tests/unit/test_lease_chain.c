/* test_lease_chain.c: claims as text, races between claims of the same predecessor, leases. */
#include "provider/aws/cluster/lease_chain.h"

#include "base/rng.h"
#include "unit.h"

#include <string.h>

static struct lease_claim claim(uint64_t number, uint64_t after)
{
    return (struct lease_claim){
        .number = number, .after = after, .is_readable = true, .nonce = STR("n"), .until = 100};
}

static void a_claim_survives_its_text(void **state)
{
    struct arena arena;
    struct lease_claim made = {.after = 12,
                               .since = 1700000000,
                               .until = 1700000060,
                               .nonce = STR("0123456789abcdef"),
                               .holder = STR("me@laptop pid 4711 up=yes\n\x1b[1m")};
    (void)state;
    arena_init(&arena);
    struct str text = lease_claim_write(&made, &arena);
    assert_str(text, "shoal 1 after=12 since=1700000000 until=1700000060 nonce=0123456789abcdef "
                     "holder=me@laptop pid 4711 up=yes??[1m");
    struct lease_claim read = lease_claim_read(13, text, &arena);
    assert_true(read.is_readable);
    assert_int_equal(read.number, 13);
    assert_int_equal(read.after, 12);
    assert_int_equal(read.since, made.since);
    assert_int_equal(read.until, made.until);
    assert_str(read.nonce, "0123456789abcdef");
    assert_str(read.holder, "me@laptop pid 4711 up=yes??[1m");
    arena_clear(&arena);
}

/* A lease object that was created again continues the numbers of the old one. */
static void a_base_is_added_to_the_version(void **state)
{
    struct arena arena;
    struct lease_claim made = {
        .after = 0, .base = 41, .since = 5, .until = 95, .nonce = STR("n"), .holder = STR("me")};
    (void)state;
    arena_init(&arena);
    struct str text = lease_claim_write(&made, &arena);
    assert_str(text, "shoal 1 after=0 since=5 until=95 nonce=n base=41 holder=me");
    struct lease_claim read = lease_claim_read(1, text, &arena);
    assert_true(read.is_readable);
    assert_int_equal(read.number, 1);
    assert_int_equal(lease_claim_epoch(&read), 42);
    assert_int_equal(lease_tag_end(&read, STR("42 100")), 100);
    assert_int_equal(lease_tag_end(&read, STR("1 100")), 95); /* of the one before */
    assert_false(
        lease_claim_read(1, STR("shoal 1 after=0 since=5 until=95 nonce=n base=x holder=m"), &arena)
            .is_readable);
    arena_clear(&arena);
}

static void a_long_holder_is_cut(void **state)
{
    struct arena arena;
    char name[600];
    (void)state;
    arena_init(&arena);
    memset(name, 'x', sizeof(name));
    struct lease_claim made = {.nonce = STR("0123456789abcdef"), .holder = {name, sizeof(name)}};
    struct str text = lease_claim_write(&made, &arena);
    assert_int_equal(text.len, LEASE_CLAIM_MAX);
    assert_true(lease_claim_read(1, text, &arena).is_readable);
    arena_clear(&arena);
}

static void what_we_did_not_write_never_counts(void **state)
{
    static const char *const texts[] = {
        "",
        "a version by hand",
        "shoal 1",
        "shoal 1 ",
        "shoal 2 after=0 since=1 until=2 nonce=x holder=me",
        "shoal 1 after=-1 since=1 until=2 nonce=x holder=me",
        "shoal 1 after=1x since=1 until=2 nonce=x holder=me",
        "shoal 1 since=1 after=1 until=2 nonce=x holder=me",
        "shoal 1 after=1 since=1 until=2 nonce=x",
        "shoal 1 after=99999999999999999999 since=1 until=2 nonce=x holder=me",
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_false(lease_claim_read(1, str_from(texts[i]), &arena).is_readable);
    }
    struct lease_claim claims[] = {claim(1, 0), {.number = 2}, claim(3, 1)};
    assert_int_equal(lease_chain_walk(claims, 3, 1).last->number, 3);
    arena_clear(&arena);
}

static void the_first_of_two_with_the_same_sight_wins(void **state)
{
    struct lease_claim claims[] = {claim(5, 3), claim(1, 0), claim(3, 1), claim(2, 1), claim(4, 2)};
    (void)state;
    /* 2 and 3 both saw 1: 2 wins. 4 saw 2 and is valid. 5 saw 3, which lost. */
    struct lease_chain chain = lease_chain_walk(claims, ARRAY_LEN(claims), 1);
    assert_int_equal(chain.last->number, 4);
    assert_int_equal(chain.highest, 5);
    assert_true(chain.is_whole);
}

static void a_gap_is_told(void **state)
{
    struct lease_claim claims[] = {claim(7, 6), claim(9, 8)};
    (void)state;
    struct lease_chain chain = lease_chain_walk(claims, 2, 7);
    assert_false(chain.is_whole);
    assert_int_equal(chain.last->number, 7);
    assert_null(lease_chain_walk(claims, 0, 1).last);
    assert_false(lease_chain_walk(claims, 0, 1).is_whole);
    assert_false(lease_chain_walk(claims, 2, 8).is_whole);
    assert_null(lease_chain_walk(claims, 2, 8).last);
}

static void what_is_before_the_base_does_not_matter(void **state)
{
    struct lease_claim claims[] = {claim(3, 1), claim(4, 2), claim(5, 4), claim(6, 2)};
    (void)state;
    /* 1 and 2 are deleted; 3 had lost and still exists. */
    struct lease_chain chain = lease_chain_walk(claims, ARRAY_LEN(claims), 4);
    assert_true(chain.is_whole);
    assert_int_equal(chain.last->number, 5);
}

/* Many processes, each with a view of a different age: at every time all readers agree on one
 * holder, the holder's number only grows, and of those that acted on one view exactly one has
 * won. */
static void races_have_one_winner(void **state)
{
    enum { VERSIONS = 60, RUNS = 400 };
    struct lease_claim made[VERSIONS];
    struct lease_claim view[VERSIONS];
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct rng rng = {run};
        uint64_t before = 0;
        made[0] = claim(1, 0);
        for (size_t count = 1; count < VERSIONS; count++) {
            size_t seen = (size_t)rng_between(&rng, count > 6 ? (int64_t)count - 6 : 1,
                                              (int64_t)count);
            memcpy(view, made, sizeof(made));
            uint64_t after = lease_chain_walk(view, seen, 1).last->number;
            made[count] = claim(count + 1, after);
            memcpy(view, made, sizeof(made));
            uint64_t holder = lease_chain_walk(view, count + 1, 1).last->number;
            assert_true(holder >= before);
            before = holder;
        }
        int winners[VERSIONS + 1] = {0};
        for (size_t count = 1; count <= VERSIONS; count++) {
            memcpy(view, made, sizeof(made));
            const struct lease_claim *last = lease_chain_walk(view, count, 1).last;
            winners[last->after] += last->number == count; /* it is valid from its creation */
        }
        for (size_t i = 0; i <= VERSIONS; i++) {
            assert_true(winners[i] <= 1);
        }
    }
}

static void the_tag_of_the_same_epoch_prolongs(void **state)
{
    struct lease_claim held = claim(7, 6);
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_int_equal(lease_tag_end(&held, STR("")), 100);
    assert_int_equal(lease_tag_end(&held, lease_tag_write(7, 300, &arena)), 300);
    assert_int_equal(lease_tag_end(&held, lease_tag_write(6, 300, &arena)), 100);
    assert_int_equal(lease_tag_end(&held, STR("7 x")), 100);
    assert_false(lease_is_free(&held, STR(""), 100 + LEASE_GRACE_S));
    assert_true(lease_is_free(&held, STR(""), 101 + LEASE_GRACE_S));
    assert_true(lease_is_free(&held, STR("7 0"), 50));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_survives_its_text),
        cmocka_unit_test(a_base_is_added_to_the_version),
        cmocka_unit_test(a_long_holder_is_cut),
        cmocka_unit_test(what_we_did_not_write_never_counts),
        cmocka_unit_test(the_first_of_two_with_the_same_sight_wins),
        cmocka_unit_test(a_gap_is_told),
        cmocka_unit_test(what_is_before_the_base_does_not_matter),
        cmocka_unit_test(races_have_one_winner),
        cmocka_unit_test(the_tag_of_the_same_epoch_prolongs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
