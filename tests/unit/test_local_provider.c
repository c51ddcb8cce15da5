/* test_local_provider.c: own machines: who may use a host, and what is left alone there. */
#include "provider/local/local_provider.h"

#include "provider/host_record.h"
#include "shell_hosts.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define UID_A "0123456789abcdef0123456789abcdef"

enum { LEASE_MS = 600 * 1000, DAY_S = 24 * 3600 };

struct scene {
    char home[64];
    struct arena arena;
    struct loop *loop;
    struct shell_hosts hosts;
    struct provider_cluster cluster;
    struct provider *provider;
    /* what was answered */
    enum outcome outcome;
    char why[600], uid[40], findings[2000];
    size_t machines;
    /* when a script for `at` is about to run, the head's lease gets another holder */
    const char *at;
    /* what arrives of the first write to h1; NULL: all */
    const char *received;
};

/* ---- files of hosts ---- */

static const char *scene_path(const struct scene *scene, const char *name)
{
    static char paths[4][200];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", scene->home, name);
    return path;
}

static bool has(const struct scene *scene, const char *name)
{
    return access(scene_path(scene, name), F_OK) == 0;
}

static void put(const struct scene *scene, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof(path), "%s", scene_path(scene, name));
    for (char *at = path + strlen(scene->home) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The record of a host, or NULL. */
static json_t *get_record(const struct scene *scene, const char *host)
{
    char name[40], line[64 * 1024];
    json_t *record = NULL;
    snprintf(name, sizeof(name), "%s/host/record", host);
    FILE *file = fopen(scene_path(scene, name), "r");
    if (file && fgets(line, sizeof(line), file) && fgets(line, sizeof(line), file)) {
        record = json_loads(line, 0, NULL);
    }
    if (file) {
        fclose(file);
    }
    return record;
}

static void put_record(const struct scene *scene, const char *host, const json_t *record)
{
    static long long serial = 3000000000000000; /* above all that a script chose */
    char name[40], text[64 * 1024];
    char *json = json_dumps(record, JSON_COMPACT);
    snprintf(name, sizeof(name), "%s/host/record", host);
    snprintf(text, sizeof(text), "%lld\n%s\n", serial++, json);
    free(json);
    put(scene, name, text);
}

/* A part of the record of a host; NULL: not there. Valid until the next call. */
static const char *text_in(const struct scene *scene, const char *host, const char *name)
{
    static char text[600];
    json_t *record = get_record(scene, host);
    struct str value = host_record_text(record, name);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(value));
    json_decref(record);
    return value.len > 0 ? text : NULL;
}

/* Why the head's record says that a host is not used; "": it is not said. */
static const char *why_unused(const struct scene *scene, const char *host)
{
    static char text[600];
    json_t *head = get_record(scene, "h0");
    const json_t *unused = host_record_unused(head, str_from(host));
    snprintf(text, sizeof(text), "%.*s", STR_ARG(host_record_text(unused, "why")));
    json_decref(head);
    return text;
}

/* The state of a host's newest node in the head's record; "": it has none. */
static const char *state_on(const struct scene *scene, const char *host)
{
    static char text[40];
    json_t *head = get_record(scene, "h0");
    const json_t *nodes = json_object_get(head, "nodes");
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (str_is(host_record_text(node, "host"), host)) {
            snprintf(text, sizeof(text), "%.*s", STR_ARG(host_record_text(node, "state")));
        }
    }
    json_decref(head);
    return text;
}

/* What a stop deletes, so that it shows whether one happened. */
static void put_work(const struct scene *scene, const char *host)
{
    char name[60];
    snprintf(name, sizeof(name), "%s/.shoal/steps/place", host);
    put(scene, name, "");
}

static bool was_stopped(const struct scene *scene, const char *host)
{
    char name[60];
    snprintf(name, sizeof(name), "%s/.shoal/steps/place", host);
    return !has(scene, name);
}

/* ---- the provider ---- */

static void another_holder(const struct scene *scene)
{
    json_t *head = get_record(scene, "h0");
    json_t *lease = json_object_get(head, "lease");
    json_object_set_new(lease, "epoch", json_integer(host_record_number(lease, "epoch") + 1));
    json_object_set_new(lease, "holder", json_string("another"));
    put_record(scene, "h0", head);
    json_decref(head);
}

