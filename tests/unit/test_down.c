/* test_down.c: `down` on a real loop, with a cloud in memory: what it terminates, proves and
 * reports. */
#include "app/launch/down_internal.h"

#include "fake_provider.h"
#include "fixture.h"
#include "io/file.h"
#include "provider/expiry.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UID "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"
#define YAML                                                                 \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"         \
    "auth: {ssh_user: ubuntu}\nmax_workers: 4\nhead_node_type: head\n"       \
    "available_node_types:\n"                                                \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n" \
    "  w: {node_config: {InstanceType: m5.large}, min_workers: 1, max_workers: 2}\n"

enum { HORIZON_MS = 400, CALL_MS = 100 };

struct scene {
    struct fixture *fixture;
    struct fake_cloud cloud;
    struct cloud_session session;
    struct launcher_setup setup;
    struct launcher_result result;
    struct down down;
    char folder[64];
    struct buf told;
    struct err err;
    struct clock clock; /* of the machine, and moved by the test */
    int64_t ahead_ms;
    int64_t frozen_ms; /* the time until the head's service has answered; 0: it passes */
    struct loop_timer *timer;
};

static int64_t moved_ms(void *context)
{
    struct scene *scene = context;
    int64_t now = clock_monotonic_ms(&clock_of_machine);
    if (scene->frozen_ms != 0 && !scene->down.is_told) {
        scene->ahead_ms = scene->frozen_ms - now;
    }
    return now + scene->ahead_ms;
}

static int64_t usual_wall_ms(void *context)
{
    (void)context;
    return clock_wall_ms(&clock_of_machine);
}

static void on_thing(void *context, const struct provider_resource *thing, bool is_made)
{
    struct scene *scene = context;
    (void)is_made;
    buf_addf(&scene->told, "removed %.*s\n", STR_ARG(thing->id));
}

static void on_node(void *context, const struct node_view *view)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "%.*s %.*s %s\n", STR_ARG(view->name), STR_ARG(view->id),
             node_phase_name(view->phase));
}

static void on_note(void *context, struct str text)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "note %.*s\n", STR_ARG(text));
}

static struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    scene->fixture = fixture_new();
    memcpy(scene->folder, "/tmp/shoal-down-XXXXXX", 23);
    assert_non_null(mkdtemp(scene->folder));
    const struct value *tree = fixture_prepare(scene->fixture, YAML);
    fake_cloud_init(&scene->cloud);
    buf_init(&scene->told, 1 << 20);
    scene->clock = (struct clock){moved_ms, usual_wall_ms, scene};
    assert_true(cloud_session_open(
        &scene->session, &(struct cloud_session_setup){.clock = &scene->clock}, &scene->err));
    scene->setup = (struct launcher_setup){
        .session = &scene->session,
        .config = config_type(&scene->fixture->arena, tree),
        .hooks = {.context = scene, .thing = on_thing, .node = on_node, .note = on_note}};
    scene->down.launch = (struct cluster_session){.setup = &scene->setup,
                                                  .result = &scene->result,
                                                  .arena = &scene->fixture->arena,
                                                  .session = &scene->session,
                                                  .config = scene->setup.config};
    scene->down.launch.provider = fake_provider_new(&scene->cloud, scene->session.loop);
    return scene;
}

static void scene_free(struct scene *scene)
{
    launch_close(&scene->down.launch);
    cloud_session_close(&scene->session);
    fake_cloud_clear(&scene->cloud);
    buf_clear(&scene->told);
    fixture_free(&scene->fixture);
    scratch_remove(scene->folder);
    free(scene);
}

static bool run(struct scene *scene)
{
    scene->down.launch.began_ms = loop_now_ms(scene->session.loop);
    return down_run(&scene->down, &scene->err);
}

static bool called(const struct scene *scene, const char *what)
{
    return str_find(buf_str(&scene->cloud.calls), what) != SIZE_MAX;
}

static bool told(const struct scene *scene, const char *what)
{
    return str_find(buf_str(&scene->told), what) != SIZE_MAX;
}

/* A cluster whose lease ended long ago. */
static void add_old_cluster(struct scene *scene)
{
    scene->cloud.epoch = 3;
    scene->cloud.is_released = true;
    scene->cloud.lease_until = 1000;
    fake_cloud_add(&scene->cloud, UID, "head", "1.2147483648");
    fake_cloud_add(&scene->cloud, UID, "worker", "1.1");
}

