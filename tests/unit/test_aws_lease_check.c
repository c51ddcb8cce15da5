/* test_aws_lease_check.c: which process gets the lease on AWS, for which cluster, and what is
 * not sent without it. */
#include "lease_cloud.h"

#define UID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define INSTANCE(id, state, uid)                                                          \
    "<item><instanceId>" id "</instanceId><instanceState><name>" state                    \
    "</name></instanceState><tagSet><item><key>ray-cluster-name</key><value>demo</value>" \
    "</item><item><key>shoal-cluster-uid</key><value>" uid "</value></item></tagSet></item>"

enum { LEASE_MS = 90 * 1000 };

/* A process with its own client and clock. */
struct taker {
    struct scene scene;
    struct provider *provider;
    enum outcome outcome;
    struct err err;
    char uid[40], holder[100], lease_object[40];
    uint64_t epoch;
    size_t machines;
    bool is_done;
};

static const struct provider_cluster demo = {.name = {"demo", 4}};

static void open_taker(struct taker *taker, struct lease_cloud *cloud, int64_t wall_shift_ms)
{
    struct err err;
    memset(taker, 0, sizeof(*taker));
    scene_open(&taker->scene, lease_answer, cloud);
    taker->scene.wall_shift_ms = wall_shift_ms;
    scene_start_with_keys(&taker->scene);
    cloud->scene = &taker->scene;
    const struct aws_client_setup setup = {.loop = taker->scene.loop,
                                           .http = taker->scene.http,
                                           .log = &taker->scene.log,
                                           .environ = taker->scene.environ,
                                           .seed = 1};
    assert_true(aws_provider_open(taker->scene.client, &setup, &demo, &taker->provider, &err));
}

static void close_taker(struct taker *taker)
{
    taker->provider->ops->close(taker->provider);
    taker->scene.client = NULL;
    scene_close(&taker->scene);
}

static void hear(struct taker *taker, const struct provider_answer *answer)
{
    taker->outcome = answer->outcome;
    taker->err = answer->err;
    taker->is_done = true;
}

static void on_lease(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct taker *taker = context;
    hear(taker, answer);
    taker->uid[0] = taker->holder[0] = taker->lease_object[0] = '\0';
    taker->epoch = lease ? lease->epoch : 0;
    if (lease) {
        snprintf(taker->uid, sizeof(taker->uid), "%.*s", STR_ARG(lease->uid));
        snprintf(taker->holder, sizeof(taker->holder), "%.*s", STR_ARG(lease->holder));
        snprintf(taker->lease_object, sizeof(taker->lease_object), "%.*s",
                 STR_ARG(lease->lease_object));
    }
}

static void on_machines(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct taker *taker = context;
    (void)machines;
    hear(taker, answer);
    taker->machines = count;
}

static void on_done(void *context, const struct provider_answer *answer)
{
    hear(context, answer);
}

static void run(struct taker *taker)
{
    taker->is_done = false;
    loop_run(taker->scene.loop);
    assert_true(taker->is_done);
}

static void take(struct taker *taker, const struct take_request *request)
{
    taker->provider->ops->take(taker->provider, request, on_lease, taker);
    run(taker);
}

static void take_freely(struct taker *taker, const char *holder)
{
    take(taker, &(struct take_request){
                    .holder = str_from(holder), .lease_ms = LEASE_MS, .may_create = true});
}

static void renew(struct taker *taker)
{
    taker->provider->ops->renew(taker->provider, LEASE_MS, on_lease, taker);
    run(taker);
}

static void launch(struct taker *taker)
{
    taker->provider->ops->launch(taker->provider,
                                 STR("Action=RunInstances&Version=2016-11-15&ClientToken=t"),
                                 on_machines, taker);
    run(taker);
}

static bool asked(const struct lease_cloud *cloud, const char *action)
{
    char word[100];
    snprintf(word, sizeof(word), "%s ", action);
    return strstr(cloud->log, word) != NULL;
}

