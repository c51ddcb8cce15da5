/* test_service.c: how the service of a head reacts to Ray and to the cloud. */
#include "app/control/launch_request.h"
#include "app/head/workers/worker_setup_internal.h"
#include "service_scene.h"

#include <signal.h>
#include <sys/resource.h>

static int open_scene(void **state)
{
    *state = service_scene_new();
    return 0;
}

static int close_scene(void **state)
{
    service_scene_free(*state);
    return 0;
}

enum { WORKER = 2 }; /* its number; that of the head is 1 */

static bool has_worker(struct service_scene *scene)
{
    struct managed_node managed_node;
    return scene->service.head.controller &&
           controller_find(scene->service.head.controller, WORKER, &managed_node) &&
           managed_node.machine && managed_node.node && managed_node.node->state == NODE_BOOTING;
}

/* It may act, and its one worker runs as an instance. */
static void begin(struct service_scene *scene)
{
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    assert_service(scene, has_worker);
}

static struct node_view view_of_worker(struct service_scene *scene, struct arena *arena)
{
    struct managed_node managed_node;
    struct node_view view;
    assert_true(controller_find(scene->service.head.controller, WORKER, &managed_node));
    service_view(&scene->service, &managed_node, arena, &view);
    return view;
}

/* The core forgets an instance that has ended; its worker is still shown as failed. */
static void a_node_without_instance_keeps_its_type(void **state)
{
    struct service_scene *scene = *state;
    struct managed_node managed_node;
    struct node_view view;
    begin(scene);
    const struct machine_tag tags[] = {{STR("ray-user-node-type"), STR("small")}};
    struct machine machine = {.id = STR("i-1"), .tags = tags, .tag_count = ARRAY_LEN(tags)};
    assert_true(controller_find(scene->service.head.controller, WORKER, &managed_node));
    managed_node.machine = &machine;
    managed_node.node = NULL;
    service_view(&scene->service, &managed_node, &scene->fixture->arena, &view);
    assert_str(view.type, "small");
    assert_int_equal(view.price, PRICE_UNKNOWN);
    service_scene_end(scene);
}

/* ---- drains ---- */

static void a_drain_counts_as_accepted_only_when_it_was(void **state)
{
    (void)state;
    struct gcs_answer fine = {.trouble = GCS_FINE};
    assert_int_equal(service_drain_meaning(&fine, true), DRAIN_ACCEPTED);
    assert_int_equal(service_drain_meaning(&fine, false), DRAIN_REFUSED);
    for (int trouble = GCS_AWAY; trouble <= GCS_REFUSED; trouble++) {
        struct gcs_answer answer = {.trouble = (enum gcs_trouble)trouble};
        assert_int_equal(service_drain_meaning(&answer, true), DRAIN_UNKNOWN);
        assert_int_equal(service_drain_meaning(&answer, false), DRAIN_UNKNOWN);
    }
}

static void a_raylet_may_refuse_an_idle_drain(void **state)
{
    (void)state;
    struct arena arena;
    struct action action = {.kind = ACTION_DRAIN,
                            .reason = {.kind = REASON_IDLE},
                            .is_rejectable = true,
                            .drain_until = 9000};
    arena_init(&arena);
    struct gcs_drain drain = service_drain_request(&action, STR("id"), 5000, 100000, &arena);
    assert_true(drain.is_refusable);
    assert_int_equal(drain.deadline_ms, 0);
    assert_true(str_starts(drain.message, "Shoal: "));
    action.is_rejectable = false; /* it must be terminated, and gets its time */
    drain = service_drain_request(&action, STR("id"), 5000, 100000, &arena);
    assert_false(drain.is_refusable);
    assert_int_equal(drain.deadline_ms, 104000);
    drain = service_drain_request(&action, STR("id"), 10000, 100000, &arena);
    assert_int_equal(drain.deadline_ms, 100000);
    arena_clear(&arena);
}

/* No raylet can be asked: the node stays. */
static void a_drain_that_nobody_hears_terminates_nothing(void **state)
{
    struct service_scene *scene = *state;
    struct managed_node managed_node;
    begin(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    assert_true(controller_find(scene->service.head.controller, WORKER, &managed_node));
    assert_int_equal(managed_node.node->state, NODE_IDLE);
    struct action action = {
        .kind = ACTION_DRAIN, .instance = WORKER, .is_rejectable = true, .drain_until = 1};
    service_drain(&scene->service, &managed_node, &action);
    (void)service_runs_until(scene, NULL, 100);
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 0);
    service_scene_end(scene);
}

