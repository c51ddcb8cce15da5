/* test_tcp_probe.c: a port that opens is reported at once; the end of a pipe too. */
#include "io/tcp_probe.h"

#include "io/hangup.h"
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct bench {
    struct loop *loop;
    struct tcp_probe *probe;
    struct loop_timer *timer;
    int socket;
    int opened; /* number of reports */
    int64_t listens_ms, received_ms;
};

static void note_open(void *context)
{
    struct bench *bench = context;
    bench->opened++;
    bench->received_ms = loop_now_ms(bench->loop);
    tcp_probe_end(bench->probe);
    loop_stop(bench->loop);
}

static void listen_now(void *context)
{
    struct bench *bench = context;
    bench->listens_ms = loop_now_ms(bench->loop);
    assert_str(tcp_probe_why(bench->probe), "connection refused");
    assert_int_equal(listen(bench->socket, 5), 0);
}

static uint16_t bind_some(int fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

/* Milliseconds from the time at which the port listens until the probe notices. */
static int64_t delay_of_probe(void)
{
    struct bench bench = {.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct err err = {0};
    uint16_t port = bind_some(bench.socket);
    assert_true(loop_open(&clock_of_machine, &bench.loop, &err));
    bench.timer = loop_timer_new(bench.loop, listen_now, &bench);
    loop_timer_start(bench.timer, 600);
    bench.probe = tcp_probe_start(bench.loop, STR("127.0.0.1"), port, note_open, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.opened, 1);
    loop_timer_free(bench.timer);
    loop_close(bench.loop);
    close(bench.socket);
    return bench.received_ms - bench.listens_ms;
}

/* The fastest of five: a busy machine delays single ones. */
static void test_a_port_that_opens(void **state)
{
    int64_t delay_ms = INT64_MAX;
    (void)state;
    for (int i = 0; i < 5 && delay_ms > 250; i++) {
        delay_ms = delay_of_probe();
    }
    assert_in_range(delay_ms, 0, 250);
}

static void test_names_are_not_probed(void **state)
{
    (void)state;
    struct loop *loop;
    struct err err = {0};
    assert_true(loop_open(&clock_of_machine, &loop, &err));
    assert_null(tcp_probe_start(loop, STR("localhost"), 22, note_open, NULL));
    assert_null(tcp_probe_start(loop, STR(""), 22, note_open, NULL));
    /* Cancelled before it starts, and in the middle. */
    tcp_probe_end(tcp_probe_start(loop, STR("::1"), 1, note_open, NULL));
    loop_close(loop);
}

static void note_gone(void *context)
{
    struct bench *bench = context;
    bench->opened++;
    loop_stop(bench->loop);
}

static void close_end(void *context)
{
    struct bench *bench = context;
    assert_int_equal(bench->opened, 0);
    close(bench->socket);
}

static void test_the_end_of_a_pipe(void **state)
{
    (void)state;
    struct bench bench = {0};
    struct err err = {0};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    bench.socket = ends[1];
    assert_int_equal(write(ends[1], "more", 4), 4); /* is thrown away */
    assert_true(loop_open(&clock_of_machine, &bench.loop, &err));
    bench.timer = loop_timer_new(bench.loop, close_end, &bench);
    loop_timer_start(bench.timer, 30);
    struct hangup *hangup = hangup_watch(bench.loop, ends[0], note_gone, &bench);
    assert_non_null(hangup);
    loop_run(bench.loop);
    assert_int_equal(bench.opened, 1);
    hangup_end(hangup);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    hangup = hangup_watch(bench.loop, nothing, note_gone, &bench);
    hangup_end(hangup);
    loop_timer_free(bench.timer);
    loop_close(bench.loop);
    close(nothing);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_port_that_opens),
        cmocka_unit_test(test_names_are_not_probed),
        cmocka_unit_test(test_the_end_of_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
