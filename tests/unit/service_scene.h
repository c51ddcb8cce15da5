/*
 * service_scene.h: the whole service of a head in this process: a cloud in memory, a journal in a
 * scratch folder, and replies of Ray's GCS that the test writes. Its ssh never connects.
 */
#pragma once

#include "app/head/service_internal.h"

#include "config/document/json_write.h"
#include "fake_provider.h"
#include "fixture.h"
#include "io/file.h"
#include "ray_reply.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE_YAML                                                                             \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"                             \
    "auth: {ssh_user: ubuntu}\nmax_workers: 4\nhead_node_type: head\nidle_timeout_minutes: 60\n" \
    "metadata: {shoal: {idle_stop: 1, metrics_address: none}}\n"                                 \
    "available_node_types:\n"                                                                    \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"                     \
    "  small: {min_workers: 1, max_workers: 4, resources: {CPU: 2},"                             \
    " node_config: {InstanceType: m5.large}}\n"

enum { SERVICE_PATIENCE_MS = 20 * 1000, FIRST_HEAD = 100, SECOND_HEAD = 200 };

struct service_scene {
    struct service service;
    struct fixture *fixture;
    struct fake_cloud cloud;
    char scratch[64];
    char folder[128];
    struct handover handover;
    const struct clock *clock; /* NULL: of the machine */
    struct buf state, reply;   /* of the GCS */
    int64_t version;
    struct err err;
};

/* ---- opening ---- */

static inline void service_scene_hand_over(struct service_scene *scene)
{
    AUTO_BUF struct buf text;
    char path[200];
    buf_init(&text, HANDOVER_BYTES_MAX);
    handover_write(&scene->handover, &text);
    snprintf(path, sizeof(path), "%s/" HANDOVER_NAME, scene->folder);
    assert_true(file_make_private_folder(scene->folder, &scene->err));
    assert_true(file_write(path, buf_str(&text), 0600, &scene->err));
}

/* The cluster file is this text. */
static inline void service_scene_set_file(struct service_scene *scene, const char *yaml)
{
    AUTO_BUF struct buf config;
    buf_init(&config, HANDOVER_BYTES_MAX);
    const struct value *tree = fixture_prepare(scene->fixture, yaml);
    assert_non_null(tree);
    assert_true(json_write(&config, tree, JSON_IN_YAML, &scene->err));
    scene->handover.config = arena_str(&scene->fixture->arena, buf_str(&config));
}

static inline struct service_scene *service_scene_new(void)
{
    static const struct handover_machine machines[] = {{1, {"head", 4}}};
    struct service_scene *scene = calloc(1, sizeof(*scene));
    AUTO_BUF struct buf config;
    char path[100];
    scene->fixture = fixture_new();
    memcpy(scene->scratch, "/tmp/shoal-service-XXXXXX", 26);
    assert_non_null(mkdtemp(scene->scratch));
    snprintf(scene->folder, sizeof(scene->folder), "%s/.shoal/cluster", scene->scratch);
    setenv("HOME", scene->scratch, 1);
    setenv("XDG_RUNTIME_DIR", scene->scratch, 1);
    setenv("PATH", scene->scratch, 1);
    snprintf(path, sizeof(path), "%s/ssh", scene->scratch);
    assert_true(file_write(path, STR("#!/bin/sh\nexec /bin/sleep 60\n"), 0755, &scene->err));
    fake_cloud_init(&scene->cloud);
    buf_init(&scene->state, REPLY_CAP);
    buf_init(&scene->reply, REPLY_CAP);
    buf_init(&config, HANDOVER_BYTES_MAX);
    const struct value *tree = fixture_prepare(scene->fixture, SERVICE_YAML);
    assert_non_null(tree);
    assert_true(json_write(&config, tree, JSON_IN_YAML, &scene->err));
    scene->handover = (struct handover){
        .uid = scene->cloud.uid,
        .epoch = 1,
        .sole_writer_epoch = 1,
        .serial = 1000,
        .config = arena_str(&scene->fixture->arena, buf_str(&config)),
        .secret = STR("5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"),
        .key = STR("not a key\n"),
        .head_id = STR("i-head"),
        .head_private_ip = STR("127.0.0.1"),
        .contents_hash = STR("c1"),
        .machines = machines,
        .machine_count = 1,
    };
    service_scene_hand_over(scene);
    return scene;
}

