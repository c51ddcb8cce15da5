/* test_head_launch.c: the head's launch: recorded first, repeated, moved to another zone, under
 * a lease. */
#include "app/launch/head_launch.h"

#include "control_tally.h"

/* The result. */
struct result {
    struct scene *scene;
    char id[40];
    char why[600];
    uint64_t launch;
    unsigned calls, waits;
    struct head_launch *head;
};

static struct result *result; /* of the test that runs, for scene_fn */

static void on_head(void *context, const struct machine *machine, uint64_t launch,
                    const struct err *err)
{
    struct result *head = context;
    head->calls++;
    head->launch = launch;
    snprintf(head->id, sizeof(head->id), "%.*s", STR_ARG(machine ? machine->id : STR("")));
    snprintf(head->why, sizeof(head->why), "%s", err ? err->text : "");
}

static void on_waits(void *context)
{
    ((struct result *)context)->waits++;
}

static bool is_over(struct scene *scene)
{
    (void)scene;
    return result->calls > 0;
}

static void start(struct scene *scene)
{
    static struct result fresh;
    fresh = (struct result){.scene = scene};
    result = &fresh;
    result->head = head_launch_start(&(struct head_launch_setup){
        .loop = scene->session.loop,
        .provider = scene->provider,
        .journal = scene->journal,
        .config = scene->config,
        .core = &scene->core,
        .controller = scene->controller,
        .uid = scene->cloud.uid,
        .secret = STR("0123456789abcdef0123456789abcdef"),
        .epoch = scene->cloud.epoch,
        .context = result,
        .waits = on_waits,
        .done = on_head,
    });
}

/* The provider is closed first: a call may be in progress. */
static void finish(struct scene *scene)
{
    controller_close(scene->controller);
    scene->provider->ops->close(scene->provider);
    head_launch_end(result->head);
    journal_close(scene->journal);
    cloud_session_close(&scene->session);
}

/* Without workers: all launches are the head's. */
static struct scene *scene_of_a_head(void)
{
    struct scene *scene = scene_new();
    struct plan_type *types = ARENA_ARRAY(&scene->fixture->arena, scene->core.settings.type_count,
                                          struct plan_type);
    memcpy(types, scene->core.settings.types, scene->core.settings.type_count * sizeof(*types));
    for (size_t i = 0; i < scene->core.settings.type_count; i++) {
        types[i].min_nodes = 0;
    }
    scene->core.settings.types = types;
    return scene;
}

struct intents {
    size_t all, open;
    uint64_t last;
    size_t launches_then;
};

static void count_intents(void *context, const struct journal_intent *intent)
{
    struct intents *intents = context;
    intents->all++;
    intents->open += !intent->is_settled;
    intents->last = intent->launch;
}

static struct intents intents_of(struct scene *scene)
{
    struct intents intents = {0};
    struct err err;
    assert_true(journal_intents(scene->journal, count_intents, &intents, &err));
    return intents;
}

static void the_head_is_launched(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    assert_int_equal(result->launch, HEAD_LAUNCH(1, 0));
    assert_int_equal(intents_of(scene).all, 1);
    assert_int_equal(intents_of(scene).open, 0);
    assert_int_equal(result->waits, 0);
    finish(scene);
    scene_free(scene);
}

static bool has_called(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] > 0;
}

/* Killed after the call and before its answer: the next run repeats it, and there is one head. */
static void it_is_written_down_before_the_call(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    scene->cloud.is_mute[FAKE_LAUNCH] = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, has_called);
    assert_int_equal(intents_of(scene).open, 1);
    finish(scene);
    assert_int_equal(scene->cloud.count, 1);
    scene->cloud.is_mute[FAKE_LAUNCH] = false;
    scene->cloud.is_blind = true; /* no listing shows it yet */
    scene->starts = 0;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    assert_int_equal(scene->cloud.count, 1);
    finish(scene);
    scene_free(scene);
}

/* A journal that cannot be written: no call. */
static void without_a_journal_nothing_is_launched(void **state)
{
    struct scene *scene = scene_of_a_head();
    struct err err;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    assert_true(journal_begin(scene->journal, &err));
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "");
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_false(journal_end(scene->journal, false, &err));
    finish(scene);
    scene_free(scene);
}

static void an_unanswered_launch_is_repeated(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    scene->cloud.acts_anyway = true;
    scene->cloud.is_blind = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    assert_int_equal(scene->cloud.count, 1);
    assert_int_equal(intents_of(scene).all, 1);
    finish(scene);
    scene_free(scene);
}

