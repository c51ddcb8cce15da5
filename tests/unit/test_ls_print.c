/* test_ls_print.c: the table at several widths, the sentences, and the object. */
#include "cli/ls/print.h"

#include "unit.h"

enum { NOW = 1794738600 }; /* 2026-11-15T10:30:00Z */

static struct account_machine machines[] = {
    {.owner = {{"us-west-2", 9}, {"demo", 4}, {"u1", 2}},
     .id = {"i-1", 3},
     .type = {"m5.large", 8},
     .zone = {"us-west-2a", 10},
     .launched_at = NOW - 7300,
     .state = MACHINE_RUNNING,
     .is_head = true},
    {.owner = {{"us-west-2", 9}, {"demo", 4}, {"u1", 2}},
     .id = {"i-2", 3},
     .type = {"x9.odd", 6},
     .zone = {"us-west-2a", 10},
     .launched_at = NOW - 60,
     .state = MACHINE_PENDING},
    {.owner = {{"eu-west-1", 9}, {"old-run", 7}, {"u2", 2}},
     .id = {"i-3", 3},
     .type = {"m5.large", 8},
     .zone = {"eu-west-1a", 10},
     .launched_at = NOW - 19 * 86400,
     .state = MACHINE_STOPPED,
     .is_head = true},
    {.owner = {{"eu-west-1", 9}, {"ray\x1b[2J", 7}, {"", 0}},
     .id = {"i-4", 3},
     .type = {"m5.large", 8},
     .zone = {"eu-west-1a", 10},
     .launched_at = ACCOUNT_NO_TIME,
     .state = MACHINE_RUNNING},
};
static struct account_volume volumes[] = {
    {.owner = {{"eu-west-1", 9}, {"", 0}, {"", 0}},
     .id = {"v-1", 3},
     .machine = {"i-3", 3},
     .kind = {"gp3", 3},
     .gb = 400,
     .is_by_size = true},
    {.owner = {{"us-west-2", 9}, {"", 0}, {"", 0}},
     .id = {"v-2", 3},
     .machine = {"i-1", 3},
     .kind = {"gp3", 3},
     .is_by_size = true},
    {.owner = {{"us-west-2", 9}, {"", 0}, {"", 0}},
     .id = {"v-4", 3},
     .machine = {"i-2", 3},
     .kind = {"gp3", 3},
     .is_by_size = true},
    {.owner = {{"eu-west-1", 9}, {"", 0}, {"", 0}},
     .id = {"v-3", 3},
     .machine = {"i-4", 3},
     .kind = {"gp3", 3},
     .is_by_size = true},
};
static struct account_thing things[] = {
    {{{"us-east-1", 9}, {"gone", 4}, {"u3", 2}},
     THING_GROUP,
     {"sg-1", 4},
     ACCOUNT_NO_TIME,
     ACCOUNT_NO_TIME},
    {{{"us-east-1", 9}, {"gone", 4}, {"u3", 2}},
     THING_GROUP,
     {"sg-2", 4},
     ACCOUNT_NO_TIME,
     ACCOUNT_NO_TIME},
    {{{"us-east-1", 9}, {"gone", 4}, {"u3", 2}},
     THING_KEY,
     {"k", 1},
     NOW - 40 * 86400,
     ACCOUNT_NO_TIME},
};

struct scene {
    struct arena arena;
    struct account account;
    struct ls_view view;
    struct buf out;
};