static void before(void *context, const struct host_task *task)
{
    struct scene *scene = context;
    if (scene->at && str_is(task->host, scene->at)) {
        scene->at = NULL;
        another_holder(scene);
    }
    bool is_write = str_find(task->script, "SHOAL_RECORD") != SIZE_MAX;
    if (scene->received && is_write && str_is(task->host, "h1")) {
        put(scene, "h1/mute", scene->received);
        scene->received = NULL;
    }
}

static void open_provider(struct scene *scene, bool is_service)
{
    struct err err;
    struct local_setup setup = {.loop = scene->loop,
                                .reach = shell_hosts_reach(&scene->hosts),
                                .is_service = is_service,
                                .by = STR("me@laptop")};
    if (scene->provider) {
        scene->provider->ops->close(scene->provider);
    }
    assert_true(local_provider_open(&setup, &scene->cluster, &scene->provider, &err));
}

static struct scene *open_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err;
    assert_non_null(scene);
    snprintf(scene->home, sizeof(scene->home), "/tmp/shoal-local-provider.XXXXXX");
    assert_non_null(mkdtemp(scene->home));
    arena_init(&scene->arena);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->hosts = (struct shell_hosts){.children = child_pool_new(scene->loop, 4),
                                        .folder = scene->home,
                                        .before = before,
                                        .context = scene};
    struct param *settings = param_new_map(&scene->arena);
    param_add_text(settings, "head_ip", STR("h0"), &scene->arena);
    struct param *workers = param_add_list(settings, "worker_ips", &scene->arena);
    param_add_text(workers, "", STR("h1"), &scene->arena);
    param_add_text(workers, "", STR("h2"), &scene->arena);
    scene->cluster = (struct provider_cluster){.name = STR("demo"), .provider = settings};
    open_provider(scene, false);
    return scene;
}

static void close_scene(struct scene *scene)
{
    char command[100];
    scene->provider->ops->close(scene->provider);
    child_pool_free(scene->hosts.children);
    loop_close(scene->loop);
    arena_clear(&scene->arena);
    snprintf(command, sizeof(command), "rm -rf %s", scene->home);
    assert_int_equal(shell_run(command), 0);
    free(scene);
}

static void hear(struct scene *scene, const struct provider_answer *answer)
{
    scene->outcome = answer->outcome;
    snprintf(scene->why, sizeof(scene->why), "%s",
             answer->outcome == OUTCOME_DONE && answer->err.kind == ERR_NONE ? ""
                                                                             : answer->err.text);
    loop_stop(scene->loop);
}

static void on_done(void *context, const struct provider_answer *answer)
{
    hear(context, answer);
}

static void on_lease(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct scene *scene = context;
    if (lease) {
        snprintf(scene->uid, sizeof(scene->uid), "%.*s", STR_ARG(lease->uid));
    }
    hear(scene, answer);
}

static void on_machines(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct scene *scene = context;
    (void)machines;
    scene->machines = count;
    hear(scene, answer);
}

static void on_things(void *context, const struct provider_answer *answer,
                      const struct provider_resource *things, size_t count)
{
    (void)things;
    (void)count;
    hear(context, answer);
}

static void on_preflight(void *context, const struct provider_answer *answer,
                         const struct finding *findings, size_t count)
{
    struct scene *scene = context;
    AUTO_BUF struct buf text;
    buf_init(&text, sizeof(scene->findings) - 1);
    for (size_t i = 0; i < count; i++) {
        buf_addf(&text, "%s: %.*s\n", findings[i].level == FINDING_ERROR ? "error" : "else",
                 STR_ARG(findings[i].text));
        for (size_t j = 0; j < findings[i].row_count; j++) {
            buf_addf(&text, "%.*s: %.*s\n", STR_ARG(findings[i].rows[j].name),
                     STR_ARG(findings[i].rows[j].why));
        }
    }
    snprintf(scene->findings, sizeof(scene->findings), "%.*s", STR_ARG(buf_str(&text)));
    hear(scene, answer);
}

static enum outcome take(struct scene *scene, const char *known_uid)
{
    struct take_request request = {.holder = STR("me"),
                                   .lease_ms = LEASE_MS,
                                   .may_create = true,
                                   .known_uid = str_from(known_uid)};
    scene->provider->ops->take(scene->provider, &request, on_lease, scene);
    loop_run(scene->loop);
    return scene->outcome;
}

