/* test_trainer_ctl.c: what other commands ask a running trainer. */
#include "app/train/train_view.h"
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/xalloc.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct scene {
    struct trainer *trainer;
    struct trainer_setup setup;
    struct loop_timer *end;
    char folder[40];
};

static void ignore(void *context, struct str line)
{
    (void)context;
    (void)line;
}

static void stop(void *context)
{
    loop_stop(((struct scene *)context)->trainer->loop);
}

static void run_for(struct scene *scene, int64_t ms)
{
    loop_timer_start(scene->end, ms);
    loop_run(scene->trainer->loop);
}

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    struct err err;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/asked.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->setup = (struct trainer_setup){.job = "demo",
                                          .folder = scene->folder,
                                          .ray = "127.0.0.1:8265",
                                          .gcs = "127.0.0.1:6379",
                                          .line = ignore,
                                          .context = scene};
    train_settings_default(&scene->setup.settings);
    scene->trainer = HEAP_NEW(struct trainer);
    scene->trainer->setup = &scene->setup;
    train_job_init(&scene->trainer->job, &scene->setup.settings);
    assert_true(loop_open(&clock_of_machine, &scene->trainer->loop, &err));
    scene->end = loop_timer_new(scene->trainer->loop, stop, scene);
    trainer_open_ctl(scene->trainer);
    assert_non_null(scene->trainer->ctl);
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct err err;
    trainer_close_ctl(scene->trainer);
    trainer_close_agents(scene->trainer);
    loop_timer_free(scene->end);
    loop_close(scene->trainer->loop);
    free(scene->trainer);
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

static int connect_to(const struct scene *scene)
{
    char path[80];
    struct err err;
    int fd;
    snprintf(path, sizeof(path), "%s/" TRAINER_SOCKET, scene->folder);
    assert_true(line_socket_connect(path, &fd, &err));
    return fd;
}

/* Sends the line and returns the answer; empty if there is none. */
static const char *ask(struct scene *scene, int fd, const char *line)
{
    static char answer[8000];
    size_t size = 0;
    assert_int_equal(write(fd, line, strlen(line)), (int)strlen(line));
    for (int i = 0; i < 400 && (size == 0 || answer[size - 1] != '\n'); i++) {
        run_for(scene, 5);
        ssize_t got = recv(fd, answer + size, sizeof(answer) - 1 - size, MSG_DONTWAIT);
        size += got > 0 ? (size_t)got : 0;
    }
    answer[size] = '\0';
    return answer;
}

static void a_request_gets_an_answer(void **state)
{
    struct scene *scene = *state;
    int fd = connect_to(scene);
    assert_non_null(strstr(ask(scene, fd, "{\"request\": \"status\"}\n"), "\"job\":\"demo\""));
    assert_null(strstr(ask(scene, fd, "{\"request\": \"status\"}\n"), "token"));
    assert_non_null(strstr(ask(scene, fd, "{\"request\": \"fly\"}\n"), "does not know"));
    assert_non_null(strstr(ask(scene, fd, "{}\n"), "does not know"));
    assert_non_null(strstr(ask(scene, fd, "x\n"), "\"error\""));
    close(fd);
}

/* Also checked for leaks, by the builds that find them. */
static void connections_end_with_the_trainer(void **state)
{
    struct scene *scene = *state;
    struct err err;
    char byte;
    assert_true(trainer_listen(scene->trainer, &err));
    struct line_link *agent;
    assert_true(line_link_open_tcp(scene->trainer->loop, "127.0.0.1", scene->trainer->port, NULL,
                                   &(struct line_link_hooks){0}, &agent, &err));
    int first = connect_to(scene), second = connect_to(scene);
    ask(scene, first, "{\"request\": \"status\"}\n");
    ask(scene, second, "{\"request\": \"status\"}\n");
    assert_non_null(scene->trainer->askers);
    assert_non_null(scene->trainer->callers);
    close(first);
    run_for(scene, 20);
    trainer_close_ctl(scene->trainer);
    trainer_close_agents(scene->trainer);
    assert_null(scene->trainer->askers);
    assert_null(scene->trainer->callers);
    scene->trainer->ctl = scene->trainer->server = NULL;
    line_link_close(agent);
    run_for(scene, 20);
    assert_int_equal(recv(second, &byte, 1, MSG_DONTWAIT), 0); /* closed */
    close(second);
}

/* An older checkpoint is not the newest one, which was asked for. */
static void a_checkpoint_that_no_slot_can_send_is_an_error(void **state)
{
    struct scene *scene = *state;
    int fd = connect_to(scene);
    assert_string_equal(ask(scene, fd, "{\"request\": \"store\"}\n"), "{}\n"); /* there is none */
    scene->trainer->job.checkpoint = 3001;
    scene->trainer->job.stored = 2001;
    assert_non_null(strstr(ask(scene, fd, "{\"request\": \"store\"}\n"), "no slot that has"));
    scene->trainer->job.stored = 3001;
    assert_string_equal(ask(scene, fd, "{\"request\": \"store\"}\n"), "{\"stored\":3001}\n");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_checkpoint_that_no_slot_can_send_is_an_error, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_request_gets_an_answer, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(connections_end_with_the_trainer, open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