/* The journal of an `up` that was killed right after a call. Returns the earliest time at which
 * `down` may have started. */
static int64_t add_journal(struct scene *scene, uint64_t launch, bool is_settled, const char *id)
{
    struct journal **journal = &scene->down.launch.journal;
    /* With a clock that was ahead, so that the record is young however slow this machine is. */
    int64_t began = clock_wall_ms(&clock_of_machine);
    int64_t now = began + 60 * 1000;
    struct journal_intent intent = {
        .launch = launch, .count = 1, .token = STR("t"), .call = STR("c"), .wall_ms = now};
    uint64_t number;
    assert_true(journal_open(scene->folder, "shoal up, pid 1 of me@here", journal, &scene->err));
    assert_true(journal_begin(*journal, &scene->err));
    assert_true(journal_set(*journal, "uid", STR(UID), &scene->err));
    assert_true(journal_number(*journal, STR("head"), &number, &scene->err));
    assert_true(journal_set(*journal, "holders", STR("me"), &scene->err));
    assert_true(journal_intend(*journal, &intent, &scene->err));
    if (is_settled) {
        assert_true(journal_settle(*journal, launch, OUTCOME_DONE, &scene->err));
    }
    if (id) {
        assert_true(journal_number(*journal, str_from(id), &number, &scene->err));
        assert_true(journal_launched(*journal, &(struct journal_launched){launch, number, now},
                                     &scene->err));
    }
    assert_true(journal_commit(*journal, &scene->err));
    return began;
}

/* ---- the normal case ---- */

static void test_an_old_cluster_is_removed_without_waiting(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    assert_true(run(scene));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_int_equal(scene->result.terminated_count, 2);
    assert_true(scene->result.is_proven);
    assert_int_equal(scene->result.left_count, 0);
    assert_true(called(scene, "terminate i-1 i-2\n") && called(scene, "remove\n"));
    assert_false(told(scene, "the last check is at"));
    scene_free(scene);
}

static void test_all_heads_are_terminated_and_only_those_that_lived_are_counted(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    fake_cloud_add(&scene->cloud, UID, "head", "2.2147483648");
    fake_cloud_add(&scene->cloud, UID, "worker", "1.2")->state = MACHINE_GONE;
    assert_true(run(scene));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_int_equal(scene->result.terminated_count, 3);
    assert_true(told(scene, "head-2 i-3") && !told(scene, "i-4"));
    scene_free(scene);
}

static void test_with_cache_stopped_nodes_the_head_is_stopped_and_nothing_removed(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->setup.keeps_stopped = true;
    assert_true(run(scene));
    assert_true(called(scene, "stop i-1 i-2\n") && !called(scene, "terminate"));
    assert_true(!called(scene, "remove") && called(scene, "release"));
    assert_int_equal(scene->result.stopped_count, 2);
    assert_false(scene->result.is_proven);
    scene_free(scene);
}

static void test_workers_only(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->setup.is_workers_only = true;
    assert_true(run(scene));
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-1")->state, MACHINE_RUNNING);
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-2")->state, MACHINE_GONE);
    assert_true(!called(scene, "remove") && called(scene, "release"));
    scene_free(scene);
}

static void add_worker(struct scene *scene, const char *launch, const char *type)
{
    struct machine *machine = fake_cloud_add(&scene->cloud, UID, "worker", launch);
    struct machine_tag *tags = ARENA_ARRAY(&scene->fixture->arena, machine->tag_count + 1,
                                           struct machine_tag);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i] = machine->tags[i];
    }
    tags[machine->tag_count++] = (struct machine_tag){STR("ray-user-node-type"), str_from(type)};
    machine->tags = tags;
}

/* ---- idle_terminate ---- */

static void set_file(struct scene *scene, const char *more)
{
    const char *text = arena_printf(&scene->fixture->arena, "%s%s", YAML, more).ptr;
    const struct value *tree = fixture_prepare(scene->fixture, text);
    scene->setup.config = config_type(&scene->fixture->arena, tree);
    scene->down.launch.config = scene->setup.config;
}