static struct str draft(struct scene *scene, const char *token, uint64_t launch, int64_t count)
{
    struct launch_request request = {
        .token = str_from(token), .launch = 1ULL << 32 | launch, .count = count};
    struct str call;
    struct err err;
    assert_true(scene->provider->ops->draft(scene->provider, &request, &scene->arena, &call, &err));
    return call;
}

static enum outcome launch(struct scene *scene, struct str call)
{
    scene->provider->ops->launch(scene->provider, call, on_machines, scene);
    loop_run(scene->loop);
    return scene->outcome;
}

/* One id, or two with a blank between them. */
static enum outcome terminate(struct scene *scene, const char *words)
{
    struct str rest = str_from(words);
    struct str ids[2] = {str_cut(&rest, ' '), rest};
    scene->provider->ops->terminate(scene->provider, ids, rest.len > 0 ? 2 : 1, on_done, scene);
    loop_run(scene->loop);
    return scene->outcome;
}

static enum outcome list(struct scene *scene)
{
    scene->provider->ops->list(scene->provider, on_machines, scene);
    loop_run(scene->loop);
    return scene->outcome;
}

/* The head's service takes over and looks again at a host that was not used. */
static void try_again(struct scene *scene, const char *host)
{
    json_t *head = get_record(scene, "h0");
    json_t *unused = json_object_get(json_object_get(head, "unused"), host);
    assert_non_null(unused);
    json_object_set_new(unused, "until", json_integer(1));
    json_object_set_new(json_object_get(head, "lease"), "until", json_integer(0));
    put_record(scene, "h0", head);
    json_decref(head);
    open_provider(scene, true);
    assert_int_equal(take(scene, scene->uid), OUTCOME_DONE);
    assert_int_equal(list(scene), OUTCOME_DONE);
}

/* ---- the lease ---- */

static void a_launch_reserves_nothing_after_a_takeover(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    struct str call = draft(scene, "t-1", 1, 1);
    another_holder(scene);
    assert_int_equal(launch(scene, call), OUTCOME_NO_LEASE);
    assert_string_equal(state_on(scene, "h1"), "");
    assert_false(has(scene, "h1/host"));
    close_scene(scene);
}

static void a_launch_confirms_nothing_after_a_takeover(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    scene->at = "h1";
    assert_int_not_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    assert_null(scene->at);
    assert_string_equal(state_on(scene, "h1"), NODE_CLAIMING);
    close_scene(scene);
}

/* ---- nodes that came after ---- */

/* Without the head's record, the host's own one says which node it is. */
static void an_old_node_does_not_free_the_host_of_a_newer_one(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    assert_int_equal(terminate(scene, "h1@1.1"), OUTCOME_DONE);
    assert_int_equal(launch(scene, draft(scene, "t-2", 2, 1)), OUTCOME_DONE);
    assert_string_equal(text_in(scene, "h1", "id"), "h1@1.2");
    put_work(scene, "h1");
    remove(scene_path(scene, "h0/host/record"));
    assert_int_equal(terminate(scene, "h1@1.1"), OUTCOME_NOT_FOUND);
    assert_string_equal(text_in(scene, "h1", "id"), "h1@1.2");
    assert_false(was_stopped(scene, "h1"));
    terminate(scene, "h1@1.2");
    assert_null(text_in(scene, "h1", "id"));
    assert_true(was_stopped(scene, "h1"));
    close_scene(scene);
}

/* The end of an older node of a host says nothing about the node that is ending there now. */
static void an_old_node_is_not_noted_as_the_end_of_a_newer_one(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    json_t *head = get_record(scene, "h0");
    json_t *newer = json_deep_copy(json_array_get(host_record_nodes(head), 0));
    json_object_set_new(newer, "id", json_string("h1@1.2"));
    json_array_insert_new(host_record_nodes(head), 0, newer);
    host_record_set_state(newer, NODE_ENDING, STR(""), 1);
    put_record(scene, "h0", head);
    json_decref(head);
    terminate(scene, "h1@1.1");
    head = get_record(scene, "h0");
    assert_true(host_record_node_is(host_record_node(head, STR("h1@1.2")), NODE_ENDING));
    assert_true(host_record_node_is(host_record_node(head, STR("h1@1.1")), NODE_ENDED));
    json_decref(head);
    close_scene(scene);
}

