/* test_train_logs.c: the output of the slots of a job, from a server that answers like Ray. */
#include "app/train/train_logs.h"

#include "app/train/trainer.h"
#include "io/file.h"
#include "io/http_server.h"
#include "io/xalloc.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    char folder[40];
    pid_t ray;
    char said[4000];
    bool has_no_logs; /* Ray's nodes are gone */
    bool follows, has_ended;
};

/* ---- Ray ---- */

static void add_job(struct buf *out, struct str prefix, unsigned slot)
{
    buf_addf(out,
             "{\"type\":\"SUBMISSION\",\"job_id\":null,\"submission_id\":\"%.*s%u\","
             "\"status\":\"RUNNING\",\"entrypoint\":\"x\",\"message\":\"m\"}",
             STR_ARG(prefix), slot);
}

static void answer(void *context, const struct http_server_request *request,
                   struct http_served *answer)
{
    const struct scene *scene = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str prefix = trainer_slot_prefix("demo", STR("secret"), &arena);
    answer->status = 200;
    answer->type = "application/json";
    if (str_is(request->path, "/api/jobs/")) { /* the newest first */
        buf_add_char(&answer->body, '[');
        add_job(&answer->body, prefix, 2);
        buf_add_char(&answer->body, ',');
        add_job(&answer->body, prefix, 1);
        buf_add_char(&answer->body, ']');
    } else if (scene->has_no_logs || str_find(request->path, "-s2/") != SIZE_MAX) {
        answer->status = 500; /* the node of slot 2 is gone */
    } else {
        buf_add_c(&answer->body, "{\"logs\": \"step 1\\nstep 2\\n\"}");
    }
}

static void serve(const struct scene *scene, int port_fd)
{
    struct loop *loop;
    struct http_serve *server;
    struct err err;
    if (!loop_open(&clock_of_machine, &loop, &err) ||
        !http_serve_open(loop, "127.0.0.1", 0, answer, (void *)(uintptr_t)scene, &server, &err)) {
        _exit(1);
    }
    uint16_t port = http_serve_port(server);
    if (write(port_fd, &port, sizeof(port)) != sizeof(port)) {
        _exit(1);
    }
    loop_run(loop);
    _exit(0);
}

static void open_ray(struct scene *scene)
{
    AUTO_BUF struct buf record;
    char path[80];
    struct err err;
    int ends[2];
    uint16_t port = 0;
    assert_int_equal(pipe(ends), 0);
    scene->ray = fork();
    assert_true(scene->ray >= 0);
    if (scene->ray == 0) {
        serve(scene, ends[1]);
    }
    assert_int_equal(read(ends[0], &port, sizeof(port)), sizeof(port));
    close(ends[0]);
    close(ends[1]);
    buf_init(&record, 1000);
    buf_addf(&record,
             "{\"phase\": %d, \"token\": \"secret\", \"ray\": \"127.0.0.1:%u\", "
             "\"gcs\": \"127.0.0.1:1\"}",
             scene->has_ended ? TRAIN_STOPPED : TRAIN_RUNNING, port);
    snprintf(path, sizeof(path), "%s/job.json", scene->folder);
    assert_true(file_write(path, buf_str(&record), 0600, &err));
}

/* ---- the command ---- */

static void take_text(void *context, uint32_t slot, int64_t rank, struct str text)
{
    struct scene *scene = context;
    size_t used = strlen(scene->said);
    snprintf(scene->said + used, sizeof(scene->said) - used, "%u %d: %.*s", slot, (int)rank,
             STR_ARG(text));
}

static bool run(struct scene *scene, int64_t rank, struct err *err)
{
    return train_logs_run(&(struct train_logs_setup){.folder = scene->folder,
                                                     .job = "demo",
                                                     .rank = rank,
                                                     .follows = scene->follows,
                                                     .text = take_text,
                                                     .context = scene},
                          err);
}

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/logs.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct err err;
    int status;
    if (scene->ray > 0) {
        kill(scene->ray, SIGKILL);
        waitpid(scene->ray, &status, 0);
    }
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

static void the_output_of_every_slot_is_printed(void **state)
{
    struct scene *scene = *state;
    struct err err;
    open_ray(scene);
    assert_true(run(scene, -1, &err)); /* slot 2 has none any more */
    assert_string_equal(scene->said, "1 -1: step 1\nstep 2\n");
}

/* Two slots, and Ray has the output of none: silence would look like an empty output. */
static void no_output_at_all_is_an_error(void **state)
{
    struct scene *scene = *state;
    struct err err = {0};
    scene->has_no_logs = true;
    open_ray(scene);
    assert_false(run(scene, -1, &err));
    assert_string_equal(scene->said, "");
    assert_non_null(strstr(err.text, "HTTP 500"));
}

static void a_rank_that_no_slot_has_is_an_error(void **state)
{
    struct scene *scene = *state;
    struct err err = {0};
    open_ray(scene);
    assert_false(run(scene, 7, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no slot of job demo has rank 7"));
}

/* A running job is followed until it ends: see tests/train. */
static void the_end_of_a_job_ends_its_output(void **state)
{
    struct scene *scene = *state;
    struct err err;
    scene->follows = scene->has_ended = true;
    open_ray(scene);
    alarm(20);
    assert_true(run(scene, -1, &err));
    alarm(0);
    assert_string_equal(scene->said, "1 -1: step 1\nstep 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_output_of_every_slot_is_printed, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(the_end_of_a_job_ends_its_output, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(no_output_at_all_is_an_error, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_rank_that_no_slot_has_is_an_error, open_scene,
                                        close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