static void test_a_stop_is_noted_before_it_happens(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    set_file(scene, "metadata: {shoal: {idle_terminate: 14d}}\n");
    add_old_cluster(scene);
    scene->setup.keeps_stopped = true;
    int64_t now = clock_wall_ms(&clock_of_machine) / 1000;
    assert_true(run(scene));
    size_t noted = str_find(buf_str(&scene->cloud.calls), "tag i-1 i-2 " TAG_STOPPED "=");
    size_t stopped = str_find(buf_str(&scene->cloud.calls), "stop i-1 i-2\n");
    assert_true(noted < stopped && stopped != SIZE_MAX);
    const struct machine *head = fake_cloud_find(&scene->cloud, "i-1");
    int64_t expires_at = expiry_at(machine_tag_value(head, TAG_STOPPED), 0);
    assert_true(expires_at >= now + 14 * 86400 && expires_at <= now + 14 * 86400 + 60);
    assert_int_equal(scene->result.stopped_count, 2);
    scene_free(scene);
}

/* Without permission to tag, the cluster stops anyway. */
static void test_a_stop_that_cannot_be_noted(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    set_file(scene, "metadata: {shoal: {idle_terminate: 14d}}\n");
    add_old_cluster(scene);
    scene->setup.keeps_stopped = true;
    scene->cloud.next[FAKE_TAG] = OUTCOME_INVALID;
    assert_true(run(scene));
    assert_true(called(scene, "stop i-1 i-2\n"));
    assert_true(told(scene, "note cannot record the time of this stop"));
    assert_int_equal(scene->result.stopped_count, 2);
    scene_free(scene);
}

/* `tag` is that of the head; NULL: none. */
static void add_stopped_cluster(struct scene *scene, const char *tag)
{
    add_old_cluster(scene);
    struct machine *head = fake_cloud_find(&scene->cloud, "i-1");
    head->state = fake_cloud_find(&scene->cloud, "i-2")->state = MACHINE_STOPPED;
    if (tag) {
        struct machine_tag *tags = ARENA_ARRAY(&scene->fixture->arena, head->tag_count + 1,
                                               struct machine_tag);
        for (size_t i = 0; i < head->tag_count; i++) {
            tags[i] = head->tags[i];
        }
        tags[head->tag_count++] = (struct machine_tag){STR(TAG_STOPPED), str_from(tag)};
        head->tags = tags;
    }
    head->launched_at = 1000;
    scene->setup.is_expired = true;
}

static void test_an_expired_cluster_is_removed(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_stopped_cluster(scene, "1000 60");
    assert_true(run(scene));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_true(scene->result.is_proven && called(scene, "terminate i-1 i-2\n"));
    scene_free(scene);
}

/* What changed since the cluster was listed as expired. */
static void test_a_cluster_that_has_not_expired_is_left_alone(void **state)
{
    static const struct {
        const char *tag;
        enum machine_state worker;
    } rows[] = {
        {NULL, MACHINE_STOPPED},
        {"999 60", MACHINE_STOPPED},          /* started after the tag was written */
        {"1000 9000000000", MACHINE_STOPPED}, /* stopped again */
        {"1000 60", MACHINE_RUNNING},
        {"1000 60", MACHINE_PENDING},
        {"1000 60", MACHINE_STOPPING},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene *scene = scene_new();
        add_stopped_cluster(scene, rows[i].tag);
        fake_cloud_find(&scene->cloud, "i-2")->state = rows[i].worker;
        assert_false(run(scene));
        assert_int_equal(scene->err.kind, ERR_EXISTS);
        assert_false(called(scene, "terminate") || called(scene, "remove"));
        scene_free(scene);
    }
}

/* Of each type min_workers stay, and so do the resources they use; the head goes. */
static void test_min_workers_are_kept(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene); /* its worker is of no type of the file */
    add_worker(scene, "1.2", "w");
    add_worker(scene, "1.3", "w");
    scene->setup.keeps_min = true;
    assert_true(run(scene));
    assert_true(called(scene, "terminate i-1 i-2 i-4\n") && !called(scene, "remove"));
    assert_true(called(scene, "release"));
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-3")->state, MACHINE_RUNNING);
    assert_int_equal(scene->result.kept_count, 1);
    assert_int_equal(scene->result.terminated_count, 3);
    scene_free(scene);
}