/* ---- Ray on the head ---- */

static void a_gcs_that_went_back_was_restarted(void **state)
{
    struct service_scene *scene = *state;
    begin(scene);
    scene->version = 500;
    ray_has_head(scene, FIRST_HEAD);
    ray_answers(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_answers(scene);
    assert_int_equal(events_with(scene, "Ray on the head was restarted"), 0);
    scene->version = 3;
    ray_has_head(scene, FIRST_HEAD);
    ray_answers(scene);
    assert_int_equal(events_with(scene, "Ray on the head was restarted"), 1);
    service_scene_end(scene);
}

/* The last setup of the worker, as in the journal. */
static void note_set_up(struct service_scene *scene, const char *head, const char *target,
                        bool is_done)
{
    struct managed_node managed_node;
    struct setup_record past = {0};
    AUTO_BUF struct buf name;
    struct arena arena;
    arena_init(&arena);
    buf_init(&name, 100);
    assert_true(controller_find(scene->service.head.controller, WORKER, &managed_node));
    const struct setup_record *known = worker_records_setup(&scene->service.workers, WORKER);
    assert_non_null(known);
    past = *known;
    memcpy(past.key, past.wanted, sizeof(past.key));
    setup_record_name(&past, managed_node.machine->id, 0,
                      STR("")); /* the first, not a repeated one */
    memcpy(past.run, past.next_run, sizeof(past.run));
    past.is_done = is_done;
    past.is_updating = false;
    snprintf(past.head, sizeof(past.head), "%s", head);
    snprintf(past.target, sizeof(past.target), "%s", target);
    buf_addf(&name, "worker %.*s", STR_ARG(managed_node.machine->id));
    assert_true(journal_note(scene->service.head.journal, name.ptr,
                             setup_record_text(&past, &arena), &scene->err));
    arena_clear(&arena);
}

static void note_past(struct service_scene *scene, const char *head, const char *target)
{
    note_set_up(scene, head, target, true);
}

/* Ray's id of the head, in the form that the service stores. */
static const char *head_text(struct service_scene *scene, uint64_t number)
{
    ray_has_head(scene, number);
    ray_answers(scene);
    return scene->service.head.ray.id;
}

static bool is_set_up_again(struct service_scene *scene)
{
    return events_with(scene, "setting up again") > 0;
}

/* The worker has run its start commands for a Ray on the head in which it was never seen. */
static void a_worker_joins_the_ray_that_replaced_its_own(void **state)
{
    struct service_scene *scene = *state;
    char first[RAY_NODE_SIZE];
    begin(scene);
    snprintf(first, sizeof(first), "%s", head_text(scene, FIRST_HEAD));
    assert_service(scene, has_worker);
    note_past(scene, "", first);
    service_scene_end(scene);
    begin(scene);
    (void)head_text(scene, SECOND_HEAD);
    /* Its node reports that the earlier request is done. */
    setup_scheduler_news(scene->service.scheduler, WORKER, SETUP_DONE);
    worker_setups_end(scene->service.setups, WORKER);
    (void)head_text(scene, SECOND_HEAD);
    assert_true(is_set_up_again(scene));
    assert_int_equal(events_with(scene, "Ray on the head was replaced"), 1);
    struct setup_record *past = worker_records_setup(&scene->service.workers, WORKER);
    assert_true(past->is_updating);
    assert_string_equal(past->target, scene->service.head.ray.id);
    service_scene_end(scene);
}

static enum node_phase phase_of_worker(struct service_scene *scene)
{
    return worker_setups_progress(scene->service.setups, WORKER)->phase;
}

static bool is_set_up_begun(struct service_scene *scene)
{
    return worker_setups_progress(scene->service.setups, WORKER) != NULL;
}

static void fail_in_ray_start(struct service_scene *scene)
{
    struct node_failure failure = {.step = STR("start command 2 of 2"), .said = STR("refused")};
    worker_fail(scene->service.setups->workers, &failure);
}

/* `up` restarts Ray on the head while a worker runs `ray start` for the old Ray. */
static void a_start_for_a_replaced_ray_has_not_failed(void **state)
{
    struct service_scene *scene = *state;
    struct managed_node managed_node;
    char first[RAY_NODE_SIZE];
    begin(scene);
    snprintf(first, sizeof(first), "%s", head_text(scene, FIRST_HEAD));
    note_set_up(scene, "", first, false);
    service_scene_end(scene);
    begin(scene);
    assert_service(scene, is_set_up_begun); /* before Ray reports the new head */
    (void)head_text(scene, SECOND_HEAD);
    fail_in_ray_start(scene);
    assert_int_equal(phase_of_worker(scene), PHASE_WAITING);
    assert_true(controller_find(scene->service.head.controller, WORKER, &managed_node));
    assert_int_not_equal(managed_node.node->state, NODE_FAILED);
    (void)head_text(scene, SECOND_HEAD);
    assert_int_equal(events_with(scene, "setting up again"), 1);
    const struct setup_record *past = worker_records_setup(&scene->service.workers, WORKER);
    assert_true(past->is_updating);
    assert_string_equal(past->target, scene->service.head.ray.id);
    assert_int_equal(phase_of_worker(scene), PHASE_CONNECTING);
    fail_in_ray_start(scene); /* for the present Ray: that one is reported */
    assert_int_equal(phase_of_worker(scene), PHASE_FAILED);
    service_scene_end(scene);
}

/* The name of the request with which the worker is set up, which then fails. */
static void fail_set_up(struct service_scene *scene, char ret_run[NODE_RUN_SIZE])
{
    begin(scene);
    assert_service(scene, is_set_up_begun);
    struct str run = scene->service.setups->workers->machine.run;
    snprintf(ret_run, NODE_RUN_SIZE, "%.*s", STR_ARG(run));
    fail_in_ray_start(scene);
    assert_int_equal(phase_of_worker(scene), PHASE_FAILED);
    service_scene_end(scene);
}

/* A node does not run a request of the same name again: it repeats that it failed. */
static void each_up_sets_up_a_worker_that_failed(void **state)
{
    struct service_scene *scene = *state;
    char runs[4][NODE_RUN_SIZE];
    char restarted[NODE_RUN_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        fail_set_up(scene, runs[i]);
        for (size_t before = 0; before < i; before++) {
            assert_string_not_equal(runs[i], runs[before]);
        }
        if (i > 0) { /* no `up` ran: only the service has restarted */
            fail_set_up(scene, restarted);
            assert_string_equal(restarted, runs[i]);
        }
        scene->handover.serial++;
        scene->handover.epoch = 0;
        service_scene_hand_over(scene);
    }
}

/* The head's Ray is new, and its GCS has the worker from the tables on disk. */
static void restart_with_tables(struct service_scene *scene)
{
    begin(scene);
    scene->version = 500;
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_RUNNING);
    ray_answers(scene);
    setup_scheduler_news(scene->service.scheduler, WORKER,
                         SETUP_DONE); /* its setup began before that */
    worker_setups_end(scene->service.setups, WORKER);
    scene->version = 3;
    ray_has_head(scene, SECOND_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_RUNNING);
    ray_answers(scene);
    assert_int_equal(events_with(scene, "Ray on the head was restarted"), 1);
}

