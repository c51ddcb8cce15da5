/* test_external.c: the lease, evidence and wrong replies, with a plug-in that is a shell script. */
#include "provider/external/external_provider.h"

#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replies to list and launch with files; the stored text is a file, in the form of JSON. */
#define SCRIPT                                                                                    \
    "cd $FOLDER; touch stored\n"                                                                  \
    "while read -r line; do\n"                                                                    \
    " id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*}; op=${line#*\\\"op\\\":\\\"}; op=${op%%\\\"*}\n" \
    " case $op in\n"                                                                              \
    " hello) more=\"\\\"version\\\":1,\\\"can\\\":[$(cat can)]\";;\n"                             \
    " swap) value=${line#*\\\"value\\\":\\\"}; value=${value%%\\\",\\\"id\\\":*}\n"               \
    "  expect=${line#*\\\"expect\\\":\\\"}; expect=${expect%%\\\",\\\"value\\\":*}\n"             \
    "  [ \"$(cat stored)\" != \"$expect\" ] || printf '%s' \"$value\" > stored\n"                 \
    "  more=\"\\\"value\\\":\\\"$(cat stored)\\\"$(cat now)\";;\n"                                \
    " *) echo $op >> calls; more=$(cat $op);;\n"                                                  \
    " esac\n"                                                                                     \
    " printf '{\"id\":%s,%s}\\n' \"$id\" \"$more\"\n"                                             \
    "done"

#define UID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define RECORD(cluster, uid)                                    \
    "{\\\"cluster\\\":\\\"" cluster "\\\",\\\"uid\\\":\\\"" uid \
    "\\\",\\\"lease\\\":{\\\"epoch\\\":7,\\\"until\\\":5,\\\"holder\\\":\\\"old\\\"}}"
#define MACHINE(id, uid, state)                                    \
    "{\"id\":\"" id "\",\"token\":\"t-" id "\",\"state\":\"" state \
    "\",\"tags\":{\"shoal-cluster-uid\":\"" uid "\",\"ray-cluster-name\":\"demo\"}}"
#define NOW ",\"now\":1790000000"

struct scene {
    char folder[64];
    char variable[80];
    const char *argv[4], *env[3];
    struct clock clock;
    int64_t ahead_ms; /* by how much the test has moved the clock */
    struct loop *loop;
    struct child_pool *pool;
    struct arena arena;
    struct provider_cluster cluster;
    struct provider *provider;
    /* The last answer. */
    enum outcome outcome;
    struct err err;
    struct cluster_lease lease;
    bool has_lease;
    size_t count;
    struct str ids[4];
    struct cluster_found found;
    int answers;
};

static void put(struct scene *scene, const char *name, const char *text)
{
    struct err err;
    const char *path = arena_printf(&scene->arena, "%s/%s", scene->folder, name).ptr;
    assert_true(file_write(path, str_from(text), 0600, &err));
}

static int64_t moved_ms(void *context)
{
    const struct scene *scene = context;
    return clock_monotonic_ms(&clock_of_machine) + scene->ahead_ms;
}

static int64_t usual_wall_ms(void *context)
{
    (void)context;
    return clock_wall_ms(&clock_of_machine);
}