static void test_the_head_and_min_workers_are_kept(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    add_worker(scene, "1.2", "w");
    fake_cloud_find(&scene->cloud, "i-3")->state = MACHINE_STOPPED; /* not a worker that is kept */
    add_worker(scene, "1.3", "w");
    scene->setup.keeps_min = scene->setup.is_workers_only = true;
    assert_true(run(scene));
    assert_true(called(scene, "terminate i-2 i-3\n"));
    assert_int_equal(fake_cloud_living(&scene->cloud), 2);
    scene_free(scene);
}

/* ---- without a lease object ---- */

static void test_without_a_lease_object_none_is_created_and_all_is_removed(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.has_no_lease = true;
    assert_true(run(scene));
    assert_true(!called(scene, "take") && called(scene, "adopt " UID));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_true(scene->result.is_proven);
    /* It is not known which other processes launched: the last listing comes after the horizon. */
    assert_true(scene->result.took_ms >= HORIZON_MS + CALL_MS);
    scene_free(scene);
}

static void test_a_lease_object_that_vanishes_does_not_stop_it(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.next[FAKE_TAKE] = OUTCOME_NOT_FOUND;
    assert_true(run(scene));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_true(called(scene, "adopt " UID));
    scene_free(scene);
}

static void test_several_clusters_of_one_name_are_not_guessed_at(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.has_no_lease = true;
    fake_cloud_add(&scene->cloud, OTHER, "head", "1.2147483648");
    assert_false(run(scene));
    assert_non_null(strstr(scene->err.text, "--uid"));
    assert_non_null(strstr(scene->err.text, OTHER));
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    scene_free(scene);

    scene = scene_new();
    add_old_cluster(scene);
    scene->cloud.has_no_lease = true;
    fake_cloud_add(&scene->cloud, OTHER, "head", "1.2147483648");
    scene->setup.uid = STR(OTHER);
    assert_true(run(scene));
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-3")->state, MACHINE_GONE);
    assert_int_equal(fake_cloud_living(&scene->cloud), 2);
    assert_int_equal(scene->result.left_count, 2); /* the other one, with how to remove it */
    assert_non_null(strstr(scene->result.left[0].note.ptr, "--uid " UID));
    scene_free(scene);
}

static void test_no_evidence_is_no_cluster(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    assert_true(run(scene));
    assert_true(scene->result.is_absent && !scene->result.is_proven);
    assert_true(!called(scene, "take") && !called(scene, "remove"));
    scene_free(scene);
}

/* ---- this machine's key and journal ---- */

/* `up` was killed before it had a lease: its journal has no cluster. */
static void test_the_files_of_a_cluster_that_never_was_may_go(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    assert_true(run(scene));
    assert_false(down_may_forget(&scene->down)); /* without a journal it is not known */
    assert_true(
        journal_open(scene->folder, "shoal down", &scene->down.launch.journal, &scene->err));
    assert_true(run(scene));
    assert_true(scene->result.is_absent && down_may_forget(&scene->down));
    scene->setup.is_workers_only = true;
    assert_true(run(scene));
    assert_false(down_may_forget(&scene->down));
    scene_free(scene);
}

static void test_the_files_of_another_cluster_stay(void **state)
{
    struct scene *scene = scene_new();
    struct down *down = &scene->down;
    (void)state;
    down->launch.result->is_proven = true;
    assert_true(down_may_forget(down));
    down->uid = STR(UID);
    down->has_journal_uid = true;
    down->journal_uid = STR(UID);
    assert_true(down_may_forget(down));
    down->journal_uid = STR(OTHER);
    assert_false(down_may_forget(down));
    down->launch.result->is_proven = false; /* something is left */
    down->journal_uid = STR(UID);
    assert_false(down_may_forget(down));
    scene_free(scene);
}

/* A call may be in progress, whatever else is missing in the journal. */
static void test_a_journal_with_a_launch_is_a_past(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    (void)add_journal(scene, 1, false, NULL);
    assert_true(journal_set(scene->down.launch.journal, "uid", STR(""), &scene->err));
    down_read_past(&scene->down);
    assert_false(scene->down.has_no_past || scene->down.has_journal_uid);
    scene_free(scene);
}

/* ---- other launchers ---- */