/* ---- which cluster a name means ---- */

static void a_new_cluster_gets_a_new_uid(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take(&me, &(struct take_request){
                  .holder = STR("me"), .lease_ms = LEASE_MS, .may_create = true, .is_new = true});
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_int_equal(me.epoch, 1);
    assert_int_equal(strlen(me.uid), 32);
    assert_string_equal(me.uid, cloud.uid);
    assert_string_equal(me.lease_object, "lt-1");
    assert_string_equal(cloud.log, "DescribeInstances CreateLaunchTemplate ");
    close_taker(&me);
}

static void without_leave_none_is_created(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take(&me, &(struct take_request){.holder = STR("me"), .lease_ms = LEASE_MS});
    assert_int_equal(me.outcome, OUTCOME_NOT_FOUND);
    assert_string_equal(me.uid, "");
    take(&me, &(struct take_request){
                  .holder = STR("me"), .lease_ms = LEASE_MS, .known_uid = STR(UID_A)});
    assert_int_equal(me.outcome, OUTCOME_NOT_FOUND);
    assert_string_equal(me.uid, UID_A);
    cloud.instances = INSTANCE("i-1", "stopped", UID_B);
    take(&me, &(struct take_request){.holder = STR("me"), .lease_ms = LEASE_MS});
    assert_int_equal(me.outcome, OUTCOME_NOT_FOUND);
    assert_string_equal(me.uid, UID_B);
    assert_int_equal(me.epoch, 0);
    assert_false(asked(&cloud, "CreateLaunchTemplate"));
    close_taker(&me);
}

/* The launch template was deleted as unused: the cluster stays the same. */
static void a_lost_lease_object_is_created_with_the_known_uid(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take(&me, &(struct take_request){.holder = STR("me"),
                                     .lease_ms = LEASE_MS,
                                     .may_create = true,
                                     .known_uid = STR(UID_A),
                                     .known_epoch = 7});
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_string_equal(me.uid, UID_A);
    assert_string_equal(cloud.uid, UID_A);
    assert_true(me.epoch > 1000000);          /* above every epoch that any process may have had */
    assert_string_equal(me.lease_object, ""); /* the receiver must look it up */
    uint64_t first = me.epoch;
    renew(&me);
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_int_equal(me.epoch, first);
    take(&me, &(struct take_request){
                  .holder = STR("you"), .lease_ms = LEASE_MS, .from = first, .may_create = true});
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_int_equal(me.epoch, first + 1);
    take(&me, &(struct take_request){.holder = STR("she"), .lease_ms = LEASE_MS, .from = 2});
    assert_int_equal(me.outcome, OUTCOME_MISMATCH); /* 2 is the version, not the epoch */
    assert_int_equal(me.epoch, first + 1);
    close_taker(&me);
}

/* From a machine without a journal: the instances say which cluster it is. */
static void live_instances_keep_their_uid(void **state)
{
    struct lease_cloud cloud = {.uid = "",
                                .instances = INSTANCE("i-1", "terminated", UID_B) INSTANCE(
                                    "i-2", "running", UID_A) INSTANCE("i-3", "pending", UID_A)};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_string_equal(me.uid, UID_A);
    assert_string_equal(cloud.uid, UID_A);
    assert_true(me.epoch > 1000000);
    close_taker(&me);
}

static void two_clusters_of_a_name_are_refused(void **state)
{
    struct lease_cloud cloud = {.uid = "",
                                .instances = INSTANCE("i-1", "running", UID_B)
                                    INSTANCE("i-2", "running", UID_A)};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    assert_int_equal(me.outcome, OUTCOME_INVALID);
    assert_like(str_from(me.err.text), "*2 clusters*" UID_B "*" UID_A "*Terminate*");
    assert_false(asked(&cloud, "CreateLaunchTemplate"));
    close_taker(&me);
}

/* The lease object belongs to another cluster, and the cluster of the journal still has
 * instances. */
