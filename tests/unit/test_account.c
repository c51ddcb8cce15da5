/* test_account.c: which found resources form a cluster, and its state. */
#include "provider/account.h"

#include "base/buf.h"
#include "unit.h"

#define OWNER(region, name, uid)                                \
    {                                                           \
        {region, sizeof(region) - 1}, {name, sizeof(name) - 1}, \
        {                                                       \
            uid, sizeof(uid) - 1                                \
        }                                                       \
    }

static struct account_machine machine(const char *id, const char *cluster, const char *uid,
                                      enum machine_state state, bool is_head)
{
    return (struct account_machine){
        .owner = {STR("us-west-2"), str_from(cluster), str_from(uid)},
        .id = str_from(id),
        .type = STR("m5.large"),
        .zone = STR("us-west-2a"),
        .launched_at = 1000,
        .state = state,
        .is_head = is_head,
    };
}

/* "name/region/uid state machines volumes things", a line each. */
static void describe(const struct account_finds *finds, struct arena *arena, struct buf *out)
{
    struct account_cluster *clusters;
    size_t count;
    account_gather(finds, arena, &clusters, &count);
    for (size_t i = 0; i < count; i++) {
        const struct account_cluster *c = &clusters[i];
        buf_addf(out, "%.*s/%.*s/%.*s %s %zu %zu %zu\n", STR_ARG(c->owner.name),
                 STR_ARG(c->owner.region), STR_ARG(c->owner.uid), account_state_name(c->state),
                 c->machine_count, c->volume_count, c->thing_count);
    }
}

static void everything_finds_its_cluster(void **state)
{
    struct account_machine machines[] = {
        machine("i-1", "demo", "u1", MACHINE_RUNNING, true),
        machine("i-2", "demo", "", MACHINE_RUNNING, true), /* Ray's cluster of that name */
        machine("i-3", "", "u1", MACHINE_RUNNING, false),
        machine("i-4", "old", "u2", MACHINE_GONE, true),
        machine("i-5", "", "", MACHINE_RUNNING, false), /* belongs to no cluster */
    };
    struct account_volume volumes[] = {
        {.owner = OWNER("us-west-2", "", ""), .id = STR("v1"), .machine = STR("i-1"), .gb = 8},
        {.owner = OWNER("us-west-2", "", ""), .id = STR("v2"), .machine = STR("i-2"), .gb = 8},
        {.owner = OWNER("us-west-2", "", ""), .id = STR("v3"), .machine = STR("i-9"), .gb = 8},
        {.owner = OWNER("us-west-2", "lost", "u3"), .id = STR("v4"), .gb = 8, .made_at = 50},
    };
    struct account_thing things[] = {
        {OWNER("", "", "u1"), THING_ROLE, STR("shoal-demo"), 10, ACCOUNT_NO_TIME},
        {OWNER("us-west-2", "demo", "u1"), THING_GROUP, STR("sg-1"), ACCOUNT_NO_TIME,
         ACCOUNT_NO_TIME},
        {OWNER("us-west-2", "demo", ""), THING_GROUP, STR("sg-2"), ACCOUNT_NO_TIME,
         ACCOUNT_NO_TIME},
        {OWNER("us-east-1", "demo", "u1"), THING_KEY, STR("k"), 20, ACCOUNT_NO_TIME},
        {OWNER("", "", "u4"), THING_ROLE, STR("shoal-gone"), 30, ACCOUNT_NO_TIME},
        {OWNER("us-west-2", "old", "u2"), THING_TEMPLATE, STR("lt-1"), 40, ACCOUNT_NO_TIME},
    };
    struct account_finds finds = {.machines = machines,
                                  .volumes = volumes,
                                  .things = things,
                                  .machine_count = ARRAY_LEN(machines),
                                  .volume_count = ARRAY_LEN(volumes),
                                  .thing_count = ARRAY_LEN(things),
                                  .sees_everywhere = true,
                                  .now = 100000};
    struct arena arena;
    AUTO_BUF struct buf out;
    (void)state;
    arena_init(&arena);
    buf_init(&out, 4096);
    describe(&finds, &arena, &out);
    assert_str(buf_str(&out), "demo/us-west-2/ up 1 1 1\n"
                              "demo/us-west-2/u1 up 2 1 2\n"
                              "//u4 leftover 0 0 1\n"
                              "demo/us-east-1/u1 leftover 0 0 1\n"
                              "lost/us-west-2/u3 leftover 0 1 0\n"
                              "old/us-west-2/u2 leftover 0 0 1\n");
    arena_clear(&arena);
}

