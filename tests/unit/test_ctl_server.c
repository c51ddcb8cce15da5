/* test_ctl_server.c: a request gets its answer, a follower gets every change. */
#include "app/head/ctl/ctl_server.h"

#include "core/event.h"
#include "io/line_socket.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scene {
    struct loop *loop;
    struct ctl_server *server;
    struct line_link *link;
    struct loop_timer *act; /* starts the next step */
    struct loop_timer *limit;
    char folder[64];
    char heard[20000];
    /* what the service has to report */
    struct pending_demand demands[2];
    size_t demand_count;
    struct resource_usage use;
    bool has_worker;
    bool is_collecting; /* facts for explanations */
    int64_t event_count;
    int64_t seen_ms;
    int acts;
    struct str stop_at; /* a line that contains this ends the scene */
    void (*next)(struct scene *scene);
};

/* ---- hooks ---- */

static void greet(void *context, struct ctl_line *line)
{
    (void)context;
    line->greeting.version = STR("0.1");
    line->greeting.protocol = line->greeting.least = 1;
}

static void say_status(void *context, struct arena *arena, struct ctl_status *ret_status)
{
    struct scene *scene = context;
    (void)arena;
    *ret_status = (struct ctl_status){.autoscaler = AUTOSCALER_ACTIVE,
                                      .price = -1,
                                      .price_limit = -1,
                                      .now_ms = 1790000000000 + scene->acts,
                                      .seen_ms = 1790000000000 + scene->seen_ms};
}

static void view_all(void *context, struct arena *arena, ctl_server_view_fn *take, void *taker)
{
    struct scene *scene = context;
    struct node_view view = {.name = STR("worker-1"),
                             .phase = PHASE_READY,
                             .price = -1,
                             .uses = &scene->use,
                             .use_count = 1};
    (void)arena;
    if (scene->has_worker) {
        take(taker, &view);
    }
}

static bool view_one(void *context, uint64_t instance, struct arena *arena,
                     struct node_view *ret_view)
{
    (void)context;
    (void)arena;
    *ret_view = (struct node_view){.name = STR("worker-1"), .phase = PHASE_READY, .price = -1};
    return instance == 2;
}

static void say_cluster_status(void *context, struct arena *arena,
                               struct cluster_status *ret_cluster_status)
{
    struct scene *scene = context;
    (void)arena;
    *ret_cluster_status = (struct cluster_status){.demands = scene->demands,
                                                  .demand_count = scene->demand_count,
                                                  .launching = "",
                                                  .ending = ""};
}

static bool say_events(void *context, int64_t after, ctl_server_event_fn *take, void *taker,
                       struct err *err)
{
    struct scene *scene = context;
    (void)err;
    for (int64_t i = after + 1; i <= scene->event_count; i++) {
        take(taker, &(struct cluster_event){.number = i, .text = STR("it happened")});
    }
    return true;
}

static bool explain(void *context, struct str about, struct arena *arena,
                    ctl_server_explain_fn *take, void *taker, struct err *err)
{
    static const struct str lines[] = {{"because", 7}};
    (void)context;
    (void)arena;
    if (str_is(about, "nobody")) {
        return err_set(err, ERR_NOT_FOUND, "there is no nobody");
    }
    take(taker, &(struct ctl_answer){.question = about, .lines = lines, .line_count = 1});
    return true;
}

static bool explain_later(void *context, struct arena *arena)
{
    struct scene *scene = context;
    (void)arena;
    if (scene->is_collecting) {
        loop_timer_start(scene->act, 10);
    }
    return scene->is_collecting;
}

static bool request_resources(void *context, const struct gcs_bundle *bundles, size_t count,
                              struct err *err)
{
    struct scene *scene = context;
    (void)bundles;
    if (count == 0) {
        return err_set(err, ERR_UNAVAILABLE, "not now");
    }
    loop_timer_start(scene->act, 10);
    return true;
}

static bool train_demand(void *context, const struct ctl_request *request, struct arena *arena,
                         struct str *ret_why, struct err *err)
{
    (void)context;
    (void)arena;
    if (str_is(request->job, "bad")) {
        return err_set(err, ERR_USAGE, "not this one");
    }
    *ret_why = request->bundle_count > 0 ? STR("") : STR("the cluster is full");
    return true;
}

static bool ray_status(void *context, struct err *err)
{
    struct scene *scene = context;
    (void)err;
    loop_timer_start(scene->act, 10);
    return true;
}