static void the_known_cluster_is_not_given_up_while_it_lives(void **state)
{
    struct lease_cloud cloud = {.uid = UID_B,
                                .instances = INSTANCE("i-1", "running", UID_A),
                                .versions = {"shoal 1 after=0 since=1 until=2 nonce=x holder=you"},
                                .version_count = 1};
    struct taker me;
    struct take_request request = {
        .holder = STR("me"), .lease_ms = LEASE_MS, .may_create = true, .known_uid = STR(UID_A)};
    (void)state;
    open_taker(&me, &cloud, 0);
    take(&me, &request);
    assert_int_equal(me.outcome, OUTCOME_INVALID);
    assert_like(str_from(me.err.text), "two clusters are called demo*" UID_A "*" UID_B "*");
    assert_false(asked(&cloud, "CreateLaunchTemplateVersion"));
    cloud.instances = INSTANCE("i-1", "terminated", UID_A);
    take(&me, &request);
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_string_equal(me.uid, UID_B);
    close_taker(&me);
}

static void who_may_not_create_is_told_what_to_do(void **state)
{
    struct lease_cloud cloud = {.uid = "", .denied = "CreateLaunchTemplate"};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    assert_int_equal(me.outcome, OUTCOME_DENIED);
    assert_like(str_from(me.err.text), "the lease object (launch template shoal-anchor-demo) does "
                                       "not exist*run `shoal up`*");
    close_taker(&me);
}

/* ---- time ---- */

/* AWS accepts requests whose clock is off by up to five minutes, so such a process gets answers. */
static void a_fast_clock_does_not_take_a_live_lease(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker holder;
    struct taker fast;
    (void)state;
    open_taker(&holder, &cloud, 0);
    take_freely(&holder, "holder");
    open_taker(&fast, &cloud, 150 * 1000);
    take_freely(&fast, "fast");
    assert_int_equal(fast.outcome, OUTCOME_MISMATCH);
    assert_string_equal(fast.holder, "holder");
    assert_int_equal(cloud.version_count, 1);
    renew(&holder);
    assert_int_equal(holder.outcome, OUTCOME_DONE);
    close_taker(&fast);
    close_taker(&holder);
}

/* A process whose clock is slow also writes the right end into its claim. */
static void a_slow_clock_holds_a_lease_as_long_as_others(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker slow;
    struct taker other;
    (void)state;
    open_taker(&slow, &cloud, -200 * 1000);
    take_freely(&slow, "slow");
    open_taker(&other, &cloud, 0);
    take_freely(&other, "other");
    assert_int_equal(other.outcome, OUTCOME_MISMATCH);
    assert_string_equal(other.holder, "slow");
    close_taker(&other);
    close_taker(&slow);
}

static void a_lease_is_free_after_its_end_and_a_grace(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker one;
    struct taker two;
    (void)state;
    open_taker(&one, &cloud, 0);
    take_freely(&one, "one");
    open_taker(&two, &cloud, 0);
    cloud.clock_shift_ms = LEASE_MS + 5000;
    two.scene.monotonic_shift_ms = LEASE_MS + 5000;
    take_freely(&two, "two");
    assert_int_equal(two.outcome, OUTCOME_MISMATCH);
    cloud.clock_shift_ms = two.scene.monotonic_shift_ms = LEASE_MS + 15000;
    take_freely(&two, "two");
    assert_int_equal(two.outcome, OUTCOME_DONE);
    assert_int_equal(two.epoch, 2);
    close_taker(&two);
    close_taker(&one);
}

static void renew_late(const char *late_action, int late_skips)
{
    struct lease_cloud cloud = {.uid = "", .late_ms = LEASE_MS + 1000, .late_skips = late_skips};
    struct taker me;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.late_action = late_action;
    renew(&me);
    assert_null(cloud.late_action);
    assert_int_equal(me.outcome, OUTCOME_MISMATCH);
    assert_int_equal(me.epoch, 0);
    assert_like(str_from(me.err.text), "the lease expired before it*");
    close_taker(&me);
}