static void set_up(struct scene *scene)
{
    static const struct str regions[] = {{"eu-west-1", 9}, {"us-east-1", 9}, {"us-west-2", 9}};
    struct account_finds finds = {.machines = machines,
                                  .volumes = volumes,
                                  .things = things,
                                  .machine_count = ARRAY_LEN(machines),
                                  .volume_count = ARRAY_LEN(volumes),
                                  .thing_count = ARRAY_LEN(things),
                                  .sees_everywhere = true};
    struct account_cluster *clusters;
    struct price_query *queries;
    size_t count;
    *scene = (struct scene){
        .account = {.id = STR("123456789012"), .regions = regions, .region_count = 3}};
    arena_init(&scene->arena);
    buf_init(&scene->out, 65536);
    account_gather(&finds, &scene->arena, &clusters, &scene->account.cluster_count);
    scene->account.clusters = clusters;
    account_cost_queries(&scene->account, &scene->arena, &queries, &count);
    struct price_known *prices = ARENA_ARRAY(&scene->arena, count, struct price_known);
    for (size_t i = 0; i < count; i++) {
        prices[i] = (struct price_known){PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0};
        if (str_is(queries[i].name, "m5.large")) {
            prices[i] = (struct price_known){96000, PRICE_FROM_LIST, NOW};
        } else if (queries[i].kind == PRICE_VOLUME) {
            prices[i] = (struct price_known){80000, PRICE_FROM_LIST, NOW - 86400};
        }
    }
    scene->view = (struct ls_view){&scene->account, {queries, prices, count}, NOW};
}

static void tear_down(struct scene *scene)
{
    buf_clear(&scene->out);
    arena_clear(&scene->arena);
}

static void a_pipe_gets_one_line_each(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    ls_print_table(&scene.out, &scene.arena, &scene.view, 0, false);
    assert_str(buf_str(&scene.out),
               "CLUSTER  REGION     STATE     NODES  AGE    $/H  NOTE\n"
               "demo     us-west-2  up            2   2h  0.10+  1 starting, 1 price unknown\n"
               "old-run  eu-west-1  stopped       1  19d   0.04  "
               "1 volume, 400 GB: shoal down old-run --region eu-west-1\n"
               "ray?[2J  eu-west-1  partly        1    -   0.10  1 running, no head, by Ray\n"
               "gone     us-east-1  leftover      -  40d   0.00  "
               "2 security groups, 1 key pair: shoal gc\n");
    tear_down(&scene);
}

static void a_stopped_cluster_can_expire(void **state)
{
    struct scene scene;
    (void)state;
    machines[2].expires_at = NOW + 11 * 86400;
    set_up(&scene);
    ls_print_table(&scene.out, &scene.arena, &scene.view, 0, false);
    assert_true(str_find(buf_str(&scene.out), "1 volume, 400 GB, expires in 11d: shoal down") !=
                SIZE_MAX);
    scene.view.now += 14 * 86400;
    scene.out.len = 0;
    ls_print_table(&scene.out, &scene.arena, &scene.view, 0, false);
    assert_true(str_find(buf_str(&scene.out), "1 volume, 400 GB, expired 3d ago: shoal gc\n") !=
                SIZE_MAX);
    machines[2].expires_at = 0;
    tear_down(&scene);
}

static void a_terminal_gets_no_line_too_long(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    ls_print_table(&scene.out, &scene.arena, &scene.view, 80, false);
    assert_str(buf_str(&scene.out),
               "CLUSTER  REGION     STATE     NODES  AGE    $/H  NOTE\n"
               "demo     us-west-2  up            2   2h  0.10+  1 starting, 1 price unknown\n"
               "old-run  eu-west-1  stopped       1  19d   0.04\n"
               "    1 volume, 400 GB: shoal down old-run --region eu-west-1\n"
               "ray?[2J  eu-west-1  partly        1    -   0.10  1 running, no head, by Ray\n"
               "gone     us-east-1  leftover      -  40d   0.00\n"
               "    2 security groups, 1 key pair: shoal gc\n");
    tear_down(&scene);
}

