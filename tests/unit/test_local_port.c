/* test_local_port.c: ports of this machine that another program uses. */
#include "cli/local_port.h"

#include "unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_port_in_use_is_found(void **state)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(here);
    struct err err;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&here, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
    uint16_t port = ntohs(here.sin_port);
    assert_false(local_port_is_free(port));
    assert_false(local_port_check(port, &err));
    assert_non_null(strstr(err.text, "choose another with -p PORT"));
    uint16_t other = local_port_find(port);
    assert_true(other > port && local_port_is_free(other));
    close(fd);
    assert_true(local_port_check(port, &err));
    assert_int_equal(local_port_find(port), port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_port_in_use_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