static void a_worker_that_the_gcs_kept_is_left_alone(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    restart_with_tables(scene);
    (void)service_runs_until(scene, NULL, 50);
    assert_false(is_set_up_again(scene));
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_READY);
    service_scene_end(scene);
    begin(scene); /* the head has rebooted, and the service with it */
    ray_has_head(scene, SECOND_HEAD + 1);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_RUNNING);
    ray_answers(scene);
    (void)service_runs_until(scene, NULL, 50);
    assert_false(is_set_up_again(scene));
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_READY);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* The head was down for longer than its raylet waits. */
static void a_kept_worker_whose_raylet_ended_is_set_up_again(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    restart_with_tables(scene);
    ray_has_head(scene, SECOND_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_DEAD);
    ray_answers(scene);
    assert_true(is_set_up_again(scene));
    ray_has_head(scene, SECOND_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_DEAD);
    ray_answers(scene);
    (void)service_runs_until(scene, NULL, 50);
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_CONNECTING);
    assert_int_equal(events_with(scene, "failed"), 0);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* Later its death is treated like any other. */
static void a_kept_worker_that_reconnected_can_fail(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    restart_with_tables(scene);
    struct setup_record *past = worker_records_setup(&scene->service.workers, WORKER);
    assert_true(past->restored_ms > 0);
    past->restored_ms = 1; /* of a monotonic clock: long ago */
    ray_has_head(scene, SECOND_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_DEAD);
    ray_answers(scene);
    assert_false(is_set_up_again(scene));
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_FAILED);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* An update restarts Ray on the head: a worker that is set up before that would join the old
 * Ray. */