static void projects_have_a_column(void **state)
{
    static const struct str project = {"my-project", 10};
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct account_cluster cluster = {
        .owner = {STR("us-west1"), STR("on-gce"), STR("u4"), project},
        .state = ACCOUNT_STOPPED,
        .since = NOW - 60,
        .machines = &(struct account_machine){.state = MACHINE_STOPPED, .is_unpriced = true},
        .volumes = &(struct account_volume){.gb = 50},
        .machine_count = 1,
        .volume_count = 1};
    struct account parts[] = {
        scene.account,
        {.projects = &project, .project_count = 1, .clusters = &cluster, .cluster_count = 1}};
    struct account all;
    account_join(parts, 2, &scene.arena, &all);
    all.cluster_count = 2;
    scene.view.account = &all;
    ls_print_table(&scene.out, &scene.arena, &scene.view, 0, false);
    assert_str(buf_str(&scene.out),
               "CLUSTER  ACCOUNT       REGION     STATE    NODES  AGE    $/H  NOTE\n"
               "demo     123456789012  us-west-2  up           2   2h  0.10+  "
               "1 starting, 1 price unknown\n"
               "old-run  123456789012  eu-west-1  stopped      1  19d   0.04  "
               "1 volume, 400 GB: shoal down old-run --region eu-west-1\n");
    all.clusters = &cluster;
    all.cluster_count = 1;
    scene.out.len = 0;
    ls_print_table(&scene.out, &scene.arena, &scene.view, 0, false);
    assert_str(buf_str(&scene.out),
               "CLUSTER  ACCOUNT     REGION    STATE    NODES  AGE  $/H  NOTE\n"
               "on-gce   my-project  us-west1  stopped      1  60s    ?  "
               "1 volume, 50 GB, 1 price unknown: "
               "shoal down on-gce --region us-west1 --project my-project\n");
    scene.out.len = 0;
    ls_print_summary(&scene.out, &scene.arena, &scene.view);
    assert_like(buf_str(&scene.out), "1 cluster in 3 regions of account 123456789012 and in "
                                     "project my-project: $? an hour.*\n");
    all.region_count = 0;
    scene.out.len = 0;
    ls_print_summary(&scene.out, &scene.arena, &scene.view);
    assert_like(buf_str(&scene.out), "1 cluster in project my-project: $? an hour.*\n");
    tear_down(&scene);
}