/* The laptop is suspended while it renews: another process may have taken the lease since. */
static void a_renewal_that_comes_too_late_does_not_count(void **state)
{
    (void)state;
    renew_late("DescribeLaunchTemplateVersions", 0);
    renew_late("CreateTags", 0);
    renew_late("DescribeLaunchTemplateVersions", 1); /* its last call */
}

/* Also if AWS's clock cannot show it. */
static void a_renewal_after_a_sleep_is_not_even_tried(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.log[0] = '\0';
    me.scene.monotonic_shift_ms = 2 * LEASE_MS;
    renew(&me);
    assert_int_equal(me.outcome, OUTCOME_MISMATCH);
    assert_string_equal(cloud.log, "");
    close_taker(&me);
}

/* ---- two at once ---- */

static void of_two_claims_on_the_same_sight_one_counts(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.rival = "shoal 1 after=1 since=1 until=99999999999 nonce=x holder=rival";
    take(&me, &(struct take_request){
                  .holder = STR("me"), .lease_ms = LEASE_MS, .from = 1, .may_create = true});
    assert_int_equal(me.outcome, OUTCOME_MISMATCH);
    assert_string_equal(me.holder, "rival");
    assert_int_equal(me.epoch, 2);
    close_taker(&me);
}

/* ---- nothing is created without the lease ---- */

static void nothing_is_created_without_a_lease(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    struct str id = STR("i-1");
    (void)state;
    open_taker(&me, &cloud, 0);
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    take_freely(&me, "me");
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_int_equal(me.machines, 1);
    me.provider->ops->release(me.provider, on_done, &me);
    run(&me);
    cloud.log[0] = '\0';
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    cloud.instances = INSTANCE("i-1", "stopped", "x");
    me.provider->ops->start(me.provider, &id, 1, on_done, &me);
    run(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    assert_false(asked(&cloud, "RunInstances") || asked(&cloud, "StartInstances"));
    me.provider->ops->terminate(me.provider, &id, 1, on_done, &me);
    run(&me);
    assert_int_equal(me.outcome, OUTCOME_DONE); /* terminating calls need no lease */
    close_taker(&me);
}

/* Suspends the machine while a call waits for its connection. */
struct sleeper {
    struct taker *taker;
    struct loop_task task;
    uint64_t tries;
};

static void sleep_when_sent(void *context)
{
    struct sleeper *sleeper = context;
    struct scene *scene = &sleeper->taker->scene;
    if (aws_client_counts(scene->client).tries > sleeper->tries) {
        scene->monotonic_shift_ms = 2 * LEASE_MS;
    } else {
        loop_defer(scene->loop, &sleeper->task);
    }
}

/* The lease was checked, the machine was suspended, and only then the connection was made. */
static void nothing_is_created_after_a_sleep_while_connecting(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    struct sleeper sleeper = {.taker = &me, .task = {.run = sleep_when_sent, .context = &sleeper}};
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.log[0] = '\0';
    sleeper.tries = aws_client_counts(me.scene.client).tries;
    loop_defer(me.scene.loop, &sleeper.task);
    launch(&me);
    assert_int_equal(aws_client_counts(me.scene.client).tries, sleeper.tries + 1);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    assert_string_equal(cloud.log, "");
    close_taker(&me);
}

/* A laptop wakes up: by its own clock the lease has ended, whatever AWS's clock says. */
static void nothing_is_created_after_a_sleep(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.log[0] = '\0';
    me.scene.monotonic_shift_ms = LEASE_MS - 2000; /* within the margin */
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    assert_string_equal(cloud.log, "");
    close_taker(&me);
}

/* AWS's clock says that the lease has ended, although ours does not: our clock is too slow. */
static void nothing_is_created_when_it_ended_by_the_servers_clock(void **state)
{
    struct lease_cloud cloud = {.uid = ""};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    cloud.clock_shift_ms = LEASE_MS;
    me.provider->ops->list(me.provider, on_machines, &me); /* any reply has a Date */
    run(&me);
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    assert_false(asked(&cloud, "RunInstances"));
    close_taker(&me);
}

/* A launch that was sent in time and answered after the end of the lease: the next holder sees
 * these instances in its listing and may already use them, so they are not terminated here. */
static void what_is_answered_after_the_end_is_left_to_the_next_holder(void **state)
{
    struct lease_cloud cloud = {
        .uid = "", .late_action = "RunInstances", .late_ms = 600 * 1000, .is_suspended_only = true};
    struct taker me;
    (void)state;
    open_taker(&me, &cloud, 0);
    take_freely(&me, "me");
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_DONE);
    assert_int_equal(me.machines, 1);
    assert_false(asked(&cloud, "TerminateInstances"));
    launch(&me);
    assert_int_equal(me.outcome, OUTCOME_NO_LEASE);
    close_taker(&me);
}