static void a_host_that_does_not_answer_is_not_noted_as_freed(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 2)), OUTCOME_DONE);
    put(scene, "h2/down", "");
    assert_int_equal(terminate(scene, "h1@1.1 h2@1.1"), OUTCOME_DENIED);
    assert_string_equal(state_on(scene, "h1"), NODE_ENDED);
    assert_string_equal(state_on(scene, "h2"), NODE_ENDING);
    close_scene(scene);
}

/* While this `down` slept, another one ended the cluster, and the head has a new one. */
static void give_head_away(void *context, const struct host_task *task)
{
    struct scene *scene = context;
    if (str_find(task->script, "end_service\nend_ray") != SIZE_MAX) {
        json_t *record = json_pack("{s:s,s:s,s:s,s:{s:i}}", "cluster", "theirs", "uid",
                                   "fedcba9876543210fedcba9876543210", "head", "h0", "lease",
                                   "epoch", 1);
        put_record(scene, "h0", record);
        json_decref(record);
    }
}

static void a_head_that_has_a_new_cluster_is_not_stopped(void **state)
{
    (void)state;
    for (int is_ours = 0; is_ours < 2; is_ours++) {
        struct scene *scene = open_scene();
        assert_int_equal(take(scene, ""), OUTCOME_DONE);
        json_t *head = get_record(scene, "h0");
        json_array_append_new(host_record_nodes(head),
                              json_pack("{s:s,s:s,s:s,s:s}", "id", "h0@1.1", "host", "h0", "token",
                                        "t-1", "state", "running"));
        put_record(scene, "h0", head);
        json_decref(head);
        put_work(scene, "h0");
        put(scene, "h0/.shoal/env.sh", "export RAY_AUTH_MODE=token\n");
        scene->hosts.before = is_ours ? before : give_head_away;
        assert_int_equal(terminate(scene, "h0@1.1"), OUTCOME_DONE);
        assert_int_equal(was_stopped(scene, "h0"), is_ours);
        assert_int_equal(has(scene, "h0/.shoal/env.sh"), !is_ours);
        assert_string_equal(text_in(scene, "h0", "cluster"), is_ours ? "demo" : "theirs");
        close_scene(scene);
    }
}

static void an_unclean_host_is_not_used_because_it_answers(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    json_t *head = get_record(scene, "h0");
    for (int i = 1; i <= 2; i++) {
        host_record_set_unused(head, i == 1 ? STR("h1") : STR("h2"), STR("it did not answer"),
                               time(NULL) + DAY_S, i == 1);
    }
    put_record(scene, "h0", head);
    json_decref(head);
    scene->provider->ops->prepare(scene->provider, STR("ssh-ed25519 AAAA me"), on_things, scene);
    loop_run(scene->loop);
    assert_int_equal(scene->outcome, OUTCOME_DONE);
    assert_string_equal(why_unused(scene, "h1"), "it did not answer");
    assert_string_equal(why_unused(scene, "h2"), "");
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 2)), OUTCOME_DONE);
    assert_int_equal(scene->machines, 1);
    assert_string_equal(state_on(scene, "h1"), "");
    assert_string_equal(state_on(scene, "h2"), NODE_RUNNING);
    close_scene(scene);
}

/* ---- a Ray that Shoal did not start ---- */

static void a_worker_with_a_ray_of_the_user_is_not_used(void **state)
{
    static const char *const ids[] = {"", "i-0123", "h1@9.9"};
    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct scene *scene = open_scene();
        put(scene, "h1/ray", ids[i]);
        put_work(scene, "h1");
        assert_int_equal(take(scene, ""), OUTCOME_DONE);
        assert_int_equal(launch(scene, draft(scene, "t-1", 1, 2)), OUTCOME_DONE);
        assert_int_equal(scene->machines, 1);
        assert_like(str_from(why_unused(scene, "h1")),
                    "Ray runs on h1 (raylet, pid *) and no cluster has taken this "
                    "machine* stop "
                    "it there with `ray stop`*");
        assert_like(str_from(scene->why), "*Ray runs on h1 *");
        assert_false(has(scene, "h1/host"));
        assert_false(was_stopped(scene, "h1"));
        /* When the service tries the host again, it is still not free. */
        try_again(scene, "h1");
        assert_like(str_from(why_unused(scene, "h1")), "Ray runs on h1 *");
        remove(scene_path(scene, "h1/ray"));
        close_scene(scene);
    }
}