static void test_instances_of_another_launcher_are_named_and_left(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    fake_cloud_add(&scene->cloud, NULL, "head", "");
    assert_true(run(scene));
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-3")->state, MACHINE_RUNNING);
    assert_int_equal(scene->result.left_count, 1);
    assert_str(scene->result.left[0].id, "i-3");
    assert_non_null(strstr(scene->result.left[0].note.ptr, "ray down"));
    scene_free(scene);
}

/* ---- the proof ---- */

/* Listings show nothing yet, and the journal has the id: `down` waits until it is listed. */
static void test_a_fresh_launch_that_no_listing_shows_is_waited_for(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    int64_t launched_ms = add_journal(scene, 4, true, "i-1");
    fake_cloud_add(&scene->cloud, UID, "worker", "0.4");
    scene->cloud.epoch = 1;
    scene->cloud.holder = STR("me");
    scene->cloud.is_blind = true;
    assert_true(run(scene));
    assert_true(called(scene, "look up i-1\n"));
    /* From the launch, not from the start of `down`: writing the journal takes time. */
    assert_true(clock_wall_ms(&clock_of_machine) - launched_ms >= HORIZON_MS);
    assert_true(scene->cloud.counts[FAKE_LIST] >= 2);
    assert_true(told(scene, "the last check is at"));
    scene_free(scene);
}

static void lift_blindness(void *context)
{
    struct scene *scene = context;
    scene->cloud.is_blind = false;
}

static void test_a_head_that_shows_up_late_is_terminated(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_journal(scene, (uint64_t)1 << 32 | 0x80000000u, true, NULL);
    fake_cloud_add(&scene->cloud, UID, "head", "1.2147483648");
    scene->cloud.epoch = 1;
    scene->cloud.holder = STR("me");
    scene->cloud.is_blind = true;
    struct loop_timer *timer = loop_timer_new(scene->session.loop, lift_blindness, scene);
    loop_timer_start(timer, HORIZON_MS / 2);
    assert_true(run(scene));
    loop_timer_free(timer);
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    assert_int_equal(scene->result.terminated_count, 1);
    assert_true(scene->result.is_proven);
    scene_free(scene);
}

static void test_a_launch_without_an_answer_is_waited_for(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    int64_t launched_ms = add_journal(scene, 4, false, NULL);
    scene->cloud.epoch = 1;
    scene->cloud.holder = STR("me");
    assert_true(run(scene));
    assert_true(clock_wall_ms(&clock_of_machine) - launched_ms >= HORIZON_MS + CALL_MS);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    scene_free(scene);
}

static void service_names_a_node(void *context)
{
    struct scene *scene = context;
    struct ctl_line line = {.kind = CTL_NODE,
                            .node = {.name = STR("worker-1"),
                                     .id = STR("i-1"),
                                     .phase = PHASE_BOOTING,
                                     .requested_ms = clock_wall_ms(&clock_of_machine)}};
    if (scene->cloud.counts[FAKE_TAKE] == 0) {
        loop_timer_start(scene->timer, 1);
        return;
    }
    down_take_line(&scene->down, &line);
}

/* Launched by the head's service, which named it when it stood down. The journal does not have it,
 * and the last lease ended long ago. */
static void test_a_launch_of_the_service_that_no_listing_shows_is_waited_for(void **state)
{
    bool is_waited_for = false;
    (void)state;
    /* On a busy machine the horizon may have passed when `down` looks. */
    for (int i = 0; i < 5 && !is_waited_for; i++) {
        struct scene *scene = scene_new();
        scene->cloud.epoch = 3;
        scene->cloud.is_released = true;
        scene->cloud.lease_until = 1000;
        scene->cloud.delay_ms[FAKE_TAKE] = 50;
        fake_cloud_add(&scene->cloud, UID, "worker", "3.4");
        scene->cloud.is_blind = true;
        scene->timer = loop_timer_new(scene->session.loop, service_names_a_node, scene);
        struct loop_timer *sight = loop_timer_new(scene->session.loop, lift_blindness, scene);
        loop_timer_start(scene->timer, 1);
        loop_timer_start(sight, HORIZON_MS * 3 / 4);
        assert_true(run(scene));
        loop_timer_free(scene->timer);
        loop_timer_free(sight);
        is_waited_for = told(scene, "the last check is at");
        assert_int_equal(fake_cloud_living(&scene->cloud), 0);
        assert_int_equal(scene->result.terminated_count, 1);
        assert_true(scene->result.is_proven);
        scene_free(scene);
    }
    assert_true(is_waited_for);
}