static void begin(struct scene *scene, const char *stored, const char *machines)
{
    struct err err;
    *scene = (struct scene){.folder = "/tmp/shoal-external-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    arena_init(&scene->arena);
    put(scene, "stored", stored);
    put(scene, "now", NOW);
    put(scene, "can", "\"tokens\",\"atomic_swap\",\"tags\"");
    put(scene, "list", arena_printf(&scene->arena, "\"machines\":[%s]", machines).ptr);
    snprintf(scene->variable, sizeof(scene->variable), "FOLDER=%s", scene->folder);
    memcpy(scene->argv, ((const char *[]){"/bin/sh", "-c", SCRIPT, NULL}), sizeof(scene->argv));
    memcpy(scene->env, ((const char *[]){scene->variable, "PATH=/usr/bin:/bin", NULL}),
           sizeof(scene->env));
    struct provider_type *type = ARENA_NEW(&scene->arena, struct provider_type);
    *type = (struct provider_type){.name = STR("head"),
                                   .node_config = param_new_map(&scene->arena)};
    scene->cluster = (struct provider_cluster){.name = STR("demo"),
                                               .provider = param_new_map(&scene->arena),
                                               .types = type,
                                               .type_count = 1};
    scene->clock = (struct clock){moved_ms, usual_wall_ms, scene};
    assert_true(loop_open(&scene->clock, &scene->loop, &err));
    scene->pool = child_pool_new(scene->loop, 2);
    assert_true(external_provider_open(&(struct external_setup){.loop = scene->loop,
                                                                .children = scene->pool,
                                                                .argv = scene->argv,
                                                                .env = scene->env,
                                                                .deadline_ms = 120000},
                                       &scene->cluster, &scene->provider, &err));
}

static void end(struct scene *scene)
{
    scene->provider->ops->close(scene->provider);
    child_pool_free(scene->pool);
    loop_close(scene->loop);
    arena_clear(&scene->arena);
    assert_int_equal(scratch_remove(scene->folder), 0);
}

static void keep(struct scene *scene, const struct provider_answer *answer)
{
    scene->outcome = answer->outcome;
    scene->err = answer->err;
    scene->answers++;
    loop_stop(scene->loop);
}

static void await(struct scene *scene)
{
    int before = scene->answers;
    loop_run(scene->loop);
    assert_int_equal(scene->answers, before + 1);
}

static void on_lease(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct scene *scene = context;
    scene->has_lease = lease != NULL;
    if (lease) {
        scene->lease = *lease;
        scene->lease.uid = arena_str(&scene->arena, lease->uid);
    }
    keep(scene, answer);
}

static void on_machines(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct scene *scene = context;
    scene->count = count;
    for (size_t i = 0; i < count && i < ARRAY_LEN(scene->ids); i++) {
        scene->ids[i] = arena_str(&scene->arena, machines[i].id);
    }
    keep(scene, answer);
}

static void on_found(void *context, const struct provider_answer *answer,
                     const struct cluster_found *found)
{
    struct scene *scene = context;
    assert_int_equal(answer->outcome == OUTCOME_DONE, found != NULL);
    if (found) {
        scene->found = *found;
        scene->found.uid = arena_str(&scene->arena, found->uid);
        scene->ids[0] = found->uid_count > 0 ? arena_str(&scene->arena, found->uids[0]) : STR("");
    }
    keep(scene, answer);
}

static void take(struct scene *scene, bool may_create, const char *known_uid)
{
    struct take_request request = {.holder = STR("me"),
                                   .lease_ms = 60000,
                                   .may_create = may_create,
                                   .known_uid = str_from(known_uid),
                                   .known_epoch = *known_uid ? 40 : 0};
    scene->provider->ops->take(scene->provider, &request, on_lease, scene);
    await(scene);
}

static void list(struct scene *scene)
{
    scene->provider->ops->list(scene->provider, on_machines, scene);
    await(scene);
}

static void check_taken(const char *stored, const char *machines, const char *known_uid,
                        enum outcome outcome, const char *text)
{
    struct scene scene;
    begin(&scene, stored, machines);
    take(&scene, true, known_uid);
    if (scene.outcome != outcome || (outcome == OUTCOME_DONE ? !str_is(scene.lease.uid, text)
                                                             : !strstr(scene.err.text, text))) {
        fail_msg("outcome %d, uid %.*s: %s", (int)scene.outcome, STR_ARG(scene.lease.uid),
                 scene.err.text);
    }
    end(&scene);
}

static void the_uid_of_a_cluster(void **state)
{
    (void)state;
    check_taken(RECORD("demo", UID_A), "", "", OUTCOME_DONE, UID_A);
    check_taken("", MACHINE("m", UID_A, "running"), "", OUTCOME_DONE, UID_A);
    check_taken("", MACHINE("m", UID_A, "running"), UID_B, OUTCOME_DONE, UID_A);
    check_taken("", MACHINE("m", UID_A, "gone"), UID_B, OUTCOME_DONE, UID_B);
    check_taken("", MACHINE("m", UID_A, "running") "," MACHINE("n", UID_B, "pending"), "",
                OUTCOME_INVALID, "2 clusters have the name demo");
    /* Instances of the journal's cluster would be lost. */
    check_taken(RECORD("demo", UID_A), MACHINE("m", UID_B, "running"), UID_B, OUTCOME_INVALID,
                "its instances have uid " UID_B);
    check_taken(RECORD("demo", UID_A), MACHINE("m", UID_B, "ending"), UID_B, OUTCOME_DONE, UID_A);
    check_taken(RECORD("other", UID_A), "", "", OUTCOME_INVALID, "not the record of this cluster");
    check_taken("nonsense", "", "", OUTCOME_INVALID, "not the record of this cluster");
}

static void epochs_grow(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, RECORD("demo", UID_A), "");
    take(&scene, true, "");
    assert_int_equal(scene.lease.epoch, 8);
    take(&scene, true, UID_A);
    assert_int_equal(scene.lease.epoch, 41);
    scene.provider->ops->renew(scene.provider, 60000, on_lease, &scene);
    await(&scene);
    assert_int_equal(scene.outcome, OUTCOME_DONE);
    put(&scene, "stored", "");
    scene.provider->ops->renew(scene.provider, 60000, on_lease, &scene);
    await(&scene);
    assert_int_equal(scene.outcome, OUTCOME_MISMATCH);
    assert_false(scene.has_lease);
    end(&scene);
}