static void a_head_with_a_ray_of_the_user_is_not_used(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    put(scene, "h0/ray", "");
    put_work(scene, "h0");
    assert_int_equal(take(scene, UID_A), OUTCOME_INVALID);
    assert_like(str_from(scene->why), "Ray runs on h0 (raylet, pid *");
    assert_false(has(scene, "h0/host"));
    /* of another cluster of Shoal, whose record was deleted: it is not known here */
    put(scene, "h0/ray", "h0@1.1");
    assert_int_equal(take(scene, ""), OUTCOME_INVALID);
    assert_false(was_stopped(scene, "h0"));
    remove(scene_path(scene, "h0/ray"));
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    close_scene(scene);
}

/* It starts after the host was looked at, and before the record is written. */
static void start_ray(void *context, const struct host_task *task)
{
    struct scene *scene = context;
    if (str_is(task->host, "h1") && str_find(task->script, "SHOAL_RECORD") != SIZE_MAX) {
        put(scene, "h1/ray", "");
    }
}

static void a_ray_that_starts_during_the_claim_is_left_alone(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    scene->hosts.before = start_ray;
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 2)), OUTCOME_DONE);
    assert_like(str_from(why_unused(scene, "h1")), "Ray runs on h1 *");
    assert_false(has(scene, "h1/host"));
    close_scene(scene);
}

static void the_preflight_names_a_ray_of_the_user(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    put(scene, "h0/ray", "");
    put(scene, "h2/ray", "");
    scene->provider->ops->preflight(scene->provider, 0, on_preflight, scene);
    loop_run(scene->loop);
    assert_like(str_from(scene->findings), "error: Ray runs on h0 (raylet, pid *\n"
                                           "*1 of 2 workers can be used*\n"
                                           "h2: Ray runs on h2 (raylet, pid *\n");
    close_scene(scene);
}

/* The records were deleted while the cluster ran. */
static void a_ray_of_the_cluster_itself_does_not_keep_it_away(void **state)
{
    struct scene *scene = open_scene();
    char uid[40];
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    snprintf(uid, sizeof(uid), "%s", scene->uid);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    put(scene, "h0/ray", "h0@1.7");
    put(scene, "h1/ray", "h1@1.1");
    /* the worker's: its node ended, and the host is used again, after a stop */
    remove(scene_path(scene, "h1/host/record"));
    assert_int_equal(terminate(scene, "h1@1.1"), OUTCOME_DONE);
    put_work(scene, "h1");
    assert_int_equal(launch(scene, draft(scene, "t-2", 2, 1)), OUTCOME_DONE);
    assert_int_equal(scene->machines, 1);
    assert_string_equal(text_in(scene, "h1", "id"), "h1@1.2");
    assert_true(was_stopped(scene, "h1"));
    /* the head's: for a process that knows the cluster */
    put_work(scene, "h0");
    remove(scene_path(scene, "h0/host/record"));
    open_provider(scene, true);
    assert_int_equal(take(scene, uid), OUTCOME_DONE);
    assert_string_equal(text_in(scene, "h0", "uid"), uid);
    assert_false(was_stopped(scene, "h0"));
    close_scene(scene);
}

/* The head lost its record: the workers still say which nodes they are. */
static void the_workers_are_found_without_the_record_of_the_head(void **state)
{
    struct scene *scene = open_scene();
    char uid[40];
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    snprintf(uid, sizeof(uid), "%s", scene->uid);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    remove(scene_path(scene, "h0/host/record"));
    assert_int_equal(list(scene), OUTCOME_DONE);
    assert_int_equal(scene->machines, 1);
    /* a new record has them again */
    open_provider(scene, false);
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    assert_string_equal(scene->uid, uid);
    assert_string_equal(state_on(scene, "h1"), NODE_RUNNING);
    assert_string_equal(state_on(scene, "h2"), "");
    close_scene(scene);
}

/* ---- one machine with two addresses ---- */

