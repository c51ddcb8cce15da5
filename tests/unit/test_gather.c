/* test_gather.c: which accounts and projects `ls` and `gc` list; a server plays Google. */
#include "cli/ls/gather.h"

#include "io/file.h"
#include "scratch.h"
#include "script_server.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scene {
    struct script_server *server;
    char folder[64];
    struct arena arena;
    struct err err;
};

static struct script_answer answer(void *context, const struct script_request *request)
{
    (void)context;
    (void)request;
    return (struct script_answer){.body = "{}"};
}

static const char *put(struct scene *scene, const char *name, const char *text)
{
    const char *path = arena_printf(&scene->arena, "%s/%s", scene->folder, name).ptr;
    assert_true(file_write(path, str_from(text), 0600, &scene->err));
    return path;
}

/* A cluster in that project was started from here. */
static void put_cluster(struct scene *scene, const char *name, const char *project)
{
    struct arena *arena = &scene->arena;
    const char *folder = arena_printf(arena, "%s/shoal/gcp-us-west1-%s", scene->folder, name).ptr;
    struct str yaml = arena_printf(arena,
                                   "cluster_name: %s\nprovider: {type: gcp, region: us-west1, "
                                   "project_id: %s}\n",
                                   name, project);
    const char *file = put(scene, arena_printf(arena, "%s.yaml", name).ptr, yaml.ptr);
    assert_true(file_make_private_folder(folder, &scene->err));
    put(scene, arena_printf(arena, "shoal/gcp-us-west1-%s/file", name).ptr, file);
}

static void set_endpoint(struct scene *scene, const char *api, const char *path)
{
    setenv(arena_printf(&scene->arena, "CLOUDSDK_API_ENDPOINT_OVERRIDES_%s", api).ptr,
           arena_printf(&scene->arena, "http://127.0.0.1:%d/%s", script_server_port(scene->server),
                        path)
               .ptr,
           1);
}

static void open_scene(struct scene *scene)
{
    *scene = (struct scene){.folder = "/tmp/shoal-gather-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    arena_init(&scene->arena);
    scene->server = script_server_start(answer, scene);
    clearenv();
    setenv("HOME", scene->folder, 1);
    setenv("XDG_STATE_HOME", scene->folder, 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("NO_GCE_CHECK", "true", 1);
    setenv("GOOGLE_CLOUD_PROJECT", "own-project", 1);
    setenv("GOOGLE_APPLICATION_CREDENTIALS",
           put(scene, "key.json",
               "{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"s\","
               "\"refresh_token\":\"r\",\"token\":\"t\",\"expiry\":\"2099-01-01T00:00:00Z\"}"),
           1);
    set_endpoint(scene, "COMPUTE", "c/");
    set_endpoint(scene, "CLOUDRESOURCEMANAGER", "r/");
    set_endpoint(scene, "IAM", "i");
}

static void close_scene(struct scene *scene)
{
    script_server_stop(scene->server);
    arena_clear(&scene->arena);
    assert_int_equal(scratch_remove(scene->folder), 0);
}

static void each_project_is_listed_once(void **state)
{
    struct scene scene;
    struct gathering_fields given = {0};
    (void)state;
    open_scene(&scene);
    put_cluster(&scene, "one", "own-project");
    put_cluster(&scene, "two", "other-project");
    const struct cli cli = {.out = stdout, .err = stderr, .arena = &scene.arena};
    struct gathering *gathering = ARENA_NEW(&scene.arena, struct gathering);
    *gathering = (struct gathering){.cli = &cli, .arena = &scene.arena};
    assert_int_equal(gathering_run(gathering, &given), 0);
    assert_int_equal(gathering->google.count, 2);
    assert_int_equal(gathering->account->project_count, 2);
    assert_str(gathering->account->projects[0], "own-project");
    assert_str(gathering->account->projects[1], "other-project");
    gathering_close(gathering);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_project_is_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