/* A command that only looks does not take the lease. */
static void a_process_without_the_lease(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, RECORD("demo", UID_A),
          MACHINE("m", UID_A, "running") "," MACHINE("n", UID_B, "running"));
    list(&scene);
    assert_int_equal(scene.count, 1);
    assert_str(scene.ids[0], "m");
    end(&scene);
}

/* `down` creates nothing, and still finds the instances. */
static void without_a_record(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "", MACHINE("m", UID_A, "running") "," MACHINE("n", UID_A, "gone"));
    list(&scene);
    assert_int_equal(scene.count, 0);
    take(&scene, false, "");
    assert_int_equal(scene.outcome, OUTCOME_NOT_FOUND);
    assert_true(scene.has_lease && str_is(scene.lease.uid, UID_A) && scene.lease.epoch == 0);
    list(&scene);
    assert_int_equal(scene.count, 2);
    scene.provider->ops->find(scene.provider, on_found, &scene);
    await(&scene);
    assert_true(!scene.found.has_lease && scene.found.uid_count == 1);
    assert_str(scene.ids[0], UID_A);
    put(&scene, "stored", RECORD("demo", UID_B));
    scene.provider->ops->find(scene.provider, on_found, &scene);
    await(&scene);
    assert_true(scene.found.has_lease && scene.found.lease_until == 5);
    assert_str(scene.found.uid, UID_B);
    end(&scene);
}

static void instances_by_id_and_by_name(void **state)
{
    struct scene scene;
    struct str id = STR("x");
    (void)state;
    begin(&scene, "",
          MACHINE("m", UID_A, "running") ",{\"id\":\"x\",\"state\":\"running\",\"token\":\"\"}");
    scene.provider->ops->list_by(scene.provider, &(struct machine_query){0}, on_machines, &scene);
    await(&scene);
    assert_int_equal(scene.count, 1);
    assert_str(scene.ids[0], "m");
    scene.provider->ops->list_by(scene.provider, &(struct machine_query){&id, 1}, on_machines,
                                 &scene);
    await(&scene);
    assert_int_equal(scene.count, 1);
    assert_str(scene.ids[0], "x");
    end(&scene);
}

/* Complete or nothing; and a reply that cannot be read is not a refusal. */
static void wrong_replies(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, RECORD("demo", UID_A), MACHINE("m", UID_A, "running") ",{\"id\":\"n\"}");
    list(&scene);
    assert_int_equal(scene.outcome, OUTCOME_UNKNOWN);
    assert_int_equal(scene.count, 0);
    put(&scene, "list", "\"error\":\"not_found\"");
    list(&scene);
    assert_int_equal(scene.outcome, OUTCOME_UNKNOWN);
    put(&scene, "now", "");
    take(&scene, true, "");
    assert_int_equal(scene.outcome, OUTCOME_UNKNOWN);
    assert_non_null(strstr(scene.err.text, "\"now\" must be the time"));
    end(&scene);
}