static bool stand_down(void *context, bool *ret_is_later, struct err *err)
{
    struct scene *scene = context;
    (void)err;
    loop_timer_start(scene->act, 10);
    *ret_is_later = true;
    return true;
}

/* ---- the scene ---- */

static void hear(void *context, struct str line)
{
    struct scene *scene = context;
    size_t used = strlen(scene->heard);
    snprintf(scene->heard + used, sizeof(scene->heard) - used, "%.*s\n", STR_ARG(line));
    if (scene->stop_at.len > 0 && str_find(line, scene->stop_at.ptr) != SIZE_MAX) {
        loop_stop(scene->loop);
    }
}

static void apply_end(void *context, const struct err *err)
{
    struct scene *scene = context;
    (void)err;
    loop_stop(scene->loop);
}

static void act(void *context)
{
    struct scene *scene = context;
    scene->acts++;
    scene->next(scene);
}

static void too_late(void *context)
{
    const struct scene *scene = context;
    fail_msg("it did not end; heard: %s", scene->heard);
}

static void open_scene(struct scene *scene)
{
    struct err err;
    char path[128];
    struct ctl_server_hooks hooks = {
        .context = scene,
        .greeting = greet,
        .status = say_status,
        .each = view_all,
        .one = view_one,
        .stand_down = stand_down,
        .cluster_status = say_cluster_status,
        .events = say_events,
        .explain = explain,
        .explain_later = explain_later,
        .request_resources = request_resources,
        .train_demand = train_demand,
        .ray_status = ray_status,
    };
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/desk.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    assert_true(ctl_server_open(scene->loop, scene->folder, &hooks, &scene->server, &err));
    scene->act = loop_timer_new(scene->loop, act, scene);
    scene->limit = loop_timer_new(scene->loop, too_late, scene);
    loop_timer_start(scene->limit, 20000);
    snprintf(path, sizeof(path), "%s/ctl.sock", scene->folder);
    assert_true(line_link_open(scene->loop, path, &(struct line_link_limits){0},
                               &(struct line_link_hooks){scene, hear, apply_end}, &scene->link,
                               &err));
}

/* Sends that, and reads until a line contains `stop_at`. */
static void play(struct scene *scene, const char *says, struct str stop_at)
{
    scene->stop_at = stop_at;
    scene->heard[0] = '\0';
    line_link_write(scene->link, str_from(says));
    loop_run(scene->loop);
}

static void close_scene(struct scene *scene)
{
    line_link_close(scene->link);
    ctl_server_close(scene->server);
    loop_timer_free(scene->act);
    loop_timer_free(scene->limit);
    loop_close(scene->loop);
    rmdir(scene->folder);
}

#define ASSERT_HEARD(scene, text)                                        \
    do {                                                                 \
        if (!strstr((scene)->heard, text)) {                             \
            fail_msg("not heard: %s\nbut:\n%s", (text), (scene)->heard); \
        }                                                                \
    } while (0)

#define ASSERT_NOT_HEARD(scene, text)                               \
    do {                                                            \
        if (strstr((scene)->heard, text)) {                         \
            fail_msg("heard: %s\nin:\n%s", (text), (scene)->heard); \
        }                                                           \
    } while (0)

static void demands_are_for_those_who_ask_for_them(void **state)
{
    struct scene scene = {.has_worker = true,
                          .use = {{"CPU", 3}, 1, 4},
                          .demands = {{.shape = STR("{CPU: 4}"), .count = 9}},
                          .demand_count = 1};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"status\"}\n", STR("\"end\""));
    ASSERT_HEARD(&scene, "{\"status\":");
    ASSERT_NOT_HEARD(&scene, "\"demand\"");
    play(&scene, "{\"request\":\"status\",\"all\":true}\n", STR("\"end\""));
    ASSERT_HEARD(&scene, "{\"demand\":{\"source\":\"tasks\",\"shape\":\"{CPU: 4}\",\"count\":9}}");
    ASSERT_HEARD(&scene, "\"uses\":[{\"name\":\"CPU\",\"used\":1.0,\"total\":4.0}]");
    close_scene(&scene);
}

static void change_things(struct scene *scene)
{
    if (scene->acts == 1) {
        scene->demands[0].count = 5;
        scene->demands[1] = (struct pending_demand){.shape = STR("{GPU: 1}"), .count = 1};
        scene->demand_count = 2;
    } else if (scene->acts == 2) {
        scene->use.used = 3;
    } else if (scene->acts == 3) {
        scene->demand_count = 0;
        scene->has_worker = false;
    }
    scene->seen_ms += 400; /* which alone is not a change */
    ctl_server_notify(scene->server, INSTANCE_NONE);
    loop_timer_start(scene->act, 300);
}

