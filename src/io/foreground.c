/* foreground.c: spawn, wait, pass signals on, and leave the terminal as it was. */
#include "io/foreground.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/* What the keyboard sends to the whole group: the child's business. */
static const int ignored[] = {SIGINT, SIGQUIT, SIGTTOU};
/* What is sent to us alone. */
static const int passed_on[] = {SIGTERM, SIGHUP};

enum { SIGNAL_BASE = 128 };

struct before {
    sigset_t mask;
    struct sigaction ignored[ARRAY_LEN(ignored)];
    struct sigaction child;
    struct termios terminal;
    bool has_terminal;
};

static void nothing(int number)
{
    (void)number;
}

static void prepare(struct before *before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction wake = {.sa_handler = nothing};
    sigset_t waited;
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&wake.sa_mask);
    sigemptyset(&waited);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
        sigaction(ignored[i], &ignore, &before->ignored[i]);
    }
    /* Blocked and waited for: nothing gets lost between two looks. */
    sigaddset(&waited, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
        sigaddset(&waited, passed_on[i]);
    }
    sigaction(SIGCHLD, &wake, &before->child);
    sigprocmask(SIG_BLOCK, &waited, &before->mask);
    before->has_terminal = tcgetattr(STDIN_FILENO, &before->terminal) == 0;
}

/* A program that was killed may have left the terminal without echo. */
static void restore(const struct before *before, bool was_killed)
{
    if (was_killed && before->has_terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before->terminal);
    }
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
        sigaction(ignored[i], &before->ignored[i], NULL);
    }
}

/* The child has the signals as we had them; SIGPIPE, which we never want, as everybody has it. */
static int spawn(const char *const *argv, const struct before *before, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    union {
        const char *const *given;
        char *const *wanted; /* posix_spawnp() changes nothing */
    } words = {.given = argv};
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
        if (before->ignored[i].sa_handler != SIG_IGN) {
            sigaddset(&defaults, ignored[i]);
        }
    }
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &before->mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int problem = posix_spawnp(ret_pid, argv[0], NULL, &attributes, words.wanted, environ);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

/* Its wait status, once it has ended. */
static int wait_for(pid_t pid)
{
    sigset_t waited;
    int status = 0;
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
        sigaddset(&waited, passed_on[i]);
    }
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(&waited, &info);
        if (number > 0 && number != SIGCHLD) {
            kill(pid, number);
            continue;
        }
        if (waitpid(pid, &status, WNOHANG | WUNTRACED) != pid) {
            continue;
        }
        if (!WIFSTOPPED(status)) {
            return status;
        }
        /* It stopped by itself (ssh's ~^Z): so do we, or the shell would wait for ever. */
        raise(SIGSTOP);
        kill(pid, SIGCONT);
    }
}

bool foreground_run(const char *const *argv, int *ret_status, struct err *err)
{
    struct before before;
    pid_t pid = 0;
    prepare(&before);
    int problem = spawn(argv, &before, &pid);
    if (problem != 0) {
        restore(&before, false);
        return err_set(err, problem == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", argv[0],
                       problem == ENOENT ? "there is no such program here; it must be installed"
                                         : strerror(problem));
    }
    int status = wait_for(pid);
    restore(&before, WIFSIGNALED(status));
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
    return true;
}
