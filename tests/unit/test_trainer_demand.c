/* test_trainer_demand.c: what a trainer sends to the autoscaler, and what the user reads. */
#include "app/train/trainer_demand.h"

#include "io/line_socket.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GREETING "{\"shoal\":\"0.1.0\",\"protocol\":1,\"min_protocol\":1,\"cluster\":\"c\"}\n"
#define DONE "{\"done\":\"train-demand\"}\n"

struct scene {
    struct loop *loop;
    struct loop_timer *end;
    struct line_server *server;
    struct line_link *link; /* of the trainer, on the server's side */
    struct trainer_demand *demand;
    char folder[40], socket[80];
    char heard[4000]; /* by the service */
    char said[4000];  /* to the user */
    const char *answer, *greeting;
    int64_t need, leaving, repeat_ms;
    int connections;
    char nodes[200]; /* that the trainer got: name and price */
};

static void add_line(char *to, size_t size, struct str line)
{
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%.*s\n", STR_ARG(line));
}

/* ---- the service ---- */

static void serve_line(void *context, struct str line)
{
    struct scene *scene = context;
    add_line(scene->heard, sizeof(scene->heard), line);
    line_link_write(scene->link, str_from(scene->answer));
}

static void serve_end(void *context, const struct err *err)
{
    struct scene *scene = context;
    (void)err;
    line_link_close(scene->link);
    scene->link = NULL;
}

static void serve(void *context, struct line_link *link)
{
    struct scene *scene = context;
    scene->connections++;
    scene->link = link;
    line_link_begin(link, &(struct line_link_hooks){scene, serve_line, serve_end, NULL});
    line_link_write(link, str_from(scene->greeting));
}

static void open_service(struct scene *scene)
{
    struct err err;
    assert_true(line_server_open(scene->loop, scene->socket, &(struct line_link_limits){0}, serve,
                                 scene, &scene->server, &err));
}

static void close_service(struct scene *scene)
{
    line_server_close(scene->server);
    scene->server = NULL;
    scene->link = NULL;
}

/* ---- the trainer ---- */

static int64_t need_of(void *context)
{
    return ((const struct scene *)context)->need;
}

static int64_t leaving_of(void *context)
{
    return ((const struct scene *)context)->leaving;
}

static void say(void *context, const char *text)
{
    struct scene *scene = context;
    add_line(scene->said, sizeof(scene->said), str_from(text));
}

static void take_node(void *context, const struct node_view *view)
{
    struct scene *scene = context;
    char line[100];
    snprintf(line, sizeof(line), "%.*s %lld", STR_ARG(view->name), (long long)view->price);
    add_line(scene->nodes, sizeof(scene->nodes), str_from(line));
}

static void stop(void *context)
{
    loop_stop(((struct scene *)context)->loop);
}

static void run_for(struct scene *scene, int64_t ms)
{
    loop_timer_start(scene->end, ms);
    loop_run(scene->loop);
}

/* Waits for it, and a little longer for what must not follow. */
static void expect(struct scene *scene, const char *text, const char *expected)
{
    for (int i = 0; i < 1000 && strcmp(text, expected) != 0; i++) {
        run_for(scene, 5);
    }
    run_for(scene, 20);
    assert_string_equal(text, expected);
}

static void open_trainer(struct scene *scene, double cpus)
{
    scene->demand = trainer_demand_open(
        &(struct trainer_demand_setup){.loop = scene->loop,
                                       .socket = scene->socket,
                                       .job = "ddp",
                                       .cpus = cpus,
                                       .repeat_ms = scene->repeat_ms,
                                       .retry_ms = 100,
                                       .context = scene,
                                       .need = need_of,
                                       .leaving = leaving_of,
                                       .node = take_node,
                                       .say = say});
}

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/demand.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->socket, sizeof(scene->socket), "%s/ctl.sock", scene->folder);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->end = loop_timer_new(scene->loop, stop, scene);
    scene->greeting = GREETING;
    scene->answer = DONE;
    scene->repeat_ms = 100 * 1000; /* not in this test */
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    trainer_demand_close(scene->demand);
    line_server_close(scene->server);
    loop_timer_free(scene->end);
    loop_close(scene->loop);
    unlink(scene->socket);
    rmdir(scene->folder);
    free(scene);
    return 0;
}

/* ---- tests ---- */

#define REQUEST(count)                                                         \
    "{\"request\":\"train-demand\",\"job\":\"ddp\",\"session\":\"session_1\"," \
    "\"bundles\":[{\"amounts\":{\"CPU\":1.0},\"count\":" count "}]}\n"
