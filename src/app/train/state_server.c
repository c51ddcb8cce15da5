/* state_server.c: a process that serves trees with state_serve(). */
#include "app/train/state_server.h"

#include "app/train/state_transfer.h"
#include "io/failpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static bool server_listen(int *ret_listener, uint16_t *ret_port, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        err_set(err, ERR_IO, "cannot listen for other slots: %s", strerror(errno));
        if (listener >= 0) {
            close(listener);
        }
        return false;
    }
    *ret_listener = listener;
    *ret_port = ntohs(address.sin_port);
    return true;
}

bool state_server_start(const char *root, struct str token, int *ret_pid, uint16_t *ret_port,
                        struct err *err)
{
    int listener;
    if (!server_listen(&listener, ret_port, err)) {
        return false;
    }
    pid_t parent = getpid();
    failpoint("fork", NULL, "before");
    pid_t pid = fork();
    if (pid == 0) {
        struct err why;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_IGN); /* Ray stops a job by signals to all of its processes, */
        signal(SIGINT, SIG_IGN);  /* and a terminal by one to the foreground group */
        if (getppid() == parent &&
            !state_serve(&(struct state_server){listener, root, token, 0, 0, 0}, &why)) {
            fprintf(stderr, "shoal: %s\n", why.text);
        }
        _exit(1);
    }
    close(listener);
    if (pid < 0) {
        return err_set(err, ERR_IO, "cannot start a process: %s", strerror(errno));
    }
    *ret_pid = pid;
    return true;
}