static void a_second_address_of_a_machine_is_not_used(void **state)
{
    static const char *const others[] = {"h0", "h1"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct scene *scene = open_scene();
        assert_int_equal(symlink(others[i], scene_path(scene, "h2")), 0);
        assert_int_equal(take(scene, ""), OUTCOME_DONE);
        if (i == 1) {
            assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
        }
        put_work(scene, "h0");
        put_work(scene, "h1");
        assert_int_equal(launch(scene, draft(scene, "t-2", 2, 2)),
                         i == 0 ? OUTCOME_DONE : OUTCOME_CAPACITY);
        assert_like(str_from(why_unused(scene, "h2")),
                    i == 0 ? "h2 is the same machine as h0*" : "h2 is the same machine as h1*");
        /* When the service tries the host again, the node there is not what is to be cleaned. */
        try_again(scene, "h2");
        assert_like(str_from(why_unused(scene, "h2")), "h2 is the same machine as h*");
        assert_non_null(text_in(scene, "h0", "uid"));
        assert_non_null(text_in(scene, "h1", "id"));
        assert_false(was_stopped(scene, "h0"));
        assert_false(was_stopped(scene, "h1"));
        close_scene(scene);
    }
}

/* The file has another name for the host than when its last node was launched. */
static void a_host_with_a_new_name_is_used_when_its_node_has_ended(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    json_t *head = get_record(scene, "h0");
    json_array_append_new(host_record_nodes(head), json_pack("{s:s,s:s,s:s}", "id", "old@1.1",
                                                             "host", "old", "state", NODE_ENDED));
    put_record(scene, "h0", head);
    json_object_del(head, "lease");
    json_object_set_new(head, "id", json_string("old@1.1"));
    put_record(scene, "h1", head);
    json_decref(head);
    put_work(scene, "h1");
    assert_int_equal(launch(scene, draft(scene, "t-1", 2, 1)), OUTCOME_DONE);
    assert_string_equal(text_in(scene, "h1", "id"), "h1@1.2");
    assert_true(was_stopped(scene, "h1"));
    close_scene(scene);
}

static void the_preflight_names_a_second_address(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(symlink("h0", scene_path(scene, "h2")), 0);
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    scene->provider->ops->preflight(scene->provider, 0, on_preflight, scene);
    loop_run(scene->loop);
    assert_like(str_from(scene->findings), "*1 of 2 workers can be used*\n"
                                           "h2: h2 is the same machine as h0*\n");
    close_scene(scene);
}

/* The file calls the head by another name than when the key was noted. */
static void a_former_address_of_the_head_is_not_freed_as_a_worker(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(symlink("h0", scene_path(scene, "h9")), 0);
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    scene->provider->ops->prepare(scene->provider, STR("ssh-ed25519 AAAA me"), on_things, scene);
    loop_run(scene->loop);
    json_t *head = get_record(scene, "h0");
    json_object_set_new(json_object_get(head, "keys"), "h9", json_true());
    put_record(scene, "h0", head);
    json_decref(head);
    put_work(scene, "h0");
    put(scene, "h1/down", ""); /* so that its key is left, and the record must stay */
    scene->provider->ops->remove(scene->provider, on_things, scene);
    loop_run(scene->loop);
    assert_non_null(text_in(scene, "h0", "uid"));
    assert_false(was_stopped(scene, "h0"));
    close_scene(scene);
}

/* The reply to the claim of h1 is lost, in this call or in the call before. */
static void a_host_that_was_given_up_is_freed_in_the_end(void **state)
{
    (void)state;
    for (int calls = 1; calls <= 2; calls++) {
        struct scene *scene = open_scene();
        assert_int_equal(take(scene, ""), OUTCOME_DONE);
        scene->received = calls == 1 ? "" : "shoal-host 1\n";
        struct str call = draft(scene, "t-1", 1, 1);
        if (calls == 2) {
            assert_int_equal(launch(scene, call), OUTCOME_UNKNOWN);
            put(scene, "h1/down", "");
        }
        assert_int_equal(launch(scene, call), OUTCOME_DONE);
        assert_string_equal(state_on(scene, "h2"), NODE_RUNNING);
        assert_string_equal(state_on(scene, "h1"), "");
        assert_string_equal(text_in(scene, "h1", "token"), "t-1");
        put_work(scene, "h1");
        remove(scene_path(scene, "h1/mute"));
        remove(scene_path(scene, "h1/down"));
        assert_int_equal(terminate(scene, "h2@1.1"), OUTCOME_DONE);
        scene->provider->ops->remove(scene->provider, on_things, scene);
        loop_run(scene->loop);
        assert_int_equal(scene->outcome, OUTCOME_DONE);
        assert_true(was_stopped(scene, "h1"));
        assert_null(text_in(scene, "h1", "token"));
        assert_null(text_in(scene, "h0", "uid"));
        close_scene(scene);
    }
}