static struct scene *scene_of_two_zones(void)
{
    struct scene *scene = scene_of_a_head();
    core_setup_place(&scene->fixture->arena, scene->config,
                     STR("head\tus-west-2a us-west-2b\nsmall\tus-west-2a\nlarge\tus-west-2a\n"),
                     &scene->core);
    return scene;
}

static void no_room_in_a_zone_leads_to_the_next(void **state)
{
    struct scene *scene = scene_of_two_zones();
    (void)state;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    assert_int_equal(result->launch, HEAD_LAUNCH(1, 1));
    assert_non_null(strstr(scene->cloud.sent.ptr, "zone-us-west-2a"));
    assert_non_null(strstr(scene->cloud.sent.ptr, "zone-us-west-2b"));
    assert_int_equal(intents_of(scene).open, 0);
    finish(scene);
    scene_free(scene);
}

/* But not while the first call may still create an instance: there would be two heads. */
static void no_room_after_a_lost_answer_does_not(void **state)
{
    struct scene *scene = scene_of_two_zones();
    (void)state;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_false(runs_until(scene, is_over, 2500));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    assert_int_equal(intents_of(scene).all, 1);
    assert_int_equal(intents_of(scene).open, 1);
    finish(scene);
    scene_free(scene);
}

/* ---- the lease ---- */

/* A laptop wakes up: the provider does not send the launch. It continues only when the
 * controller has found that the lease is still ours. */
static void without_the_lease_it_is_not_sent(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    scene->cloud.has_lapsed = true;
    start(scene);
    assert_false(runs_until(scene, is_over, 500));
    assert_int_equal(scene->cloud.count, 0);
    assert_true(scene->cloud.counts[FAKE_RENEW] > 0);
    scene->cloud.has_lapsed = false;
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    assert_int_equal(intents_of(scene).all, 1);
    finish(scene);
    scene_free(scene);
}

/* A lease that was not confirmed for a while is confirmed first. */
static void an_old_confirmation_is_renewed_first(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    scene->cloud.delay_ms[FAKE_RENEW] = 400;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    scene->shift_ms = 10 * 1000;
    start(scene);
    assert_false(runs_until(scene, is_over, 200));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-1");
    finish(scene);
    scene_free(scene);
}

/* ---- after another holder ---- */

static struct machine *add_head(struct scene *scene)
{
    struct machine *machine = fake_cloud_add(&scene->cloud, "0123456789abcdef0123456789abcdef",
                                             "head", "4.2147483648");
    machine->id = STR("i-other");
    return machine;
}

/* Another process held the lease before us. Its launches may not be listed yet, so the
 * controller waits for them; a head that appears is used. */
static void a_head_of_another_is_waited_for_and_taken(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    scene->cloud.epoch = 4;
    scene->cloud.is_released = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_false(runs_until(scene, is_over, 3500));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_int_equal(result->waits, 1);
    add_head(scene);
    controller_refresh(scene->controller);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-other");
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    finish(scene);
    scene_free(scene);
}

/* If none appears in time, the head is launched. Our own open launches from before are not
 * repeated, because the other process's head may have replaced them and be gone. */
static void after_another_nothing_old_is_repeated(void **state)
{
    struct scene *scene = scene_of_a_head();
    (void)state;
    scene->cloud.is_mute[FAKE_LAUNCH] = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, has_called);
    finish(scene);
    scene->cloud.is_mute[FAKE_LAUNCH] = false;
    scene->cloud.machines[0].state = MACHINE_GONE;
    scene->cloud.epoch = 4;
    scene->cloud.is_released = true;
    scene->core.settings.times.horizon = scene->core.settings.times.call_timeout = 200;
    scene->starts = 0;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, has_started);
    start(scene);
    assert_comes(scene, is_over);
    assert_string_equal(result->id, "i-2");
    assert_int_equal(result->launch, HEAD_LAUNCH(5, 0));
    assert_int_equal(intents_of(scene).all, 2);
    assert_int_equal(intents_of(scene).open, 0);
    finish(scene);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_launched),
        cmocka_unit_test(it_is_written_down_before_the_call),
        cmocka_unit_test(without_a_journal_nothing_is_launched),
        cmocka_unit_test(an_unanswered_launch_is_repeated),
        cmocka_unit_test(no_room_in_a_zone_leads_to_the_next),
        cmocka_unit_test(no_room_after_a_lost_answer_does_not),
        cmocka_unit_test(without_the_lease_it_is_not_sent),
        cmocka_unit_test(an_old_confirmation_is_renewed_first),
        cmocka_unit_test(a_head_of_another_is_waited_for_and_taken),
        cmocka_unit_test(after_another_nothing_old_is_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