/* What the head's service says over ssh. */
static void service_says(struct scene *scene, const struct ctl_line *lines, size_t count)
{
    struct cluster_session *launch = &scene->down.launch;
    AUTO_BUF struct buf said;
    char path[100];
    buf_init(&said, 64 * 1024);
    buf_add_c(&said, "#!/bin/sh\n/bin/cat <<'END'\n");
    for (size_t i = 0; i < count; i++) {
        ctl_line_write(&lines[i], &said);
    }
    buf_add_c(&said, "END\nexec /bin/sleep 60\n");
    snprintf(path, sizeof(path), "%s/ssh", scene->folder);
    assert_true(file_write(path, buf_str(&said), 0755, &scene->err));
    setenv("PATH", scene->folder, 1);
    launch->state.folder = launch->state.control = scene->folder;
    assert_true(cluster_state_make(&launch->state, &scene->err));
    assert_true(
        cluster_state_pin(&launch->state, STR("i-1"), STR("ssh-ed25519 AAAA"), false, &scene->err));
    fake_cloud_find(&scene->cloud, "i-1")->public_ip = STR("127.0.0.1");
    scene->frozen_ms = clock_monotonic_ms(&clock_of_machine);
}

/* With an id, `down` knows what to look for. Without one, any instance may still come. */
static void test_a_node_of_the_service_without_an_id_is_waited_for(void **state)
{
    (void)state;
    for (int has_id = 0; has_id < 2; has_id++) {
        struct scene *scene = scene_new();
        const struct ctl_line lines[] = {
            {.kind = CTL_GREETING, .greeting = {.protocol = CTL_PROTOCOL, .least = CTL_PROTOCOL}},
            {.kind = CTL_DONE, .text = STR("release")},
            {.kind = CTL_NODE,
             .node = {.name = STR("worker-1"),
                      .id = has_id ? STR("i-2") : STR(""),
                      .phase = has_id ? PHASE_BOOTING : PHASE_REQUESTED}},
            {.kind = CTL_END, .text = STR("status")},
        };
        add_old_cluster(scene);
        scene->cloud.is_released = false;
        scene->cloud.holder = STR("head ubuntu@ip-1, pid 7");
        service_says(scene, lines, ARRAY_LEN(lines));
        assert_true(run(scene));
        assert_true(scene->down.is_told);
        assert_int_equal(told(scene, "the last check is at"), !has_id);
        assert_int_equal(fake_cloud_living(&scene->cloud), 0);
        scene_free(scene);
    }
}

static void let_it_terminate(void *context)
{
    struct scene *scene = context;
    scene->cloud.always[FAKE_TERMINATE] = OUTCOME_DONE;
}

static void another_takes_the_cluster(void *context)
{
    enum { UNTIL_RENEWAL_MS = 31 * 1000 };
    struct scene *scene = context;
    if (scene->cloud.counts[FAKE_TERMINATE] == 0) {
        loop_timer_start(scene->timer, 1);
        return;
    }
    scene->cloud.epoch++;
    scene->cloud.holder = STR("shoal up, pid 9 of you@there");
    scene->ahead_ms += UNTIL_RENEWAL_MS;
    loop_timer_free(scene->timer);
    scene->timer = loop_timer_new(scene->session.loop, let_it_terminate, scene);
    loop_timer_start(scene->timer, 500); /* after the reply to the renewal */
}

/* Terminations are throttled until the lease is lost; from then on they would work. */
static void test_it_stops_when_another_takes_the_cluster_over(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.always[FAKE_TERMINATE] = OUTCOME_THROTTLED;
    scene->timer = loop_timer_new(scene->session.loop, another_takes_the_cluster, scene);
    loop_timer_start(scene->timer, 1);
    assert_false(run(scene));
    loop_timer_free(scene->timer);
    assert_int_equal(scene->err.kind, ERR_EXISTS);
    assert_like(str_from(scene->err.text), "*has taken over this cluster*terminates nothing more*");
    assert_int_equal(fake_cloud_living(&scene->cloud), 2);
    assert_false(called(scene, "remove"));
    scene_free(scene);
}

