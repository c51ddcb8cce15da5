/* test_line_socket.c: lines between the two ends of a named socket. */
#include "io/line_socket.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct end {
    struct line_link *link;
    struct loop *loop;
    char heard[4096];
    size_t line_count;
    struct err err;
    int ended_calls;
    bool answers, stops_at_end;
};

struct scene {
    struct loop *loop;
    struct line_server *server;
    struct loop_timer *limit;
    char folder[64];
    char path[128];
    struct end here, there; /* the client's end; the server's */
    struct line_link_limits limits;
};

static void on_line(void *context, struct str line)
{
    struct end *end = context;
    size_t used = strlen(end->heard);
    end->line_count++;
    snprintf(end->heard + used, sizeof(end->heard) - used, "[%.*s]",
             STR_ARG(str_sub(line, 0, 100)));
    if (end->answers) {
        line_link_write(end->link, STR("so it is\n"));
    }
}

static void on_end(void *context, const struct err *err)
{
    struct end *end = context;
    end->err = *err;
    end->ended_calls++;
    if (end->stops_at_end) {
        loop_stop(end->loop);
    }
}

static struct line_link_hooks hooks_of(struct end *end)
{
    return (struct line_link_hooks){end, on_line, on_end};
}

static void on_accept(void *context, struct line_link *link)
{
    struct scene *scene = context;
    struct line_link_hooks hooks = hooks_of(&scene->there);
    scene->there.link = link;
    line_link_begin(link, &hooks);
    line_link_write(link, STR("hello\n"));
}

static void stop(void *context)
{
    loop_stop(context);
}

static void too_long(void *context)
{
    loop_stop(context);
    fail_msg("nothing happens");
}

static void open_scene(struct scene *scene)
{
    struct err err;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/shoal-socket-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof(scene->path), "%s/ctl.sock", scene->folder);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->here.loop = scene->there.loop = scene->loop;
    scene->limit = loop_timer_new(scene->loop, too_long, scene->loop);
    loop_timer_start(scene->limit, 8000);
    assert_true(line_server_open(scene->loop, scene->path, &scene->limits, on_accept, scene,
                                 &scene->server, &err));
}

static void connect_scene(struct scene *scene)
{
    struct line_link_hooks hooks = hooks_of(&scene->here);
    struct err err;
    assert_true(
        line_link_open(scene->loop, scene->path, &scene->limits, &hooks, &scene->here.link, &err));
}

static void close_scene(struct scene *scene)
{
    line_link_close(scene->here.link);
    line_server_close(scene->server);
    loop_close(scene->loop);
    assert_int_not_equal(access(scene->path, F_OK), 0); /* the name is removed with the server */
    rmdir(scene->folder);
}

