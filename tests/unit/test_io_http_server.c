/* test_io_http_server.c: a server on loopback, with plain sockets of the same process as
 * clients. */
#include "io/http_server.h"

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOK_MS = 2, LIMIT_MS = 60000, CROWD = 300, JOB = 64, LARGE = 3000000, HUGE = 15000000 };

struct ctl_conn {
    int fd;
    struct buf heard;
    bool is_over;
};

struct scene {
    struct loop *loop;
    struct http_serve *serve;
    struct loop_timer *look;
    struct ctl_conn conns[CROWD];
    size_t conn_count;
    int64_t until;
    size_t asked; /* how often the server asked for an answer */
};

static void answer(void *context, const struct http_server_request *request,
                   struct http_served *answer)
{
    struct str path = request->path;
    struct scene *scene = context;
    scene->asked++;
    if (str_is(path, "/metrics")) {
        answer->status = 200;
        answer->type = "text/plain; version=0.0.4";
        buf_add_c(&answer->body, "up 1\n");
    } else if (request->is_put) {
        answer->status = 200;
        answer->type = "text/plain";
        buf_addf(&answer->body, "got %zu", request->body.len);
    } else if (str_is(path, "/large") || str_is(path, "/huge") || str_is(path, "/too-large")) {
        size_t size = str_is(path, "/large")  ? LARGE
                      : str_is(path, "/huge") ? HUGE
                                              : HTTP_SERVE_BODY_MAX + 1;
        answer->status = 200;
        answer->type = "text/plain";
        buf_add_spaces(&answer->body, size);
    }
}

/* Returns its number. */
static size_t http_conn(struct scene *scene, const char *words)
{
    struct ctl_conn *ctl_conn = &scene->conns[scene->conn_count++];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_serve_port(scene->serve)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ctl_conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    buf_init(&ctl_conn->heard, HUGE + 1000);
    assert_int_equal(connect(ctl_conn->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(ctl_conn->fd, words, strlen(words), MSG_NOSIGNAL), strlen(words));
    return scene->conn_count - 1;
}

static void say(struct scene *scene, size_t number, const char *words)
{
    assert_int_equal(send(scene->conns[number].fd, words, strlen(words), MSG_NOSIGNAL),
                     strlen(words));
}

/* Reads what is available; ends the turn when all clients have their complete answers. */
static void look(void *context)
{
    struct scene *scene = context;
    char piece[65536];
    bool is_over = true;
    for (size_t i = 0; i < scene->conn_count; i++) {
        struct ctl_conn *ctl_conn = &scene->conns[i];
        ssize_t got = ctl_conn->is_over ? 0
                                        : recv(ctl_conn->fd, piece, sizeof(piece), MSG_DONTWAIT);
        while (got > 0) {
            buf_add(&ctl_conn->heard, (struct str){piece, (size_t)got});
            got = recv(ctl_conn->fd, piece, sizeof(piece), MSG_DONTWAIT);
        }
        ctl_conn->is_over = ctl_conn->is_over || got == 0 || (got < 0 && errno != EAGAIN);
        is_over = is_over && ctl_conn->is_over;
    }
    if (is_over || loop_now_ms(scene->loop) > scene->until) {
        loop_stop(scene->loop);
    } else {
        loop_timer_start(scene->look, LOOK_MS);
    }
}

static void serve_all(struct scene *scene)
{
    scene->until = loop_now_ms(scene->loop) + LIMIT_MS;
    loop_timer_start(scene->look, 0);
    loop_run(scene->loop);
    for (size_t i = 0; i < scene->conn_count; i++) {
        assert_true(scene->conns[i].is_over);
    }
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err;
    *state = scene;
    assert_non_null(scene);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    assert_true(http_serve_open(scene->loop, "127.0.0.1", 0, answer, scene, &scene->serve, &err));
    scene->look = loop_timer_new(scene->loop, look, scene);
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < scene->conn_count; i++) {
        close(scene->conns[i].fd);
        buf_clear(&scene->conns[i].heard);
    }
    http_serve_close(scene->serve);
    loop_close(scene->loop);
    free(scene);
    return 0;
}

static struct str heard(const struct scene *scene, size_t number)
{
    return buf_str(&scene->conns[number].heard);
}