/* It still has a record of the cluster: the head's record stays until it has not. */
static void a_host_that_was_given_up_and_is_silent_is_left(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    scene->provider->ops->prepare(scene->provider, STR("ssh-ed25519 AAAA me"), on_things, scene);
    loop_run(scene->loop);
    json_t *head = get_record(scene, "h0");
    host_record_set_unused(head, STR("h1"), STR("it did not answer"), time(NULL), true);
    put_record(scene, "h0", head);
    json_decref(head);
    put(scene, "h1/down", "");
    scene->provider->ops->remove(scene->provider, on_things, scene);
    loop_run(scene->loop);
    assert_non_null(text_in(scene, "h0", "uid"));
    close_scene(scene);
}

/* ---- files that no process uses ---- */

/* systemd-tmpfiles deletes what is older than 30 days in /var/tmp, by its access, modification and
 * change times (tmpfiles.d(5); /usr/lib/tmpfiles.d/tmp.conf: "q /var/tmp 1777 root root 30d"). Here
 * the file system has no access times (noatime). A test cannot set the change time back; what sets
 * the modification time sets it too. */
static void clean_old_files(const struct scene *scene)
{
    char command[300];
    snprintf(command, sizeof(command), "find %s/h1/host -type f -mtime +30 -delete", scene->home);
    assert_int_equal(shell_run(command), 0);
}

static void make_old(const struct scene *scene)
{
    struct utimbuf old = {time(NULL) - 40 * DAY_S, time(NULL) - 40 * DAY_S};
    assert_int_equal(utime(scene_path(scene, "h1/host/record"), &old), 0);
}

static void the_record_of_a_busy_worker_stays(void **state)
{
    struct scene *scene = open_scene();
    (void)state;
    open_provider(scene, true);
    assert_int_equal(take(scene, ""), OUTCOME_DONE);
    assert_int_equal(launch(scene, draft(scene, "t-1", 1, 1)), OUTCOME_DONE);
    make_old(scene);
    assert_int_equal(list(scene), OUTCOME_DONE); /* the first listing checks the hosts */
    clean_old_files(scene);
    assert_true(has(scene, "h1/host/record"));
    assert_string_equal(state_on(scene, "h1"), NODE_RUNNING);
    make_old(scene);
    clean_old_files(scene);
    assert_false(has(scene, "h1/host/record")); /* so the stand-in deletes */
    close_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_reserves_nothing_after_a_takeover),
        cmocka_unit_test(a_launch_confirms_nothing_after_a_takeover),
        cmocka_unit_test(an_old_node_does_not_free_the_host_of_a_newer_one),
        cmocka_unit_test(an_old_node_is_not_noted_as_the_end_of_a_newer_one),
        cmocka_unit_test(a_host_that_does_not_answer_is_not_noted_as_freed),
        cmocka_unit_test(a_head_that_has_a_new_cluster_is_not_stopped),
        cmocka_unit_test(an_unclean_host_is_not_used_because_it_answers),
        cmocka_unit_test(a_host_that_was_given_up_is_freed_in_the_end),
        cmocka_unit_test(a_host_that_was_given_up_and_is_silent_is_left),
        cmocka_unit_test(a_worker_with_a_ray_of_the_user_is_not_used),
        cmocka_unit_test(a_head_with_a_ray_of_the_user_is_not_used),
        cmocka_unit_test(a_ray_that_starts_during_the_claim_is_left_alone),
        cmocka_unit_test(the_preflight_names_a_ray_of_the_user),
        cmocka_unit_test(a_ray_of_the_cluster_itself_does_not_keep_it_away),
        cmocka_unit_test(the_workers_are_found_without_the_record_of_the_head),
        cmocka_unit_test(a_second_address_of_a_machine_is_not_used),
        cmocka_unit_test(a_host_with_a_new_name_is_used_when_its_node_has_ended),
        cmocka_unit_test(the_preflight_names_a_second_address),
        cmocka_unit_test(a_former_address_of_the_head_is_not_freed_as_a_worker),
        cmocka_unit_test(the_record_of_a_busy_worker_stays),
    };
    if (shell_run("unshare -rpf --mount-proc sh -c 'command -v flock' >/dev/null "
                  "2>&1") != 0) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