static void lines_go_both_ways(void **state)
{
    struct scene scene = {.there.answers = true, .here.stops_at_end = true};
    struct stat status;
    (void)state;
    open_scene(&scene);
    assert_int_equal(stat(scene.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    connect_scene(&scene);
    line_link_write(scene.here.link, STR("one\ntw"));
    line_link_write(scene.here.link, STR("o\r\n\nhalf a line"));
    line_link_finish(scene.here.link); /* all of it arrives, then the end */
    scene.here.link = NULL;
    scene.there.stops_at_end = true;
    loop_run(scene.loop);
    assert_string_equal(scene.there.heard, "[one][two][]");
    assert_int_equal(scene.there.ended_calls, 1);
    assert_int_equal(scene.there.err.kind, ERR_NONE);
    close_scene(&scene);
}

static void the_server_speaks_first_and_last(void **state)
{
    struct scene scene = {.here.stops_at_end = true, .here.answers = true};
    (void)state;
    open_scene(&scene);
    connect_scene(&scene);
    scene.there.stops_at_end = false;
    /* The client answers each line; the server ends after the first. */
    struct loop_timer *bye = loop_timer_new(scene.loop, stop, scene.loop);
    loop_timer_start(bye, 50);
    loop_run(scene.loop);
    assert_string_equal(scene.here.heard, "[hello]");
    assert_string_equal(scene.there.heard, "[so it is]");
    line_link_write(scene.there.link, STR("bye\n"));
    line_link_finish(scene.there.link);
    loop_run(scene.loop);
    assert_string_equal(scene.here.heard, "[hello][bye]");
    assert_int_equal(scene.here.ended_calls, 1);
    assert_int_equal(scene.here.err.kind, ERR_NONE);
    loop_timer_free(bye);
    close_scene(&scene);
}

static void what_is_too_long_ends_it(void **state)
{
    struct scene scene = {.limits = {.line_max = 1000}, .there.stops_at_end = true};
    char much[1101];
    (void)state;
    memset(much, 'a', sizeof(much) - 1);
    much[sizeof(much) - 1] = '\0';
    open_scene(&scene);
    connect_scene(&scene);
    line_link_write(scene.here.link, STR("fine\n"));
    line_link_write(scene.here.link, str_from(much));
    loop_run(scene.loop);
    assert_string_equal(scene.there.heard, "[fine]");
    assert_int_equal(scene.there.err.kind, ERR_PROTOCOL);
    close_scene(&scene);
}

/* A reader that never reads: a plain descriptor, not on the loop. */
static void a_slow_reader_is_cut_off(void **state)
{
    struct scene scene = {.limits = {.waiting_max = 100000}, .there.stops_at_end = true};
    char line[1001];
    struct err err;
    int fd;
    (void)state;
    memset(line, 'b', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    open_scene(&scene);
    assert_true(line_socket_connect(scene.path, &fd, &err));
    struct loop_timer *soon = loop_timer_new(scene.loop, stop, scene.loop);
    loop_timer_start(soon, 20);
    loop_run(scene.loop);
    assert_non_null(scene.there.link);
    for (int i = 0; i < 2000; i++) {
        line_link_write(scene.there.link, str_from(line));
    }
    assert_int_equal(scene.there.ended_calls, 0); /* never from inside the call */
    loop_run(scene.loop);
    assert_int_equal(scene.there.ended_calls, 1);
    assert_int_equal(scene.there.err.kind, ERR_TIMEOUT);
    loop_timer_free(soon);
    close(fd);
    close_scene(&scene);
}

static void nobody_there_is_told(void **state)
{
    struct scene scene = {.here.stops_at_end = true};
    struct err err;
    int fd;
    (void)state;
    open_scene(&scene);
    line_server_close(scene.server);
    scene.server = NULL;
    connect_scene(&scene);
    loop_run(scene.loop);
    assert_int_equal(scene.here.err.kind, ERR_UNAVAILABLE);
    assert_false(line_socket_connect(scene.path, &fd, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    close_scene(&scene);
}

static void a_dead_server_is_replaced_and_a_living_one_is_not(void **state)
{
    struct scene scene = {.here.stops_at_end = true};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct line_server *second;
    struct err err;
    (void)state;
    open_scene(&scene);
    assert_false(line_server_open(scene.loop, scene.path, NULL, on_accept, &scene, &second, &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    line_server_close(scene.server);
    loop_timer_start(scene.limit, 8000);
    struct loop_timer *soon = loop_timer_new(scene.loop, stop, scene.loop);
    loop_timer_start(soon, 1);
    loop_run(scene.loop);
    /* What a killed process leaves: a name without a listener. */
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, scene.path, strlen(scene.path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    assert_true(
        line_server_open(scene.loop, scene.path, NULL, on_accept, &scene, &scene.server, &err));
    loop_timer_free(soon);
    close_scene(&scene);
}

static void other_things_and_long_names_are_refused(void **state)
{
    struct scene scene = {0};
    struct line_server *second;
    struct err err;
    char other[200], longer[200];
    (void)state;
    open_scene(&scene);
    snprintf(other, sizeof(other), "%s/file", scene.folder);
    FILE *file = fopen(other, "w");
    fclose(file);
    assert_false(line_server_open(scene.loop, other, NULL, on_accept, &scene, &second, &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    unlink(other);
    snprintf(longer, sizeof(longer), "%s/%0120d", scene.folder, 7);
    assert_false(line_server_open(scene.loop, longer, NULL, on_accept, &scene, &second, &err));
    assert_like(str_from(err.text),
                "*a socket path can have at most 107 bytes, but this path has *");
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_go_both_ways),
        cmocka_unit_test(the_server_speaks_first_and_last),
        cmocka_unit_test(what_is_too_long_ends_it),
        cmocka_unit_test(a_slow_reader_is_cut_off),
        cmocka_unit_test(nobody_there_is_told),
        cmocka_unit_test(a_dead_server_is_replaced_and_a_living_one_is_not),
        cmocka_unit_test(other_things_and_long_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