static void a_text_is_served(void **state)
{
    struct scene *scene = *state;
    http_conn(scene, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    http_conn(scene, "HEAD /metrics HTTP/1.1\r\n\r\n");
    http_conn(scene, "GET /elsewhere HTTP/1.1\r\n\r\n");
    serve_all(scene);
    assert_like(heard(scene, 0), "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                                 "Content-Length: 5\r\n*\n*\nConnection: close\r\n\r\nup 1\n");
    assert_true(str_ends(heard(scene, 1), "Connection: close\r\n\r\n"));
    assert_int_not_equal(str_find(heard(scene, 1), "Content-Length: 5\r\n"), SIZE_MAX);
    assert_true(str_starts(heard(scene, 2), "HTTP/1.1 404 Not Found\r\n"));
    assert_true(str_ends(heard(scene, 2), "\r\n\r\n404 Not Found\n"));
}

static void what_is_wrong_is_told(void **state)
{
    struct scene *scene = *state;
    http_conn(scene, "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    http_conn(scene, "\x16\x03\x01\r\n\r\n");
    http_conn(scene, "GET /too-large HTTP/1.1\r\n\r\n");
    serve_all(scene);
    assert_true(str_starts(heard(scene, 0), "HTTP/1.1 405 Method Not Allowed\r\n"));
    assert_int_not_equal(str_find(heard(scene, 0), "\r\nAllow: GET, HEAD\r\n"), SIZE_MAX);
    assert_true(str_starts(heard(scene, 1), "HTTP/1.1 400 Bad Request\r\n"));
    assert_true(str_starts(heard(scene, 2), "HTTP/1.1 500 Internal Server Error\r\n"));
    assert_int_equal(scene->asked, 1);
}

static void large_texts_arrive_whole(void **state)
{
    struct scene *scene = *state;
    http_conn(scene, "GET /large HTTP/1.1\r\n\r\nand more than anybody asked for");
    serve_all(scene);
    struct str text = heard(scene, 0);
    size_t body = str_find(text, "\r\n\r\n") + 4;
    assert_int_equal(text.len - body, LARGE);
}

static void a_body_is_taken_if_accepted(void **state)
{
    struct scene *scene = *state;
    http_serve_accept_put(scene->serve, 1000);
    http_conn(scene, "PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    http_conn(scene, "PUT /a HTTP/1.1\r\nContent-Length: 1001\r\n\r\nabc");
    http_conn(scene, "POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    serve_all(scene);
    assert_true(str_ends(heard(scene, 0), "\r\n\r\ngot 3"));
    assert_true(str_starts(heard(scene, 1), "HTTP/1.1 413 Content Too Large\r\n"));
    assert_int_not_equal(str_find(heard(scene, 2), "\r\nAllow: GET, HEAD, PUT\r\n"), SIZE_MAX);
}

/* Lets the server accept and read what was sent, without an answer to wait for. */
static void serve_for(struct scene *scene, int64_t ms)
{
    scene->until = loop_now_ms(scene->loop) + ms;
    loop_timer_start(scene->look, 0);
    loop_run(scene->loop);
}

/* All replicas of a job call AdaptDL's supervisor once, together, and do not try again. */
static void a_whole_job_is_served(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < JOB; i++) {
        http_conn(scene, "");
    }
    serve_for(scene, 100);
    for (size_t i = 0; i < JOB; i++) {
        say(scene, i, "GET /metrics HTTP/1.1\r\n\r\n");
    }
    serve_all(scene);
    for (size_t i = 0; i < JOB; i++) {
        assert_true(str_starts(heard(scene, i), "HTTP/1.1 200 OK\r\n"));
    }
    assert_int_equal(scene->asked, JOB);
}

/* Silent connections take all places: the oldest ones leave, and a client with a request is still
 * served. */
static void a_crowd_is_bounded(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i + 1 < CROWD; i++) {
        http_conn(scene, "GET /metrics HTTP/1.1\r\n");
        if (i % 32 == 31) {
            serve_for(scene, 20); /* in this order */
        }
    }
    serve_for(scene, 200);
    size_t last = http_conn(scene, "GET /metrics HTTP/1.1\r\n\r\n");
    while (!scene->conns[last].is_over) {
        serve_for(scene, 20);
    }
    assert_true(str_ends(heard(scene, last), "up 1\n"));
    size_t away = 0;
    for (size_t i = 0; i < last; i++) {
        away += scene->conns[i].is_over;
        assert_int_equal(scene->conns[i].heard.len, 0);
    }
    assert_in_range(away, CROWD - 257, CROWD - 255);
    assert_true(scene->conns[0].is_over);
    assert_false(scene->conns[last - 1].is_over);
    assert_int_equal(scene->asked, 1);
}

/* A client that has its answer and does not close. */
static void answered_clients_take_no_place(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < CROWD; i++) {
        size_t number = http_conn(scene, "GET /metrics HTTP/1.1\r\n\r\n");
        serve_all(scene);
        assert_true(str_ends(heard(scene, number), "up 1\n"));
    }
}

static void loop_stops(void *context)
{
    loop_stop(((struct scene *)context)->loop);
}

/* Their answers would fill the memory. */
static void clients_that_do_not_read_are_closed(void **state)
{
    struct scene *scene = *state;
    struct loop_timer *end = loop_timer_new(scene->loop, loop_stops, scene);
    for (size_t i = 0; i < 8; i++) {
        http_conn(scene, "GET /huge HTTP/1.1\r\n\r\n");
        while (scene->asked <= i) {
            loop_timer_start(end, LOOK_MS);
            loop_run(scene->loop);
        }
    }
    loop_timer_free(end);
    serve_all(scene);
    assert_true(heard(scene, 0).len < HUGE);
    assert_true(heard(scene, 3).len < HUGE);
    assert_true(heard(scene, 4).len > HUGE);
    assert_true(heard(scene, 7).len > HUGE);
}

static void a_port_has_one_server(void **state)
{
    struct scene *scene = *state;
    struct http_serve *other = NULL;
    struct err err = {0};
    assert_false(http_serve_open(scene->loop, "127.0.0.1", http_serve_port(scene->serve), answer,
                                 scene, &other, &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_false(http_serve_open(scene->loop, "localhost", 0, answer, scene, &other, &err));
    assert_int_equal(err.kind, ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_served, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_texts_arrive_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_is_taken_if_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crowd_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_job_is_served, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_that_do_not_read_are_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answered_clients_take_no_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_port_has_one_server, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