static void a_training_job_hears_what_becomes_of_its_request(void **state)
{
    struct scene scene = {0};
    (void)state;
    open_scene(&scene);
    play(&scene,
         "{\"request\":\"train-demand\",\"job\":\"a\",\"bundles\":[{\"amounts\":{\"CPU\":1},"
         "\"count\":1}]}\n",
         STR("\"done\""));
    ASSERT_HEARD(&scene, "{\"done\":\"train-demand\"}");
    play(&scene, "{\"request\":\"train-demand\",\"job\":\"a\"}\n", STR("\"end\""));
    ASSERT_HEARD(&scene, "{\"text\":\"the cluster is full\",\"request\":\"train-demand\"}");
    play(&scene, "{\"request\":\"train-demand\",\"job\":\"bad\"}\n", STR("\"error\""));
    ASSERT_HEARD(&scene, "{\"error\":\"not this one\",\"request\":\"train-demand\"}");
    close_scene(&scene);
}

/* Two jobs with the same shape are two requests. */
static void demands_of_two_jobs_differ(void **state)
{
    struct scene scene = {
        .demands =
            {{.source = DEMAND_TRAINING, .shape = STR("{CPU: 1}"), .job = STR("a"), .count = 1},
             {.source = DEMAND_TRAINING, .shape = STR("{CPU: 1}"), .job = STR("b"), .count = 2}},
        .demand_count = 2,
        .acts = 2,
        .next = change_things};
    (void)state;
    open_scene(&scene);
    loop_timer_start(scene.act, 1500);
    play(&scene, "{\"request\":\"follow\",\"all\":true}\n",
         STR("\"shape\":\"{CPU: 1}\",\"job\":\"b\"}}"));
    ASSERT_HEARD(&scene, "\"job\":\"a\",\"count\":1}");
    ASSERT_HEARD(&scene, "\"job\":\"b\",\"count\":2}");
    ASSERT_HEARD(&scene, "\"job\":\"a\"}}");
    close_scene(&scene);
}

static void whoever_wants_all_hears_what_changes(void **state)
{
    struct scene scene = {.has_worker = true,
                          .use = {{"CPU", 3}, 1, 4},
                          .demands = {{.shape = STR("{CPU: 4}"), .count = 9}},
                          .demand_count = 1,
                          .next = change_things};
    (void)state;
    open_scene(&scene);
    loop_timer_start(scene.act, 100);
    play(&scene, "{\"request\":\"follow\",\"all\":true}\n",
         STR("{\"demand\":{\"source\":\"tasks\",\"shape\":\"{GPU: 1}\"}}"));
    ASSERT_HEARD(&scene, "\"shape\":\"{CPU: 4}\",\"count\":9}");
    ASSERT_HEARD(&scene, "\"shape\":\"{CPU: 4}\",\"count\":5}");
    ASSERT_HEARD(&scene, "\"shape\":\"{GPU: 1}\",\"count\":1}");
    ASSERT_HEARD(&scene, "\"used\":3.0");
    ASSERT_HEARD(&scene, "{\"node\":{\"name\":\"worker-1\",\"phase\":\"terminated\"}}");
    size_t statuses = 0;
    for (const char *at = scene.heard; (at = strstr(at, "{\"status\"")); at++) {
        statuses++;
    }
    assert_in_range(statuses, 1, 3);
    close_scene(&scene);
}

static void add_event(struct scene *scene)
{
    scene->event_count++;
    ctl_server_notify(scene->server, INSTANCE_NONE);
    loop_timer_start(scene->act, 50);
}

static void events_are_told_once_and_in_order(void **state)
{
    struct scene scene = {.event_count = 3, .next = add_event};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"events\",\"after\":1}\n", STR("\"end\""));
    ASSERT_NOT_HEARD(&scene, "\"number\":1,");
    ASSERT_HEARD(&scene, "{\"event\":{\"number\":2,");
    ASSERT_HEARD(&scene, "{\"event\":{\"number\":3,");
    loop_timer_start(scene.act, 10);
    play(&scene, "{\"request\":\"events\",\"after\":3,\"follow\":true}\n", STR("\"number\":6,"));
    for (int number = 4; number <= 6; number++) {
        char word[40];
        snprintf(word, sizeof(word), "{\"event\":{\"number\":%d,", number);
        ASSERT_HEARD(&scene, word);
        assert_null(strstr(strstr(scene.heard, word) + 1, word));
    }
    close_scene(&scene);
}

