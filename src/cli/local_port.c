/* local_port.c: tests whether a port is in use by binding to it. */
#include "cli/local_port.h"

#include "io/os.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool local_port_is_free(uint16_t port)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int on = 1;
    int fd = os_socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        return true; /* ssh will say why */
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool is_taken = bind(fd, (struct sockaddr *)&here, sizeof(here)) != 0 && errno == EADDRINUSE;
    close(fd);
    return !is_taken;
}

bool local_port_check(uint16_t port, struct err *err)
{
    return local_port_is_free(port) ||
           err_set(err, ERR_UNAVAILABLE,
                   "port %u is in use on this machine; choose another with -p PORT", port);
}

uint16_t local_port_find(uint16_t first)
{
    enum { TRIES = 50 };
    for (uint16_t i = 0; i < TRIES; i++) {
        if (local_port_is_free((uint16_t)(first + i))) {
            return (uint16_t)(first + i);
        }
    }
    return first;
}