static void what_was_not_looked_at_is_not_left_over(void **state)
{
    struct str blind = STR("us-west-2");
    struct account_volume volume = {.owner = OWNER("us-west-2", "a", "u3"), .id = STR("v4")};
    struct account_thing things[] = {
        {OWNER("", "", "u1"), THING_ROLE, STR("shoal-demo"), 10, ACCOUNT_NO_TIME},
        {OWNER("us-west-2", "demo", "u1"), THING_GROUP, STR("sg-1"), 10, ACCOUNT_NO_TIME},
        {OWNER("us-east-1", "other", "u2"), THING_KEY, STR("k"), 20, ACCOUNT_NO_TIME},
        {OWNER("", "", "u2"), THING_ROLE, STR("shoal-other"), 10, ACCOUNT_NO_TIME},
    };
    struct account_finds finds = {.volumes = &volume,
                                  .things = things,
                                  .volume_count = 1,
                                  .thing_count = ARRAY_LEN(things),
                                  .blind_regions = &blind,
                                  .blind_count = 1,
                                  .sees_everywhere = true};
    struct arena arena;
    AUTO_BUF struct buf out;
    (void)state;
    arena_init(&arena);
    buf_init(&out, 4096);
    describe(&finds, &arena, &out);
    assert_str(buf_str(&out), "other/us-east-1/u2 leftover 0 0 2\n");
    /* some regions were not asked: the role may be in use there */
    out.len = 0;
    finds.blind_count = 0;
    finds.sees_everywhere = false;
    describe(&finds, &arena, &out);
    assert_str(buf_str(&out), "a/us-west-2/u3 leftover 0 1 0\n"
                              "demo/us-west-2/u1 leftover 0 0 2\n"
                              "other/us-east-1/u2 leftover 0 0 2\n");
    finds.things = &things[3];
    finds.thing_count = 1;
    finds.volume_count = 0;
    out.len = 0;
    describe(&finds, &arena, &out);
    assert_str(buf_str(&out), "");
    arena_clear(&arena);
}

struct row {
    const char *machines; /* a letter each, see machine_of(); upper case: the head */
    enum account_state state;
    bool has_head;
};

static struct account_machine machine_of(char letter)
{
    static const char letters[] = "prstegf";
    static const enum machine_state states[] = {MACHINE_PENDING, MACHINE_RUNNING, MACHINE_STOPPING,
                                                MACHINE_STOPPED, MACHINE_ENDING,  MACHINE_GONE,
                                                MACHINE_RUNNING};
    bool is_head = letter < 'a';
    char lower = is_head ? (char)(letter - 'A' + 'a') : letter;
    size_t index = str_find_char(str_from(letters), lower);
    struct account_machine made = machine("i", "c", "u", states[index], is_head);
    made.has_failed = lower == 'f';
    return made;
}

static void states_follow_from_machines(void **state)
{
    static const struct row rows[] = {
        {"R", ACCOUNT_UP, true},         {"Rrrp", ACCOUNT_UP, true},
        {"Re", ACCOUNT_UP, true},        {"P", ACCOUNT_STARTING, true},
        {"Prp", ACCOUNT_STARTING, true}, {"p", ACCOUNT_STARTING, false},
        {"r", ACCOUNT_PARTLY, false},    {"rp", ACCOUNT_PARTLY, false},
        {"Rt", ACCOUNT_PARTLY, true},    {"Tr", ACCOUNT_PARTLY, true},
        {"Tp", ACCOUNT_PARTLY, true},    {"Tts", ACCOUNT_STOPPED, true},
        {"t", ACCOUNT_STOPPED, false},   {"Te", ACCOUNT_STOPPED, true},
        {"Ee", ACCOUNT_ENDING, false},   {"Er", ACCOUNT_PARTLY, false},
        {"F", ACCOUNT_FAILED, true},     {"Frt", ACCOUNT_FAILED, true},
        {"Rf", ACCOUNT_UP, true}, /* a worker says nothing about the cluster */
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct account_machine machines[8];
        struct account_finds finds = {.machines = machines};
        struct account_cluster *clusters;
        size_t count;
        for (const char *p = rows[i].machines; *p; p++) {
            machines[finds.machine_count++] = machine_of(*p);
        }
        account_gather(&finds, &arena, &clusters, &count);
        assert_int_equal(count, 1);
        assert_str(str_from(account_state_name(clusters[0].state)),
                   account_state_name(rows[i].state));
        assert_int_equal(clusters[0].has_head, rows[i].has_head);
    }
    arena_clear(&arena);
}