static void what_needs_a_lease_is_known(void **state)
{
    static const char *const covered[] = {"RunInstances",
                                          "StartInstances",
                                          "CreateKeyPair",
                                          "ImportKeyPair",
                                          "CreateSecurityGroup",
                                          "AuthorizeSecurityGroupIngress",
                                          "CreateRole",
                                          "PutRolePolicy",
                                          "CreateInstanceProfile",
                                          "AddRoleToInstanceProfile"};
    static const char *const free_of_it[] = {"CreateLaunchTemplate", "CreateLaunchTemplateVersion",
                                             "CreateTags",           "TerminateInstances",
                                             "StopInstances",        "DeleteKeyPair",
                                             "ModifyLaunchTemplate", "RevokeSecurityGroupIngress"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
        assert_true(aws_lease_covers(AWS_EC2, covered[i], STR("Action=X&Version=1")));
    }
    for (size_t i = 0; i < ARRAY_LEN(free_of_it); i++) {
        assert_false(aws_lease_covers(AWS_EC2, free_of_it[i], STR("Action=X&Version=1")));
    }
    assert_true(aws_lease_covers(AWS_IAM, "CreateRole", STR("Action=CreateRole")));
    assert_false(aws_lease_covers(AWS_SSO_OIDC, "CreateToken", STR("{}")));
    assert_false(aws_lease_covers(AWS_EC2, "RunInstances",
                                  STR("Action=RunInstances&DryRun=true&MinCount=1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_cluster_gets_a_new_uid),
        cmocka_unit_test(without_leave_none_is_created),
        cmocka_unit_test(a_lost_lease_object_is_created_with_the_known_uid),
        cmocka_unit_test(live_instances_keep_their_uid),
        cmocka_unit_test(two_clusters_of_a_name_are_refused),
        cmocka_unit_test(the_known_cluster_is_not_given_up_while_it_lives),
        cmocka_unit_test(who_may_not_create_is_told_what_to_do),
        cmocka_unit_test(a_fast_clock_does_not_take_a_live_lease),
        cmocka_unit_test(a_slow_clock_holds_a_lease_as_long_as_others),
        cmocka_unit_test(a_lease_is_free_after_its_end_and_a_grace),
        cmocka_unit_test(a_renewal_that_comes_too_late_does_not_count),
        cmocka_unit_test(a_renewal_after_a_sleep_is_not_even_tried),
        cmocka_unit_test(of_two_claims_on_the_same_sight_one_counts),
        cmocka_unit_test(nothing_is_created_without_a_lease),
        cmocka_unit_test(nothing_is_created_after_a_sleep),
        cmocka_unit_test(nothing_is_created_after_a_sleep_while_connecting),
        cmocka_unit_test(nothing_is_created_when_it_ended_by_the_servers_clock),
        cmocka_unit_test(what_is_answered_after_the_end_is_left_to_the_next_holder),
        cmocka_unit_test(what_needs_a_lease_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