#define WITHDRAWAL "{\"request\":\"train-demand\",\"job\":\"ddp\",\"session\":\"session_1\"}\n"

static void the_need_is_sent_when_it_changes(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 3;
    open_trainer(scene, 1);
    run_for(scene, 50);
    trainer_demand_update(scene->demand);
    run_for(scene, 20);
    assert_string_equal(scene->heard, ""); /* Ray's session is not known */
    trainer_demand_session(scene->demand, STR("session_1"));
    for (int i = 0; i < 3; i++) {
        trainer_demand_update(scene->demand);
        expect(scene, scene->heard, REQUEST("3"));
    }
    expect(scene, scene->said, "asked the autoscaler for room for 3 more replicas\n");
    assert_true(trainer_demand_is_accepted(scene->demand));
    scene->need = 1;
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, REQUEST("3") REQUEST("1"));
    scene->need = 0;
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, REQUEST("3") REQUEST("1") WITHDRAWAL);
    scene->need = 1; /* a node is about to be interrupted */
    trainer_demand_update(scene->demand);
    expect(scene, scene->said,
           "asked the autoscaler for room for 3 more replicas\n"
           "asked the autoscaler for room for 1 more replica\n");
}

/* Its replacement runs, and the autoscaler must not launch another. */
static void a_slot_that_leaves_is_sent(void **state)
{
    static const char *const request =
        "{\"request\":\"train-demand\",\"job\":\"ddp\",\"session\":\"session_1\","
        "\"bundles\":[{\"amounts\":{\"CPU\":1.0},\"leaving\":1}]}\n";
    struct scene *scene = *state;
    open_service(scene);
    scene->leaving = 1;
    scene->repeat_ms = 200;
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->heard, request);
    for (int i = 0; i < 1000 && strlen(scene->heard) == strlen(request); i++) {
        run_for(scene, 5);
    }
    assert_int_equal(strlen(scene->heard), 2 * strlen(request)); /* repeated */
    scene->leaving = 0;
    scene->heard[0] = '\0';
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, WITHDRAWAL);
}

/* The service may have the request of a trainer that was killed; nodes for it would be too many. */
static void a_job_with_enough_nodes_withdraws_an_older_request(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->repeat_ms = 100;
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->heard, WITHDRAWAL);
    trainer_demand_update(scene->demand);
    run_for(scene, 250);
    assert_string_equal(scene->heard, WITHDRAWAL); /* once */
    assert_int_equal(scene->connections, 1);
    assert_string_equal(scene->said, "");
}

/* The connection was lost while the need ended. */
static void a_request_is_withdrawn_on_a_new_connection(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->heard, REQUEST("2"));
    close_service(scene);
    scene->need = 0;
    open_service(scene);
    expect(scene, scene->heard, REQUEST("2") WITHDRAWAL);
}

/* An older service does not know the request, and none is needed. */
static void a_withdrawal_that_is_refused_is_not_said(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->answer = "{\"error\":\"unknown\",\"request\":\"train-demand\"}\n";
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->heard, WITHDRAWAL);
    assert_string_equal(scene->said, "");
}

/* Ray was replaced while an answer was on its way. */
static void a_new_session_is_asked_again(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    scene->answer = "";
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_0"));
    for (int i = 0; i < 1000 && scene->heard[0] == '\0'; i++) {
        run_for(scene, 5);
    }
    scene->heard[0] = '\0';
    trainer_demand_session(scene->demand, STR("session_1"));
    line_link_write(scene->link, STR(DONE)); /* of the old one */
    run_for(scene, 20);
    scene->need = 0;
    scene->answer = DONE;
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, WITHDRAWAL);
    assert_string_equal(scene->said, "");
}

/* Such a replica fits everywhere. */
static void a_replica_without_resources_needs_no_node(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    scene->leaving = 1;
    open_trainer(scene, 0);
    trainer_demand_session(scene->demand, STR("session_1"));
    run_for(scene, 50);
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, WITHDRAWAL);
}

static void a_reason_is_said_once(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 3;
    scene->answer = "{\"text\":\"max_workers is 2\",\"request\":\"train-demand\"}\n"
                    "{\"end\":\"train-demand\"}\n";
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->said, "the autoscaler cannot add nodes: max_workers is 2\n");
    scene->need = 2;
    trainer_demand_update(scene->demand);
    expect(scene, scene->heard, REQUEST("3") REQUEST("2"));
    assert_true(trainer_demand_is_accepted(scene->demand));
    scene->answer = "{\"error\":\"another Ray cluster\",\"request\":\"train-demand\"}\n";
    scene->need = 3;
    trainer_demand_update(scene->demand);
    expect(scene, scene->said,
           "the autoscaler cannot add nodes: max_workers is 2\n"
           "the autoscaler cannot add nodes: another Ray cluster\n");
    assert_false(trainer_demand_is_accepted(scene->demand));
}