/* 0: no valid tag. */
static void the_head_says_when_a_stopped_cluster_expires(void **state)
{
    enum { NOW = 1000 };
    static const struct {
        const char *machines;
        int64_t expires_at[3];
        int64_t expected;
        bool is_expired;
    } rows[] = {
        {"T", {NOW}, NOW, true},
        {"T", {NOW + 1}, NOW + 1, false},
        {"T", {0}, 0, false},
        {"Tt", {5, 0}, 5, true},  /* a worker that was stopped while idle */
        {"tt", {5, 5}, 0, false}, /* no head */
        {"TT", {5, 7}, 7, true},
        {"TT", {7, 5}, 7, true},
        {"TT", {5, 0}, 0, false},
        {"TT", {0, 5}, 0, false},
        {"Ts", {5, 5}, 5, false}, /* still stopping */
        {"Tr", {5, 5}, 5, false},
        {"R", {5}, 5, false},
        {"TTT", {5, 0, 7}, 0, false},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct account_machine machines[3];
        struct account_finds finds = {.machines = machines};
        struct account_cluster *clusters;
        size_t count;
        for (const char *p = rows[i].machines; *p; p++) {
            machines[finds.machine_count] = machine_of(*p);
            machines[finds.machine_count].expires_at = rows[i].expires_at[finds.machine_count];
            finds.machine_count++;
        }
        account_gather(&finds, &arena, &clusters, &count);
        assert_int_equal(clusters[0].expires_at, rows[i].expected);
        assert_int_equal(account_is_expired(&clusters[0], NOW), rows[i].is_expired);
        clusters[0].owner.uid = STR(""); /* launched by Ray */
        assert_false(account_is_expired(&clusters[0], NOW));
    }
    arena_clear(&arena);
}

static void what_is_being_made_is_not_left_over(void **state)
{
    static const struct {
        enum account_thing_kind kind;
        int64_t made_at, held_until;
        enum account_state state;
    } rows[] = {
        {THING_TEMPLATE, 9500, ACCOUNT_NO_TIME, ACCOUNT_STARTING},
        {THING_TEMPLATE, 9300, ACCOUNT_NO_TIME, ACCOUNT_LEFTOVER},
        {THING_TEMPLATE, ACCOUNT_NO_TIME, ACCOUNT_NO_TIME, ACCOUNT_LEFTOVER},
        {THING_TEMPLATE, 10, 10001, ACCOUNT_STARTING},
        {THING_TEMPLATE, 9999, 0, ACCOUNT_LEFTOVER}, /* released */
        {THING_KEY, 9999, ACCOUNT_NO_TIME, ACCOUNT_LEFTOVER},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct account_thing thing = {OWNER("r", "a", "u"), rows[i].kind, STR("x"), rows[i].made_at,
                                      rows[i].held_until};
        struct account_finds finds = {.things = &thing, .thing_count = 1, .now = 10000};
        struct account_cluster *clusters;
        size_t count;
        account_gather(&finds, &arena, &clusters, &count);
        assert_int_equal(count, 1);
        assert_int_equal(clusters[0].state, rows[i].state);
    }
    arena_clear(&arena);
}