static void check_launch(struct scene *scene, struct str call, const char *reply,
                         enum outcome outcome, size_t count)
{
    put(scene, "launch", reply);
    scene->provider->ops->launch(scene->provider, call, on_machines, scene);
    await(scene);
    assert_int_equal(scene->outcome, outcome);
    assert_int_equal(scene->count, count);
}

static void launches(void **state)
{
    struct scene scene;
    struct err err;
    struct str call;
    const struct launch_request request = {.token = STR("t-1"), .launch = 1, .count = 2};
    (void)state;
    begin(&scene, RECORD("demo", UID_A), "");
    assert_true(scene.provider->ops->draft(scene.provider, &request, &scene.arena, &call, &err));
    check_launch(&scene, call, "\"machines\":[]", OUTCOME_NO_LEASE, 0);
    take(&scene, true, "");
    check_launch(&scene, call, "\"machines\":[]", OUTCOME_DONE, 0);
    check_launch(&scene, call, "\"machines\":5", OUTCOME_UNKNOWN, 0);
    check_launch(&scene, call, "\"error\":\"not_found\"", OUTCOME_UNKNOWN, 0);
    check_launch(&scene, call, "\"error\":\"quota\"", OUTCOME_QUOTA, 0);
    check_launch(&scene, call, "\"machines\":[" MACHINE("2", UID_A, "pending") "]", OUTCOME_UNKNOWN,
                 0);
    check_launch(&scene, call, "\"machines\":[" MACHINE("1", UID_A, "pending") "]",
                 OUTCOME_MISMATCH, 0);
    check_launch(&scene, STR("nonsense"), "", OUTCOME_INVALID, 0);
    /* Another process took the lease: the record says so before this one has noticed. */
    put(&scene, "stored", RECORD("demo", UID_A));
    check_launch(&scene, call, "\"machines\":[]", OUTCOME_NO_LEASE, 0);
    end(&scene);
}

static size_t count_in(struct scene *scene, const char *name, const char *word)
{
    AUTO_BUF struct buf text;
    struct err err;
    size_t count = 0;
    buf_init(&text, 64 * 1024);
    assert_true(
        file_read(arena_printf(&scene->arena, "%s/%s", scene->folder, name).ptr, &text, &err));
    buf_add_char(&text, '\0');
    for (const char *at = text.ptr; (at = strstr(at, word)); at++) {
        count++;
    }
    return count;
}

/* Without tokens a launch that was noted is not sent again, however old the note is. */
static void a_note_stays_as_long_as_its_instances(void **state)
{
    struct scene scene;
    struct err err;
    struct str calls[3];
    (void)state;
    begin(&scene, RECORD("demo", UID_A), "");
    put(&scene, "can", "\"atomic_swap\",\"tags\"");
    take(&scene, true, "");
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct launch_request request = {
            .token = arena_printf(&scene.arena, "t-%zu", i), .launch = i + 1, .count = 1};
        assert_true(
            scene.provider->ops->draft(scene.provider, &request, &scene.arena, &calls[i], &err));
    }
    check_launch(&scene, calls[0], "\"machines\":[]", OUTCOME_DONE, 0);
    put(&scene, "list", "\"machines\":[" MACHINE("0", UID_A, "running") "]");
    put(&scene, "now", ",\"now\":1790200000"); /* two days later */
    take(&scene, true, "");
    check_launch(&scene, calls[1], "\"machines\":[]", OUTCOME_DONE, 0);
    check_launch(&scene, calls[0], "\"machines\":[]", OUTCOME_DONE, 1);
    assert_int_equal(count_in(&scene, "calls", "launch"), 2);
    assert_int_equal(count_in(&scene, "stored", "\"t-0\\\""), 1);
    put(&scene, "list", "\"machines\":[]");
    check_launch(&scene, calls[2], "\"machines\":[]", OUTCOME_DONE, 0);
    assert_int_equal(count_in(&scene, "stored", "\"t-0\\\""), 0);
    end(&scene);
}