static void without_a_service_the_job_says_so_once_and_connects_later(void **state)
{
    struct scene *scene = *state;
    scene->need = 2;
    open_trainer(scene, 1);
    run_for(scene, 50);
    assert_string_equal(scene->said, ""); /* it is not known whether the job needs nodes */
    trainer_demand_session(scene->demand, STR("session_1"));
    run_for(scene, 350); /* two more attempts */
    expect(scene, scene->said,
           "no autoscaler adds nodes for this job (the Shoal service does "
           "not run on this host); it uses the nodes that Ray has\n");
    open_service(scene);
    expect(scene, scene->heard, REQUEST("2"));
}

/* The request is sent again on a new connection. */
static void a_restart_of_the_service_loses_nothing(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->said, "asked the autoscaler for room for 2 more replicas\n");
    close_service(scene);
    run_for(scene, 20);
    assert_false(trainer_demand_is_accepted(scene->demand));
    open_service(scene);
    expect(scene, scene->heard, REQUEST("2") REQUEST("2"));
    assert_int_equal(scene->connections, 2);
    expect(scene, scene->said, "asked the autoscaler for room for 2 more replicas\n");
}

static void the_request_is_repeated(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    scene->repeat_ms = 200;
    open_trainer(scene, 1);
    trainer_demand_session(scene->demand, STR("session_1"));
    expect(scene, scene->heard, REQUEST("2"));
    expect(scene, scene->heard, REQUEST("2") REQUEST("2"));
}

static void another_program_on_the_socket_is_left_alone(void **state)
{
    static const char *const greetings[] = {
        "hello\n", "{\"done\":\"x\"}\n", "{\"shoal\":\"9.0\",\"protocol\":9,\"min_protocol\":9}\n"};
    struct scene *scene = *state;
    open_service(scene);
    scene->need = 2;
    for (size_t i = 0; i < ARRAY_LEN(greetings); i++) {
        scene->greeting = greetings[i];
        scene->said[0] = '\0';
        trainer_demand_close(scene->demand);
        open_trainer(scene, 1);
        trainer_demand_session(scene->demand, STR("session_1"));
        for (int j = 0; j < 1000 && scene->said[0] == '\0'; j++) {
            run_for(scene, 5);
        }
        assert_string_equal(scene->heard, "");
        assert_non_null(strstr(scene->said, "no autoscaler adds nodes for this job ("));
    }
}

static void the_service_knows_the_prices(void **state)
{
    struct scene *scene = *state;
    open_service(scene);
    open_trainer(scene, 1);
    trainer_demand_ask_nodes(scene->demand); /* not connected yet */
    run_for(scene, 50);
    assert_string_equal(scene->heard, "");
    scene->answer = "{\"status\":{}}\n"
                    "{\"node\":{\"name\":\"worker-1\",\"phase\":\"ready\","
                    "\"dollars_per_hour\":0.25}}\n"
                    "{\"end\":\"status\"}\n";
    trainer_demand_ask_nodes(scene->demand);
    expect(scene, scene->nodes, "worker-1 250000\n");
    assert_string_equal(scene->heard, "{\"request\":\"status\"}\n");
    scene->answer = "{\"error\":\"not now\",\"request\":\"status\"}\n";
    trainer_demand_ask_nodes(scene->demand);
    run_for(scene, 50);
    assert_string_equal(scene->said, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(the_need_is_sent_when_it_changes),
        TEST(a_slot_that_leaves_is_sent),
        TEST(a_job_with_enough_nodes_withdraws_an_older_request),
        TEST(a_request_is_withdrawn_on_a_new_connection),
        TEST(a_withdrawal_that_is_refused_is_not_said),
        TEST(a_new_session_is_asked_again),
        TEST(a_replica_without_resources_needs_no_node),
        TEST(a_reason_is_said_once),
        TEST(without_a_service_the_job_says_so_once_and_connects_later),
        TEST(a_restart_of_the_service_loses_nothing),
        TEST(the_request_is_repeated),
        TEST(another_program_on_the_socket_is_left_alone),
        TEST(the_service_knows_the_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
