/* attend.c: waits until the command exits or the readers of both pipes are gone. */
#include "app/node/attend.h"

#include "base/attr.h"
#include "io/failpoint.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SIGNAL_BASE = 128, NOT_STARTED = 127, GRACE_S = 5 };

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t got_signal;

static void attend_note_signal(int number)
{
    if (number != SIGCHLD) {
        got_signal = number;
    }
}

/* Blocks all signals except while ppoll() waits, so that none is missed. */
static void take_signals(sigset_t *ret_before)
{
    struct sigaction action = {.sa_handler = attend_note_signal};
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
        sigaddset(&set, passed_on[i]);
        sigaction(passed_on[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

static int attend_start(const char *const *argv, const sigset_t *mask, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    union {
        const char *const *given;
        char *const *wanted; /* posix_spawnp() does not modify it */
    } words = {.given = argv};
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
        sigaddset(&defaults, passed_on[i]);
    }
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    failpoint("child", argv[0], "before");
    int problem = posix_spawnp(ret_pid, argv[0], NULL, &attributes, words.wanted, environ);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

static bool attend_has_ended(pid_t pid, int *ret_status)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid) {
        return false;
    }
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
    return true;
}

static bool attend_is_left(const struct pollfd *pipe)
{
    return (pipe->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

/* True if both outputs have lost their reader; false on any other event. A pipe without a reader is
 * not polled again, or poll() would always return at once. */
static bool wait_for_hangup(struct pollfd pipes[2], const sigset_t *mask)
{
    ppoll(pipes, 2, NULL, mask);
    for (size_t i = 0; i < 2; i++) {
        if (pipes[i].fd >= 0 && attend_is_left(&pipes[i])) {
            pipes[i].fd = -1;
        }
        pipes[i].revents = 0;
    }
    return pipes[0].fd < 0 && pipes[1].fd < 0;
}

/* Sends SIGTERM, and SIGKILL to processes that remain a few seconds later. */
static int end_group(pid_t pid, const sigset_t *mask)
{
    struct timespec left = {.tv_sec = GRACE_S};
    int status;
    kill(-pid, SIGTERM);
    kill(-pid, SIGCONT);
    while (!attend_has_ended(pid, &status)) {
        if (ppoll(NULL, 0, &left, mask) == 0) {
            kill(-pid, SIGKILL);
            left.tv_sec = 1;
        }
    }
    return SIGNAL_BASE + SIGTERM;
}

int node_attend(const char *const *argv)
{
    struct pollfd pipes[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
    sigset_t before;
    pid_t pid = 0;
    int status;
    take_signals(&before);
    int problem = attend_start(argv, &before, &pid);
    if (problem != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], strerror(problem));
        return NOT_STARTED;
    }
    while (!attend_has_ended(pid, &status)) {
        if (wait_for_hangup(pipes, &before)) {
            return end_group(pid, &before);
        }
        if (got_signal != 0) {
            kill(-pid, got_signal);
            got_signal = 0;
        }
    }
    return status;
}