/* This laptop's own `up`, and everything that it launched is listed: nothing to wait for. */
static void test_launches_that_were_seen_need_no_wait(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_journal(scene, (uint64_t)1 << 32 | 4, true, "i-1");
    fake_cloud_add(&scene->cloud, UID, "worker", "1.4");
    scene->cloud.epoch = 1;
    scene->cloud.holder = STR("me");
    assert_true(run(scene));
    assert_int_equal(scene->result.terminated_count, 1);
    assert_false(told(scene, "the last check is at"));
    scene_free(scene);
}

static void test_a_lease_that_is_taken_from_somebody_makes_it_wait(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.is_released = false;
    scene->cloud.holder = STR("shoal up, pid 7 of you@there");
    scene->cloud.lease_until = clock_wall_ms(&clock_of_machine) / 1000 + 60;
    assert_true(run(scene));
    assert_true(told(scene, "note taking the cluster over from shoal up, pid 7 of you@there"));
    assert_true(scene->result.took_ms >= HORIZON_MS + CALL_MS);
    scene_free(scene);
}

/* For the next `up`. Its name says nothing about the launches of others: `down` still waits. */
static void test_the_name_of_the_last_down_is_recorded(void **state)
{
    struct scene *scene = scene_new();
    struct str recorded = STR("");
    (void)state;
    add_old_cluster(scene);
    add_journal(scene, (uint64_t)1 << 32 | 4, true, "i-2");
    scene->cloud.is_released = false;
    struct str holder = launch_holder("down", &scene->fixture->arena);
    scene->cloud.holder = holder;
    scene->cloud.lease_until = clock_wall_ms(&clock_of_machine) / 1000 + 60;
    assert_true(run(scene));
    assert_true(journal_get(scene->down.launch.journal, "down_holder", &scene->fixture->arena,
                            &recorded, &scene->err));
    assert_str(recorded, holder.ptr);
    assert_true(scene->result.took_ms >= HORIZON_MS + CALL_MS);
    scene_free(scene);
}

/* The head's service is killed and restarted while `down` takes over its lease. */
static void test_the_lease_of_a_service_that_restarts_is_taken(void **state)
{
    static const struct {
        const char *holder;
        unsigned restarts;
        bool is_taken;
    } cases[] = {{"head ubuntu@ip-1, pid 7", 1, true},
                 {"head ubuntu@ip-1, pid 7", 5, true},
                 {"head ubuntu@ip-1, pid 7", 6, false},
                 {"shoal up, pid 7 of you@there", 1, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene *scene = scene_new();
        add_old_cluster(scene);
        scene->cloud.is_released = false;
        scene->cloud.holder = str_from(cases[i].holder);
        scene->cloud.restarts = cases[i].restarts;
        assert_int_equal(run(scene), cases[i].is_taken);
        assert_int_equal(fake_cloud_living(&scene->cloud), cases[i].is_taken ? 0 : 2);
        assert_true(cases[i].is_taken || strstr(scene->err.text, cases[i].holder));
        scene_free(scene);
    }
}

/* The holder has not changed: a second take-over would not help. */
static void test_the_same_lease_is_not_taken_twice(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.is_released = false;
    scene->cloud.holder = STR("head ubuntu@ip-1, pid 7");
    scene->cloud.always[FAKE_TAKE] = OUTCOME_MISMATCH;
    assert_false(run(scene));
    assert_int_equal(scene->cloud.counts[FAKE_TAKE], 2);
    scene_free(scene);
}

/* ---- failures ---- */

static void test_one_refused_termination_does_not_keep_the_others_running(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    fake_cloud_add(&scene->cloud, UID, "worker", "1.2");
    scene->cloud.refused = "i-1";
    assert_true(run(scene));
    assert_int_equal(fake_cloud_living(&scene->cloud), 1);
    assert_int_equal(scene->result.terminated_count, 2);
    assert_int_equal(scene->result.left_count, 1);
    assert_str(scene->result.left[0].id, "i-1");
    assert_str(scene->result.left[0].note, "it may not be terminated");
    assert_true(!scene->result.is_proven && !called(scene, "remove"));
    scene_free(scene);
}

static void test_a_termination_without_an_answer_is_repeated(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.next[FAKE_TERMINATE] = OUTCOME_UNKNOWN;
    assert_true(run(scene));
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 2);
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    scene_free(scene);
}