static void a_command_is_safe_to_copy(void **state)
{
    static const char *const rows[][2] = {
        {"old-run_1.2", "shoal down old-run_1.2 --region r"},
        {"a; rm -rf ~", "shoal down 'a; rm -rf ~' --region r"},
        {"it's", "shoal down 'it'\\''s' --region r"},
        {"--all", "shoal down '--all' --region r"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct account_cluster cluster = {.owner = {STR("r"), str_from(rows[i][0]), STR("u")},
                                          .state = ACCOUNT_STOPPED};
        assert_str(ls_remedy(&arena, &cluster, NOW), rows[i][1]);
        cluster.owner.uid = STR("");
        assert_str(ls_remedy(&arena, &cluster, NOW), "");
    }
    arena_clear(&arena);
}

static void colours_go_around_states(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    ls_print_table(&scene.out, &scene.arena, &scene.view, 80, true);
    assert_true(str_find(buf_str(&scene.out), "\033[32mup\033[0m      ") != SIZE_MAX);
    assert_true(str_find(buf_str(&scene.out), "\033[33mleftover\033[0m  ") != SIZE_MAX);
    tear_down(&scene);
}

static void the_summary_says_who_said_the_prices(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    ls_print_summary(&scene.out, &scene.arena, &scene.view);
    assert_str(buf_str(&scene.out),
               "3 clusters in 3 regions of account 123456789012: $0.24+ an hour. "
               "Prices: AWS's list of 2026-11-14.\n");
    scene.account.cluster_count = 0;
    scene.account.region_count = 1;
    scene.view.prices.count = 0;
    scene.out.len = 0;
    ls_print_summary(&scene.out, &scene.arena, &scene.view);
    assert_str(buf_str(&scene.out), "No clusters and no leftover resources in eu-west-1 of account "
                                    "123456789012.\n");
    tear_down(&scene);
}

static void less_than_a_cent_is_written_as_money(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct price_known *prices = ARENA_ARRAY(&scene.arena, scene.view.prices.count,
                                             struct price_known);
    for (size_t i = 0; i < scene.view.prices.count; i++) {
        prices[i] = (struct price_known){100, PRICE_FROM_LIST, NOW};
    }
    scene.view.prices.prices = prices;
    ls_print_summary(&scene.out, &scene.arena, &scene.view);
    assert_true(str_find(buf_str(&scene.out), ": <$0.01 an hour") != SIZE_MAX);
    tear_down(&scene);
}

static void gaps_are_told_by_reason(void **state)
{
    struct account_gap gaps[] = {
        {STR("eu-west-1"), STR("instances"), STR("UnauthorizedOperation"), {ERR_AUTH, "no, you"}},
        {STR("eu-west-1"), STR("volumes"), STR("UnauthorizedOperation"), {ERR_AUTH, "no"}},
        {STR("us-east-1"), STR("instances"), STR(""), {ERR_TIMEOUT, "no answer"}},
        {STR("eu-west-3"), STR("instances"), STR("UnauthorizedOperation"), {ERR_AUTH, "no"}},
        {STR(""), STR("roles"), STR("AccessDenied"), {ERR_AUTH, "not\nyou"}},
        {STR("us-west1-a"), STR("disks"), STR(""), {ERR_TIMEOUT, "no answer"}, STR("p")},
        {STR(""), STR("Google Cloud"), STR(""), {ERR_AUTH, "no"}, STR("q")},
        {STR(""), STR("AWS"), STR(""), {ERR_AUTH, "expired"}},
    };
    struct account account = {.gaps = gaps, .gap_count = ARRAY_LEN(gaps)};
    struct arena arena;
    AUTO_BUF struct buf out;
    (void)state;
    arena_init(&arena);
    buf_init(&out, 65536);
    ls_print_gaps(&out, &arena, &account);
    assert_str(buf_str(&out), "not listed: instances, volumes in eu-west-1, eu-west-3 (no, you)\n"
                              "not listed: instances in us-east-1 (no answer)\n"
                              "not listed: roles in the account (not?you)\n"
                              "not listed: disks in us-west1-a (no answer)\n"
                              "not listed: Google Cloud in project q (no)\n"
                              "not listed: AWS (expired)\n");
    out.len = 0;
    account = (struct account){.skipped = &gaps[6], .skipped_count = 2};
    ls_print_skipped(&out, &account);
    assert_str(buf_str(&out), "Google Cloud project q is not listed: no\n"
                              "AWS is not listed: expired\n");
    arena_clear(&arena);
}

static void the_object_has_it_all(void **state)
{
    static const char *const parts[] = {
        "\"account\": \"123456789012\"",
        "\"at\": \"2026-11-15T10:30:00.000Z\"",
        "\"complete\": true",
        "\"dollars_are_complete\": false",
        "\"made_by\": \"ray\"",
        "\"remedy\": \"shoal gc\"",
        "\"price_from\": \"price-list\"",
        "\"dollars_per_hour\": 0.043836",
        "\"kind\": \"key pair\"",
    };
    struct scene scene;
    struct err err = {0};
    (void)state;
    set_up(&scene);
    assert_true(ls_print_json(&scene.out, &scene.arena, &scene.view, &err));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_find(buf_str(&scene.out), parts[i]) == SIZE_MAX) {
            unit_fail(buf_str(&scene.out), parts[i], __FILE__, __LINE__);
        }
    }
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_one_line_each),
        cmocka_unit_test(a_stopped_cluster_can_expire),
        cmocka_unit_test(a_terminal_gets_no_line_too_long),
        cmocka_unit_test(projects_have_a_column),
        cmocka_unit_test(a_command_is_safe_to_copy),
        cmocka_unit_test(colours_go_around_states),
        cmocka_unit_test(the_summary_says_who_said_the_prices),
        cmocka_unit_test(less_than_a_cent_is_written_as_money),
        cmocka_unit_test(gaps_are_told_by_reason),
        cmocka_unit_test(the_object_has_it_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