/* A new process starts. */
static inline void service_scene_begin(struct service_scene *scene)
{
    struct service *service = &scene->service;
    *service = (struct service){.head = {.folder = scene->folder}};
    arena_init_secret(&service->head.arena);
    if (!head_context_load(&service->head, &scene->err)) {
        fail_msg("%s", scene->err.text);
    }
    service->head.core.settings.times.retry_first = 50;
    service->head.core.settings.times.retry_most = 200;
    service->head.ray_address = STR("127.0.0.1:1"); /* no process listens there */
    assert_true(cloud_session_open(
        &service->head.session,
        &(struct cloud_session_setup){.least = LOG_LEVEL_ERROR, .clock = scene->clock},
        &scene->err));
    assert_true(cloud_session_open_http(&service->head.session, &scene->err));
    service->head.provider = fake_provider_new(&scene->cloud, service->head.session.loop);
    assert_true(service_open(service, &scene->err));
}

static inline void service_scene_end(struct service_scene *scene)
{
    service_close(&scene->service);
}

static inline void service_scene_free(struct service_scene *scene)
{
    fake_cloud_clear(&scene->cloud);
    buf_clear(&scene->state);
    buf_clear(&scene->reply);
    fixture_free(&scene->fixture);
    scratch_remove(scene->scratch);
    free(scene);
}

/* ---- time ---- */

typedef bool service_scene_fn(struct service_scene *scene);

struct service_waiting {
    struct service_scene *scene;
    service_scene_fn *is_so;
    struct loop_timer *timer;
    int64_t until;
    bool came;
};

static inline void service_scene_look(void *context)
{
    struct service_waiting *waiting = context;
    struct loop *loop = waiting->scene->service.head.session.loop;
    waiting->came = waiting->is_so && waiting->is_so(waiting->scene);
    if (waiting->came || loop_now_ms(loop) >= waiting->until) {
        loop_stop(loop);
    } else {
        loop_timer_start(waiting->timer, 2);
    }
}

static inline bool service_runs_until(struct service_scene *scene, service_scene_fn *is_so,
                                      int64_t patience_ms)
{
    struct loop *loop = scene->service.head.session.loop;
    struct service_waiting waiting = {.scene = scene, .is_so = is_so};
    waiting.until = loop_now_ms(loop) + patience_ms;
    waiting.timer = loop_timer_new(loop, service_scene_look, &waiting);
    loop_timer_start(waiting.timer, 0);
    loop_run(loop);
    loop_timer_free(waiting.timer);
    return waiting.came;
}

#define assert_service(scene, is_so) \
    assert_true(service_runs_until((scene), (is_so), SERVICE_PATIENCE_MS))

/* ---- Ray ---- */

static inline void ray_has_head(struct service_scene *scene, uint64_t number)
{
    reply_add_node(&scene->state, &(struct reply_node){.number = number,
                                                       .instance = "i-head",
                                                       .status = RAY_NODE_IDLE,
                                                       .idle_ms = 100000,
                                                       .amounts = {{"CPU", 2, 2}},
                                                       .is_head = true});
}

static inline void ray_has_worker(struct service_scene *scene, uint64_t number, const char *id,
                                  enum ray_node_status status)
{
    bool is_busy = status == RAY_NODE_RUNNING;
    reply_add_node(&scene->state, &(struct reply_node){.number = number,
                                                       .instance = id,
                                                       .status = status,
                                                       .idle_ms = is_busy ? 0 : 100000,
                                                       .amounts = {{"CPU", 2, is_busy ? 0 : 2}}});
}

/* Makes everything that was added since the last reply Ray's present state. */
static inline void ray_answers(struct service_scene *scene)
{
    int64_t now = loop_now_ms(scene->service.head.session.loop);
    struct str bytes = reply_end(&scene->state, &scene->reply, ++scene->version);
    if (!service_ray_seen(&scene->service, bytes, now, &scene->err)) {
        fail_msg("%s", scene->err.text);
    }
}

/* ---- queries ---- */

static inline bool is_leading(struct service_scene *scene)
{
    return scene->service.head.is_leading;
}

struct event_search {
    const char *text;
    size_t count;
};

static inline void count_event(void *context, const struct cluster_event *event)
{
    struct event_search *search = context;
    search->count += str_find(event->text, search->text) != SIZE_MAX ||
                     str_find(event->reason, search->text) != SIZE_MAX;
}

static inline size_t events_with(struct service_scene *scene, const char *text)
{
    struct event_search search = {text, 0};
    events_each(scene->service.head.events, 0, count_event, &search);
    return search.count;
}