static void test_what_could_not_be_deleted_is_left(void **state)
{
    const struct provider_resource things[] = {
        {.kind = STR("key pair"), .id = STR("k"), .is_gone = true},
        {.kind = STR("role"), .id = STR("r"), .note = STR("not allowed")},
    };
    struct scene *scene = scene_new();
    (void)state;
    add_old_cluster(scene);
    scene->cloud.things = things;
    scene->cloud.thing_count = 2;
    assert_true(run(scene));
    assert_true(told(scene, "removed k\n"));
    assert_int_equal(scene->result.left_count, 1);
    assert_str(scene->result.left[0].note, "not allowed");
    assert_false(scene->result.is_proven);
    scene_free(scene);
}

static void check_failure(enum fake_verb verb)
{
    struct scene *scene = scene_new();
    add_old_cluster(scene);
    scene->cloud.always[verb] = OUTCOME_INVALID;
    assert_false(run(scene));
    assert_false(scene->result.is_proven);
    scene_free(scene);
}

static void test_a_failed_call_is_never_a_proof(void **state)
{
    (void)state;
    check_failure(FAKE_LIST_BY);
    check_failure(FAKE_FIND);
    check_failure(FAKE_TAKE);
    check_failure(FAKE_LIST);
    check_failure(FAKE_REMOVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_old_cluster_is_removed_without_waiting),
        cmocka_unit_test(test_all_heads_are_terminated_and_only_those_that_lived_are_counted),
        cmocka_unit_test(test_with_cache_stopped_nodes_the_head_is_stopped_and_nothing_removed),
        cmocka_unit_test(test_a_stop_is_noted_before_it_happens),
        cmocka_unit_test(test_a_stop_that_cannot_be_noted),
        cmocka_unit_test(test_an_expired_cluster_is_removed),
        cmocka_unit_test(test_a_cluster_that_has_not_expired_is_left_alone),
        cmocka_unit_test(test_workers_only),
        cmocka_unit_test(test_min_workers_are_kept),
        cmocka_unit_test(test_the_head_and_min_workers_are_kept),
        cmocka_unit_test(test_without_a_lease_object_none_is_created_and_all_is_removed),
        cmocka_unit_test(test_a_lease_object_that_vanishes_does_not_stop_it),
        cmocka_unit_test(test_several_clusters_of_one_name_are_not_guessed_at),
        cmocka_unit_test(test_no_evidence_is_no_cluster),
        cmocka_unit_test(test_the_files_of_a_cluster_that_never_was_may_go),
        cmocka_unit_test(test_the_files_of_another_cluster_stay),
        cmocka_unit_test(test_a_journal_with_a_launch_is_a_past),
        cmocka_unit_test(test_instances_of_another_launcher_are_named_and_left),
        cmocka_unit_test(test_a_fresh_launch_that_no_listing_shows_is_waited_for),
        cmocka_unit_test(test_a_head_that_shows_up_late_is_terminated),
        cmocka_unit_test(test_a_launch_without_an_answer_is_waited_for),
        cmocka_unit_test(test_a_launch_of_the_service_that_no_listing_shows_is_waited_for),
        cmocka_unit_test(test_a_node_of_the_service_without_an_id_is_waited_for),
        cmocka_unit_test(test_it_stops_when_another_takes_the_cluster_over),
        cmocka_unit_test(test_launches_that_were_seen_need_no_wait),
        cmocka_unit_test(test_a_lease_that_is_taken_from_somebody_makes_it_wait),
        cmocka_unit_test(test_the_name_of_the_last_down_is_recorded),
        cmocka_unit_test(test_the_lease_of_a_service_that_restarts_is_taken),
        cmocka_unit_test(test_the_same_lease_is_not_taken_twice),
        cmocka_unit_test(test_one_refused_termination_does_not_keep_the_others_running),
        cmocka_unit_test(test_a_termination_without_an_answer_is_repeated),
        cmocka_unit_test(test_what_could_not_be_deleted_is_left),
        cmocka_unit_test(test_a_failed_call_is_never_a_proof),
    };
    setenv("SHOAL_TEST_TIMES", "horizon=400,call_timeout=100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
