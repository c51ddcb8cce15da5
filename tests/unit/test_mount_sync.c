/* test_mount_sync.c: changed file mounts are copied to workers, with programs that stand in for ssh
 * and rsync. */
#include "service_scene.h"

enum { WORKER = 2, LOOK_MS = 5000, RETRY_MS = 60 * 1000 };

#define SYNC_YAML \
    SERVICE_YAML "file_mounts_sync_continuously: true\nfile_mounts: {/tmp/mounted: /etc/hostname}\n"

struct sync_scene {
    struct service_scene *service;
    struct clock clock;
    int64_t ahead_ms;
};

static int64_t moved_ms(void *context)
{
    const struct sync_scene *scene = context;
    return clock_monotonic_ms(&clock_of_machine) + scene->ahead_ms;
}

static int64_t moved_wall_ms(void *context)
{
    const struct sync_scene *scene = context;
    return clock_wall_ms(&clock_of_machine) + scene->ahead_ms;
}

static bool has_worker(struct service_scene *scene)
{
    struct managed_node managed_node;
    return scene->service.head.controller &&
           controller_find(scene->service.head.controller, WORKER, &managed_node) &&
           managed_node.machine && managed_node.node && managed_node.node->state == NODE_BOOTING;
}

static bool is_set_up_begun(struct service_scene *scene)
{
    return worker_setups_progress(scene->service.setups, WORKER) != NULL;
}

static size_t failures(struct service_scene *scene)
{
    return events_with(scene, "changed file mounts could not be copied");
}

static bool has_failed(struct service_scene *scene)
{
    return failures(scene) == 1;
}

static bool has_failed_again(struct service_scene *scene)
{
    return failures(scene) == 2;
}

static void put_program(struct service_scene *scene, const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%s", scene->scratch, name);
    assert_true(file_write(path, str_from(text), 0755, &scene->err));
}

static void remove_program(struct service_scene *scene, const char *name)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%s", scene->scratch, name);
    assert_int_equal(remove(path), 0);
}

static void a_copy_that_failed_is_tried_again(void **state)
{
    struct sync_scene sync = {.service = service_scene_new()};
    struct service_scene *scene = sync.service;
    (void)state;
    sync.clock = (struct clock){moved_ms, moved_wall_ms, &sync};
    scene->clock = &sync.clock;
    service_scene_set_file(scene, SYNC_YAML);
    service_scene_hand_over(scene);
    put_program(scene, "rsync", "#!/bin/sh\necho '-rw-r--r-- 9 2026/11/18 03:08:08 hostname'\n");
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    assert_service(scene, has_worker);
    assert_non_null(scene->service.mount_sync);
    assert_service(scene, is_set_up_begun);
    setup_scheduler_news(scene->service.scheduler, WORKER, SETUP_DONE);
    worker_setups_end(scene->service.setups, WORKER);
    ray_has_head(scene, FIRST_HEAD);
    ray_has_worker(scene, 5, "i-1", RAY_NODE_IDLE);
    ray_answers(scene);
    remove_program(scene, "ssh"); /* so that a copy fails at once */
    sync.ahead_ms += LOOK_MS;
    assert_service(scene, has_failed);
    sync.ahead_ms += RETRY_MS;
    assert_service(scene, has_failed_again);
    service_scene_end(scene);
    service_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_that_failed_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