static void answer_later(struct scene *scene)
{
    if (scene->acts == 1) {
        ctl_server_answer_text(scene->server, "ray-status", STR("==== Autoscaler status"));
    } else if (scene->acts == 2) {
        ctl_server_answer(scene->server, "request-resources", NULL);
    } else {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "Ray is away");
        ctl_server_answer(scene->server, "ray-status", &err);
    }
}

static void what_takes_its_time_is_answered_then(void **state)
{
    struct scene scene = {.next = answer_later};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"ray-status\"}\n", STR("\"end\""));
    ASSERT_HEARD(&scene, "{\"text\":\"==== Autoscaler status\"}\n{\"end\":\"ray-status\"}\n");
    play(
        &scene,
        "{\"request\":\"request-resources\",\"bundles\":[{\"amounts\":{\"CPU\":4},\"count\":2}]}\n",
        STR("\"done\""));
    ASSERT_HEARD(&scene, "{\"done\":\"request-resources\"}");
    play(&scene, "{\"request\":\"request-resources\"}\n", STR("\"error\""));
    ASSERT_HEARD(&scene, "{\"error\":\"not now\",\"request\":\"request-resources\"}");
    play(&scene, "{\"request\":\"ray-status\"}\n", STR("\"error\""));
    ASSERT_HEARD(&scene, "{\"error\":\"Ray is away\",\"request\":\"ray-status\"}");
    close_scene(&scene);
}

static void answer_release(struct scene *scene)
{
    ctl_server_answer(scene->server, "release", NULL);
}

/* The service ends then, and cannot be asked for its nodes. */
static void a_release_lists_the_nodes(void **state)
{
    struct scene scene = {.next = answer_release, .has_worker = true, .use = {{"CPU", 3}, 1, 4}};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"release\"}\n", STR("\"done\""));
    ASSERT_HEARD(&scene, "{\"node\":{\"name\":\"worker-");
    ASSERT_HEARD(&scene, "{\"end\":\"status\"}\n{\"done\":\"release\"}\n");
    close_scene(&scene);
}

static void questions_are_answered(void **state)
{
    struct scene scene = {0};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"explain\",\"subject\":\"worker-3\"}\n", STR("\"end\""));
    ASSERT_HEARD(&scene, "{\"explain\":{\"question\":\"worker-3\",\"answer\":[\"because\"]}}");
    play(&scene, "{\"request\":\"explain\",\"subject\":\"nobody\"}\n", STR("\"error\""));
    ASSERT_HEARD(&scene, "{\"error\":\"there is no nobody\",\"request\":\"explain\"}");
    play(&scene, "{\"request\":\"dance\"}\n", STR("\"error\""));
    ASSERT_HEARD(&scene, "does not know the request \\\"dance\\\"; run `shoal up`");
    close_scene(&scene);
}

static void explain_now(struct scene *scene)
{
    scene->is_collecting = false;
    ctl_server_explain(scene->server);
}

static void an_explanation_waits_for_its_facts(void **state)
{
    struct scene scene = {.next = explain_now, .is_collecting = true};
    (void)state;
    open_scene(&scene);
    play(&scene, "{\"request\":\"explain\",\"subject\":\"worker-3\"}\n", STR("\"end\""));
    assert_int_equal(scene.acts, 1);
    ASSERT_HEARD(&scene, "{\"explain\":{\"question\":\"worker-3\",\"answer\":[\"because\"]}}");
    scene.is_collecting = true;
    play(&scene, "{\"request\":\"explain\",\"subject\":\"nobody\"}\n", STR("\"error\""));
    assert_int_equal(scene.acts, 2);
    ASSERT_HEARD(&scene, "{\"error\":\"there is no nobody\",\"request\":\"explain\"}");
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demands_are_for_those_who_ask_for_them),
        cmocka_unit_test(a_training_job_hears_what_becomes_of_its_request),
        cmocka_unit_test(demands_of_two_jobs_differ),
        cmocka_unit_test(whoever_wants_all_hears_what_changes),
        cmocka_unit_test(events_are_told_once_and_in_order),
        cmocka_unit_test(what_takes_its_time_is_answered_then),
        cmocka_unit_test(a_release_lists_the_nodes),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(an_explanation_waits_for_its_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