static void workers_wait_for_the_heads_new_ray(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    struct ctl_status status;
    char first[RAY_NODE_SIZE];
    arena_init(&arena);
    begin(scene);
    snprintf(first, sizeof(first), "%s", head_text(scene, FIRST_HEAD));
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    note_past(scene, first, first);
    scene->handover.serial++;
    scene->handover.epoch = 0;
    scene->handover.restarts_ray = true;
    scene->handover.contents_hash = STR("c2"); /* its mounts have changed */
    service_scene_hand_over(scene);
    bool is_new;
    assert_true(head_context_take_handover(&scene->service.head, &is_new, &scene->err) && is_new);
    service_scene_end(scene);
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    assert_true(head_ray_is_restarting(&scene->service.head));
    (void)service_runs_until(scene, NULL, 50);
    assert_false(is_set_up_again(scene));
    service_status(&scene->service, &arena, &status);
    assert_false(status.is_settled);
    assert_true(str_is(status.waits_for, "the restart of Ray on the head"));
    service_ray_replaced(&scene->service);
    (void)head_text(scene, SECOND_HEAD);
    assert_false(head_ray_is_restarting(&scene->service.head));
    assert_true(is_set_up_again(scene));
    service_status(&scene->service, &arena, &status);
    assert_false(status.is_settled);
    assert_true(str_starts(status.waits_for, "worker-1 ("));
    assert_false(status.waits_for_lease);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* Killed before it took over the handover: the next process learns from the journal which Ray
 * ran. */
/* `up` ends its wait by this field, so it must be right in both directions. */
static void a_service_without_the_lease_says_so(void **state)
{
    struct service_scene *scene = *state;
    struct ctl_status status;
    struct arena arena;
    arena_init(&arena);
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    scene->service.head.is_leading = false;
    snprintf(scene->service.activity.refusal, sizeof(scene->service.activity.refusal), "denied");
    service_status(&scene->service, &arena, &status);
    assert_false(status.is_settled);
    assert_true(status.waits_for_lease);
    assert_true(str_is(status.waits_for, "the cluster lease: denied"));
    /* Ray keeps the workers: there is nothing to wait for. */
    scene->service.activity.ray_autoscaler.old_ray[0] = '2';
    service_status(&scene->service, &arena, &status);
    assert_true(status.is_settled);
    assert_false(status.waits_for_lease);
    scene->service.activity.ray_autoscaler.old_ray[0] = '\0';
    scene->service.head.is_leading = true;
    service_status(&scene->service, &arena, &status);
    assert_false(status.waits_for_lease);
    arena_clear(&arena);
    service_scene_end(scene);
}

static void adopt(struct service_scene *scene, uint64_t launch, int64_t count, enum outcome outcome)
{
    struct journal_intent intent = {launch, 0, count, STR("t"), STR("c"), 1, true, outcome};
    assert_true(journal_adopt_intent(scene->service.head.journal, &intent, &scene->err));
}

/* `up` tried to launch the workers; the service that takes over knows the reason for the
 * failure. */
static void a_launch_that_was_refused_before_is_known(void **state)
{
    struct service_scene *scene = *state;
    struct service *service = &scene->service;
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    const uint64_t first = (UINT64_C(1000) << 32) + 7; /* later than what this service launched */
    adopt(scene, HEAD_LAUNCH(1, 1), 1, OUTCOME_CAPACITY);
    adopt(scene, first, 1, OUTCOME_DONE);
    adopt(scene, first + 1, 1, OUTCOME_UNKNOWN);
    assert_true(launch_failures_read(&service->failures, service->head.journal, &scene->err));
    assert_string_equal(launch_failures_text(&service->failures), "");
    adopt(scene, first + 2, 1, OUTCOME_CAPACITY);
    assert_true(launch_failures_read(&service->failures, service->head.journal, &scene->err));
    assert_string_equal(launch_failures_text(&service->failures),
                        "the last launch was refused: no capacity");
    adopt(scene, first + 3, 1, OUTCOME_DONE);
    assert_true(launch_failures_read(&service->failures, service->head.journal, &scene->err));
    assert_string_equal(launch_failures_text(&service->failures), "");
    /* A launch that got fewer instances than it asked for: those do not clear it. */
    struct journal_launched came = {.launch = first + 4, .instance = 77, .wall_ms = 1};
    adopt(scene, first + 4, 2, OUTCOME_DONE);
    assert_true(journal_launched(service->head.journal, &came, &scene->err));
    assert_true(launch_failures_read(&service->failures, service->head.journal, &scene->err));
    launch_failures_came(&service->failures, first + 4);
    assert_string_equal(launch_failures_text(&service->failures),
                        "the last launch got 1 of 2: no capacity for the rest");
    const uint64_t second = (UINT64_C(2) << 32) + 1;
    assert_true(launch_failures_note(&service->failures, second, STR("quota")));
    assert_string_equal(launch_failures_text(&service->failures), "launch 2.1: quota");
    assert_false(launch_failures_note(&service->failures, second + 1, STR("quota")));
    assert_string_equal(launch_failures_text(&service->failures), "launch 2.2: quota");
    assert_true(launch_failures_note(&service->failures, 0, STR("cannot prepare: denied")));
    assert_string_equal(launch_failures_text(&service->failures), "cannot prepare: denied");
    launch_failures_came(&service->failures, second + 1);
    assert_string_equal(launch_failures_text(&service->failures), "");
    assert_true(launch_failures_is_refusal(OUTCOME_QUOTA));
    assert_false(launch_failures_is_refusal(OUTCOME_THROTTLED));
    service_scene_end(scene);
}

static void a_killed_service_still_waits_for_the_heads_new_ray(void **state)
{
    struct service_scene *scene = *state;
    begin(scene);
    (void)head_text(scene, FIRST_HEAD);
    scene->handover.serial++;
    scene->handover.epoch = 0;
    scene->handover.restarts_ray = true;
    service_scene_hand_over(scene);
    service_scene_end(scene);
    service_scene_begin(scene);
    assert_true(head_ray_is_restarting(&scene->service.head));
    (void)head_text(scene, FIRST_HEAD);
    assert_true(head_ray_is_restarting(&scene->service.head));
    (void)head_text(scene, SECOND_HEAD);
    assert_false(head_ray_is_restarting(&scene->service.head));
    service_scene_end(scene);
}

/* ---- stopping an idle cluster ---- */

/* The cluster was idle for long enough, by all polls before. */
static void rest_after(struct service_scene *scene, size_t drivers, bool sees_drivers)
{
    struct gcs_answer answer = {.trouble = sees_drivers ? GCS_FINE : GCS_AWAY};
    int64_t now = loop_now_ms(scene->service.head.session.loop);
    scene->service.idle.proc = "/nonexistent"; /* developers use this machine */
    scene->service.idle.idle_stop = (struct idle_stop){.after_ms = 1, .idle_since_ms = now - 100};
    idle_watch_on_drivers(&scene->service.idle, &answer, drivers);
}

static struct str goal_of(const struct service_scene *scene, struct arena *arena)
{
    struct ctl_status status;
    service_status(&scene->service, arena, &status);
    return status.goal;
}

static void a_cluster_with_busy_nodes_or_drivers_does_not_rest(void **state)
{
    struct service_scene *scene = *state;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    begin(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_RUNNING);
    ray_answers(scene);
    (void)service_runs_until(scene, NULL, 20);
    assert_int_equal(service_idle_view(&scene->service).busy, 1);
    rest_after(scene, 0, true);
    assert_false(scene->service.head.is_ending);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    (void)service_runs_until(scene, NULL, 20);
    assert_int_equal(service_idle_view(&scene->service).busy, 0);
    rest_after(scene, 1, true);
    assert_false(scene->service.head.is_ending);
    rest_after(scene, 0, false); /* the number of drivers is unknown */
    assert_false(scene->service.head.is_ending);
    scene->service.idle.gpus = 1;
    rest_after(scene, 0, true);
    assert_false(scene->service.head.is_ending);
    assert_string_equal(scene->service.idle.kept_by, "1 GPU in use on the head");
    scene->service.idle.gpus = 0;
    assert_str(goal_of(scene, &arena), "run");
    rest_after(scene, 0, true);
    assert_true(scene->service.head.is_ending);
    assert_str(goal_of(scene, &arena), "down");
    service_scene_end(scene);
}

/* A session on a terminal keeps the head, and the status says so. */
static void a_head_that_people_use_does_not_rest(void **state)
{
    struct service_scene *scene = *state;
    char proc[100];
    char path[160];
    struct arena arena;
    struct ctl_status status;
    arena_init(&arena);
    begin(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    (void)service_runs_until(scene, NULL, 20);
    snprintf(proc, sizeof(proc), "%s/proc", scene->scratch);
    snprintf(path, sizeof(path), "%s/7", proc);
    assert_true(file_make_private_folder(proc, &scene->err));
    assert_true(file_make_private_folder(path, &scene->err));
    snprintf(path, sizeof(path), "%s/7/cmdline", proc);
    assert_true(file_write(path, STR("sshd: ubuntu@pts/0"), 0600, &scene->err));
    snprintf(path, sizeof(path), "%s/7/stat", proc);
    assert_true(file_write(path, STR("7 (sshd) S 1 7"), 0600, &scene->err));
    scene->service.idle.proc = proc;
    idle_watch_on_drivers(&scene->service.idle, &(struct gcs_answer){.trouble = GCS_FINE}, 0);
    assert_int_equal(scene->service.idle.idle_stop.idle_since_ms, 0);
    service_status(&scene->service, &arena, &status);
    assert_true(str_is(status.idle_stop, "kept running by 1 ssh session on the head"));
    scene->service.idle.proc = "/nonexistent";
    idle_watch_on_drivers(&scene->service.idle, &(struct gcs_answer){.trouble = GCS_FINE}, 0);
    service_status(&scene->service, &arena, &status);
    assert_true(str_starts(status.idle_stop, "idle and stops at 2"));
    assert_false(scene->service.head.is_ending);
    arena_clear(&arena);
    service_scene_end(scene);
}

static bool gpus_are_known(struct service_scene *scene)
{
    return !scene->service.idle.gpu_query;
}

/* A program in place of nvidia-smi: in use, failing (no GPU), missing. */
static void gpus_of_the_head_are_asked_for(void **state)
{
    struct service_scene *scene = *state;
    const struct gcs_answer fine = {.trouble = GCS_FINE};
    char path[160];
    begin(scene);
    scene->service.idle.proc = "/nonexistent";
    snprintf(path, sizeof(path), "%s/nvidia-smi", scene->scratch);
    assert_true(file_write(path, STR("#!/bin/sh\necho 0\necho 80\n"), 0700, &scene->err));
    assert_int_equal(setenv("PATH", scene->scratch, 1), 0);
    assert_service(scene, gpus_are_known); /* the first look of the service itself */
    scene->service.idle.has_no_gpu = false;
    idle_watch_on_drivers(&scene->service.idle, &fine, 0);
    assert_service(scene, gpus_are_known);
    assert_int_equal(scene->service.idle.gpus, 1);
    assert_true(file_write(path, STR("#!/bin/sh\necho 80\nexit 9\n"), 0700, &scene->err));
    idle_watch_on_drivers(&scene->service.idle, &fine, 0);
    assert_service(scene, gpus_are_known);
    assert_int_equal(scene->service.idle.gpus, 0);
    assert_false(scene->service.idle.has_no_gpu);
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    idle_watch_on_drivers(&scene->service.idle, &fine, 0);
    assert_service(scene, gpus_are_known);
    assert_true(scene->service.idle.has_no_gpu);
    service_scene_end(scene);
}

/* ---- spot ---- */

/* Ray removes an idle node at once when its instance is interrupted. */
static void an_idle_node_with_notice_has_not_failed(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    begin(scene);
    fake_cloud_find(&scene->cloud, "i-1")->market = MARKET_SPOT;
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    const struct gcs_node nodes[] = {
        {.instance_id = STR("i-1"), .ended_ms = 1}, /* an earlier raylet */
        {.instance_id = STR("i-1"), .ended_ms = 2, .is_preempted = true},
        {.instance_id = STR("i-9"), .ended_ms = 3},
    };
    assert_true(deaths_hold(scene->service.deaths, WORKER));
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_READY);
    deaths_apply(scene->service.deaths, 1, nodes, ARRAY_LEN(nodes));
    (void)service_runs_until(scene, NULL, 50);
    struct node_view view = view_of_worker(scene, &arena);
    assert_int_equal(view.phase, PHASE_TERMINATING);
    assert_int_equal(view.failure.step.len, 0);
    assert_int_equal(events_with(scene, "failed"), 0);
    assert_int_equal(events_with(scene, "then the node is terminated"), 1);
    assert_int_equal(convergence_count(&scene->service.workers, CONVERGE_FAILED), 0);
    arena_clear(&arena);
    service_scene_end(scene);
}

static void a_node_that_died_of_something_else_has_failed(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    begin(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    const struct gcs_node nodes[] = {
        {.instance_id = STR("i-1"), .ended_ms = 1, .is_preempted = true}, /* an earlier raylet */
        {.instance_id = STR("i-1"), .ended_ms = 2},
    };
    assert_true(deaths_hold(scene->service.deaths, WORKER));
    deaths_apply(scene->service.deaths, 1, nodes, ARRAY_LEN(nodes));
    (void)service_runs_until(scene, NULL, 50);
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_FAILED);
    assert_int_equal(events_with(scene, "failed"), 1);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* The cause cannot be queried: the node counts as failed. */
static void a_death_is_not_held_for_ever(void **state)
{
    struct service_scene *scene = *state;
    struct arena arena;
    arena_init(&arena);
    begin(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 1, "i-1", RAY_NODE_DEAD);
    ray_answers(scene);
    assert_int_equal(view_of_worker(scene, &arena).phase, PHASE_FAILED);
    arena_clear(&arena);
    service_scene_end(scene);
}

/* ---- long runs ---- */

static void what_is_gone_is_removed_after_a_day_or_when_there_is_much(void **state)
{
    (void)state;
    const struct retention keep = retention_make();
    const int64_t day = 24 * 3600 * 1000;
    assert_false(tidy_is_due(&keep, 0, 0, day));
    assert_false(tidy_is_due(&keep, 5, 0, day));
    assert_true(tidy_is_due(&keep, 5, 0, day + 5));
    assert_false(tidy_is_due(&keep, 5, 499, day));
    assert_true(tidy_is_due(&keep, 5, 500, day));
    assert_true(tidy_is_due(&keep, 0, 500, day));
}

static void add_head(struct service_scene *scene)
{
    struct fake_cloud *cloud = &scene->cloud;
    struct machine *machine = fake_cloud_find(cloud, "i-1");
    /* The head is the cloud's only instance while the test runs the cleanup. */
    static const struct machine_tag tags[] = {{{"ray-node-type", 13}, {"head", 4}}};
    machine->tags = tags;
    machine->tag_count = 1;
}

static bool is_there(struct service_scene *scene, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
    return file_stat(path).kind != FILE_MISSING;
}

static void put(struct service_scene *scene, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
    assert_true(file_write(path, STR("x\n"), 0600, &scene->err));
}

static uint64_t number_of(struct service_scene *scene, const char *id)
{
    uint64_t number;
    assert_true(journal_begin(scene->service.head.journal, &scene->err));
    assert_true(journal_number(scene->service.head.journal, str_from(id), &number, &scene->err));
    assert_true(journal_commit(scene->service.head.journal, &scene->err));
    return number;
}

static bool sees_head(struct service_scene *scene)
{
    struct managed_node head;
    return scene->service.head.controller &&
           controller_find(scene->service.head.controller, HEAD_INSTANCE, &head) && head.machine;
}

static void logs_keys_and_rows_of_gone_machines_go(void **state)
{
    struct service_scene *scene = *state;
    const int64_t day = 24 * 3600 * 1000;
    struct str text;
    struct arena arena;
    arena_init(&arena);
    begin(scene);
    uint64_t gone = number_of(scene, "i-0gone");
    assert_int_equal(gone, 3);
    put(scene, "log/worker-2");
    put(scene, "log/worker-1");
    put(scene, "known_hosts/i-0gone");
    put(scene, "known_hosts/i-1");
    assert_true(journal_note(scene->service.head.journal, "worker i-0gone", STR("x"), &scene->err));
    retention_task_sweep(scene->service.retention,
                         day); /* the head is not listed: nothing is known */
    retention_task_sweep(scene->service.retention, 3 * day);
    assert_true(is_there(scene, "log/worker-2"));
    add_head(scene);
    controller_refresh(scene->service.head.controller);
    assert_service(scene, sees_head);
    retention_task_sweep(scene->service.retention, 5 * day);
    assert_true(is_there(scene, "log/worker-2"));
    retention_task_sweep(scene->service.retention, 6 * day);
    assert_false(is_there(scene, "log/worker-2"));
    assert_false(is_there(scene, "known_hosts/i-0gone"));
    assert_true(
        journal_get(scene->service.head.journal, "worker i-0gone", &arena, &text, &scene->err));
    assert_null(text.ptr);
    assert_true(
        journal_get(scene->service.head.journal, "gone i-0gone", &arena, &text, &scene->err));
    assert_null(text.ptr);
    assert_true(number_of(scene, "i-0gone") > gone); /* its number is not used again */
    arena_clear(&arena);
    service_scene_end(scene);
}

static bool oldest_log_is_removed(struct service_scene *scene)
{
    return !is_there(scene, "log/worker-2");
}

static bool all_logs_are_removed(struct service_scene *scene)
{
    return !is_there(scene, "log/worker-3") && !is_there(scene, "log/worker-4");
}

/* The service itself cleans up: by count first, by age after a day. */
static void a_short_retention_removes_the_oldest_by_itself(void **state)
{
    struct service_scene *scene = *state;
    setenv("SHOAL_TEST_TIMES", "keep_nodes=2,keep_node=600000,sweep=20", 1);
    begin(scene);
    unsetenv("SHOAL_TEST_TIMES");
    assert_int_equal(number_of(scene, "i-0a"), 3);
    put(scene, "log/worker-2");
    put(scene, "known_hosts/i-0a");
    assert_int_equal(number_of(scene, "i-0b"), 4);
    put(scene, "log/worker-3");
    assert_int_equal(number_of(scene, "i-0c"), 5);
    put(scene, "log/worker-4");
    put(scene, "known_hosts/i-0c");
    add_head(scene);
    controller_refresh(scene->service.head.controller);
    assert_service(scene, oldest_log_is_removed);
    assert_false(is_there(scene, "known_hosts/i-0a"));
    assert_int_equal(number_of(scene, "i-0b"), 4); /* its row is kept */
    assert_true(is_there(scene, "log/worker-3"));
    assert_true(is_there(scene, "log/worker-4"));
    assert_true(is_there(scene, "known_hosts/i-0c"));
    scene->service.retention->retention.node_ms = 50;
    assert_service(scene, all_logs_are_removed);
    assert_int_equal(number_of(scene, "i-0b"), 6); /* its row was removed */
    service_scene_end(scene);
}

/* A full disk for SQLite: its file cannot grow. */
static void a_journal_that_cannot_be_written_is_told(void **state)
{
    struct service_scene *scene = *state;
    struct ctl_status status;
    struct cluster_status cluster_status;
    struct rlimit before;
    struct arena arena;
    arena_init(&arena);
    begin(scene);
    service_status(&scene->service, &arena, &status);
    assert_int_equal(str_find(status.autoscaler_message, "journal"), SIZE_MAX);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit none = {1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_false(journal_note(scene->service.head.journal, "a", STR("b"), &scene->err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    service_status(&scene->service, &arena, &status);
    assert_true(str_find(status.autoscaler_message, "the journal cannot be written (") != SIZE_MAX);
    assert_true(str_find(status.autoscaler_message, "no launches until") != SIZE_MAX);
    decision_cluster_status(scene->service.decision, &arena, &cluster_status);
    assert_true(str_find(str_from(cluster_status.launching), "the journal cannot") != SIZE_MAX ||
                !scene->service.head.is_leading);
    assert_true(journal_note(scene->service.head.journal, "a", STR("b"), &scene->err));
    service_status(&scene->service, &arena, &status);
    assert_int_equal(str_find(status.autoscaler_message, "journal"), SIZE_MAX);
    arena_clear(&arena);
    service_scene_end(scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drain_counts_as_accepted_only_when_it_was),
        cmocka_unit_test(a_raylet_may_refuse_an_idle_drain),
        TEST(a_node_without_instance_keeps_its_type),
        TEST(a_drain_that_nobody_hears_terminates_nothing),
        TEST(a_gcs_that_went_back_was_restarted),
        TEST(a_worker_joins_the_ray_that_replaced_its_own),
        TEST(a_start_for_a_replaced_ray_has_not_failed),
        TEST(each_up_sets_up_a_worker_that_failed),
        TEST(a_worker_that_the_gcs_kept_is_left_alone),
        TEST(a_kept_worker_whose_raylet_ended_is_set_up_again),
        TEST(a_kept_worker_that_reconnected_can_fail),
        TEST(workers_wait_for_the_heads_new_ray),
        TEST(a_service_without_the_lease_says_so),
        TEST(a_launch_that_was_refused_before_is_known),
        TEST(a_killed_service_still_waits_for_the_heads_new_ray),
        TEST(a_cluster_with_busy_nodes_or_drivers_does_not_rest),
        TEST(a_head_that_people_use_does_not_rest),
        TEST(gpus_of_the_head_are_asked_for),
        TEST(an_idle_node_with_notice_has_not_failed),
        TEST(a_node_that_died_of_something_else_has_failed),
        TEST(a_death_is_not_held_for_ever),
        cmocka_unit_test(what_is_gone_is_removed_after_a_day_or_when_there_is_much),
        TEST(logs_keys_and_rows_of_gone_machines_go),
        TEST(a_short_retention_removes_the_oldest_by_itself),
        TEST(a_journal_that_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