struct queue {
    struct scene *scene;
    int ended; /* listings */
    enum outcome launched;
};

static void on_queued_list(void *context, const struct provider_answer *answer,
                           const struct machine *machines, size_t count)
{
    struct queue *queue = context;
    (void)machines;
    (void)count;
    assert_int_equal(answer->outcome, OUTCOME_DONE);
    if (++queue->ended == 2) {
        queue->scene->ahead_ms += 58 * 1000; /* the third is sent, and the launch waits for it */
    }
}

static void on_queued_launch(void *context, const struct provider_answer *answer,
                             const struct machine *machines, size_t count)
{
    struct queue *queue = context;
    (void)machines;
    (void)count;
    queue->launched = answer->outcome;
    loop_stop(queue->scene->loop);
}

/* The plug-in takes one request at a time. The lease is there when the launch is queued, behind
 * listings, and ends before it is its turn. */
static void a_launch_that_waits_too_long_is_not_sent(void **state)
{
    struct scene scene;
    struct queue queue = {.scene = &scene, .launched = OUTCOME_DONE};
    struct err err;
    struct str call;
    const struct launch_request request = {.token = STR("t-1"), .launch = 1, .count = 1};
    (void)state;
    begin(&scene, RECORD("demo", UID_A), "");
    take(&scene, true, "");
    put(&scene, "calls", "");
    put(&scene, "launch", "\"machines\":[]");
    assert_true(scene.provider->ops->draft(scene.provider, &request, &scene.arena, &call, &err));
    scene.provider->ops->list(scene.provider, on_queued_list, &queue);
    scene.provider->ops->launch(scene.provider, call, on_queued_launch, &queue);
    scene.provider->ops->list(scene.provider, on_queued_list, &queue);
    scene.provider->ops->list(scene.provider, on_queued_list, &queue);
    loop_run(scene.loop);
    assert_int_equal(queue.ended, 3);
    assert_int_equal(queue.launched, OUTCOME_NO_LEASE);
    assert_int_equal(count_in(&scene, "calls", "list"), 3);
    assert_int_equal(count_in(&scene, "calls", "launch"), 0);
    end(&scene);
}

static void on_done(void *context, const struct provider_answer *answer)
{
    keep(context, answer);
}

static void tags_are_noted_for_a_cloud_without_them(void **state)
{
    struct scene scene;
    struct err err;
    struct str call, id = STR("1");
    const struct machine_tag tag = {STR("team"), STR("blue")};
    const struct launch_request request = {.token = STR("t-1"), .launch = 1, .count = 1};
    (void)state;
    begin(&scene, RECORD("demo", UID_A), "");
    put(&scene, "can", "\"tokens\",\"atomic_swap\"");
    take(&scene, true, "");
    assert_true(scene.provider->ops->draft(scene.provider, &request, &scene.arena, &call, &err));
    put(&scene, "list", "\"machines\":[{\"id\":\"1\",\"token\":\"t-1\",\"state\":\"running\"}]");
    check_launch(&scene, call, "\"machines\":[]", OUTCOME_DONE, 1);
    put(&scene, "tag", "\"ok\":true");
    scene.provider->ops->tag(scene.provider, &id, 1, &tag, 1, on_done, &scene);
    await(&scene);
    assert_int_equal(scene.outcome, OUTCOME_DONE);
    assert_int_equal(count_in(&scene, "calls", "tag"), 0);
    assert_int_equal(count_in(&scene, "stored", "\\\"team\\\":\\\"blue\\\""), 1);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_uid_of_a_cluster),
        cmocka_unit_test(epochs_grow),
        cmocka_unit_test(a_process_without_the_lease),
        cmocka_unit_test(without_a_record),
        cmocka_unit_test(instances_by_id_and_by_name),
        cmocka_unit_test(wrong_replies),
        cmocka_unit_test(launches),
        cmocka_unit_test(a_note_stays_as_long_as_its_instances),
        cmocka_unit_test(a_launch_that_waits_too_long_is_not_sent),
        cmocka_unit_test(tags_are_noted_for_a_cloud_without_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