static void the_oldest_counts(void **state)
{
    struct account_machine machines[] = {machine("i-1", "a", "u", MACHINE_RUNNING, true),
                                         machine("i-2", "a", "u", MACHINE_RUNNING, false),
                                         machine("i-3", "a", "u", MACHINE_RUNNING, false)};
    struct account_thing thing = {OWNER("us-west-2", "a", "u"), THING_KEY, STR("k"), 5,
                                  ACCOUNT_NO_TIME};
    struct account_finds finds = {.machines = machines, .machine_count = 3};
    struct arena arena;
    struct account_cluster *clusters;
    size_t count;
    (void)state;
    arena_init(&arena);
    machines[0].launched_at = ACCOUNT_NO_TIME;
    machines[2].launched_at = 900;
    finds.things = &thing;
    finds.thing_count = 1;
    account_gather(&finds, &arena, &clusters, &count);
    assert_int_equal(clusters[0].since, 900); /* a key is not a machine */
    finds.machine_count = 0;
    account_gather(&finds, &arena, &clusters, &count);
    assert_int_equal(clusters[0].since, 5);
    finds.thing_count = 0;
    account_gather(&finds, &arena, &clusters, &count);
    assert_int_equal(count, 0);
    arena_clear(&arena);
}

/* Also a disk that its user has attached to another instance is in use. */
static void an_attached_volume_is_not_left_over(void **state)
{
    struct account_volume volumes[] = {
        {.owner = OWNER("us-west-2", "a", "u1"), .id = STR("v1"), .machine = STR("mine")},
        {.owner = OWNER("us-west-2", "a", "u1"), .id = STR("v2")},
    };
    struct account_finds finds = {.volumes = volumes, .volume_count = 2, .sees_everywhere = true};
    struct arena arena;
    AUTO_BUF struct buf out;
    (void)state;
    arena_init(&arena);
    buf_init(&out, 4096);
    describe(&finds, &arena, &out);
    assert_str(buf_str(&out), "a/us-west-2/u1 leftover 0 1 0\n");
    arena_clear(&arena);
}

static void accounts_are_joined(void **state)
{
    struct str region = STR("us-west-2");
    struct str project = STR("p");
    struct account_gap gap = {.what = STR("disks"), .project = STR("p")};
    struct account_cluster aws[] = {
        {.owner = OWNER("us-west-2", "b", "u1")},
        {.owner = OWNER("us-west-2", "x", "u2"), .state = ACCOUNT_LEFTOVER}};
    struct account_cluster google[] = {{.owner = OWNER("us-west1", "a", "u3")},
                                       {.owner = OWNER("us-west1", "b", "u4")}};
    struct account parts[] = {{.id = STR("1"),
                               .regions = &region,
                               .region_count = 1,
                               .clusters = aws,
                               .cluster_count = 2,
                               .now = 5},
                              {.gaps = &gap, .gap_count = 1},
                              {.skipped = &gap, .skipped_count = 1},
                              {.projects = &project,
                               .project_count = 1,
                               .clusters = google,
                               .cluster_count = 2,
                               .now = 6}};
    struct account all;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    account_join(parts, ARRAY_LEN(parts), &arena, &all);
    assert_str(all.id, "1");
    assert_str(all.regions[0], "us-west-2");
    assert_str(all.projects[0], "p");
    assert_int_equal(all.region_count + all.project_count + all.gap_count + all.skipped_count, 4);
    assert_int_equal(all.now, 6);
    assert_int_equal(all.cluster_count, 4);
    assert_str(all.clusters[0].owner.name, "a");
    assert_str(all.clusters[1].owner.region, "us-west-2");
    assert_str(all.clusters[2].owner.region, "us-west1");
    assert_str(all.clusters[3].owner.name, "x");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_finds_its_cluster),
        cmocka_unit_test(what_was_not_looked_at_is_not_left_over),
        cmocka_unit_test(states_follow_from_machines),
        cmocka_unit_test(the_head_says_when_a_stopped_cluster_expires),
        cmocka_unit_test(what_is_being_made_is_not_left_over),
        cmocka_unit_test(the_oldest_counts),
        cmocka_unit_test(an_attached_volume_is_not_left_over),
        cmocka_unit_test(accounts_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
