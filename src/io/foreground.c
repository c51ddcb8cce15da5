/* foreground.c: spawn, wait, pass signals on, and leave the terminal as it was. */
#include "io/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/*
 * What is waited for instead of being caught, so that nothing gets lost between two looks: the
 * child's end, and signals to be passed on. The kernel itself sends the first two for keys, to the
 * child too.
 */
static const int waited[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};

enum { SIGNAL_BASE = 128 };

struct before {
    sigset_t mask;
    struct sigaction actions[ARRAY_LEN(waited)];
    struct sigaction output; /* SIGTTOU: setting the terminal back must not stop us */
    struct termios terminal;
    bool has_terminal;
};

static void nothing(int number)
{
    (void)number;
}

static void waited_set(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        sigaddset(ret_set, waited[i]);
    }
}

static void prepare(struct before *before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction wake = {.sa_handler = nothing};
    sigset_t set;
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&wake.sa_mask);
    waited_set(&set);
    sigprocmask(SIG_BLOCK, &set, &before->mask);
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        sigaction(waited[i], &wake, &before->actions[i]);
    }
    sigaction(SIGTTOU, &ignore, &before->output);
    before->has_terminal = tcgetattr(STDIN_FILENO, &before->terminal) == 0;
}

/* A program that was killed may have left the terminal without echo. What came too late to be
 * passed on is forgotten: ignoring a signal drops it. */
static void restore(const struct before *before, bool was_killed)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    if (was_killed && before->has_terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before->terminal);
    }
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        sigaction(waited[i], &ignore, NULL);
    }
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        sigaction(waited[i], &before->actions[i], NULL);
    }
    sigaction(SIGTTOU, &before->output, NULL);
}

/* The child has the signals as we had them; SIGPIPE, which we never want, as everybody has it. */
static void set_signals(posix_spawnattr_t *attributes, const struct before *before)
{
    sigset_t defaults;
    sigset_t ignored;
    sigemptyset(&defaults);
    sigemptyset(&ignored);
    sigaddset(&defaults, SIGPIPE);
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        if (before->actions[i].sa_handler == SIG_IGN && waited[i] != SIGCHLD) {
            signal(waited[i], SIG_IGN); /* nohup: it is inherited so */
        } else {
            sigaddset(&defaults, waited[i]);
        }
    }
    if (before->output.sa_handler != SIG_IGN) {
        sigaddset(&defaults, SIGTTOU);
    }
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setsigmask(attributes, &before->mask);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

static int spawn(const char *const *argv, enum foreground_output output,
                 const struct before *before, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    union {
        const char *const *given;
        char *const *wanted; /* posix_spawnp() changes nothing */
    } words = {.given = argv};
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    set_signals(&attributes, before);
    if (output == FOREGROUND_TO_ERROR) {
        posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    } else if (output == FOREGROUND_NOWHERE) {
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    int problem = posix_spawnp(ret_pid, argv[0], &files, &attributes, words.wanted, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

/* Its wait status, once it has ended. */
static int wait_for(pid_t pid, bool *ret_is_interrupted)
{
    sigset_t set;
    int status = 0;
    waited_set(&set);
    for (;;) {
        siginfo_t info = {0};
        int number = sigwaitinfo(&set, &info);
        if (number > 0 && number != SIGCHLD) {
            *ret_is_interrupted = *ret_is_interrupted || number == SIGINT;
            if (info.si_code <= 0) { /* sent by a process, not by a key */
                kill(pid, number);
            }
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

bool foreground_run(const char *const *argv, enum foreground_output output,
                    struct foreground_end *ret_end, struct err *err)
{
    struct before before;
    struct foreground_end end = {0};
    pid_t pid = 0;
    prepare(&before);
    int problem = spawn(argv, output, &before, &pid);
    if (problem != 0) {
        restore(&before, false);
        return err_set(err, problem == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", argv[0],
                       problem == ENOENT ? "there is no such program here; it must be installed"
                                         : strerror(problem));
    }
    int status = wait_for(pid, &end.is_interrupted);
    restore(&before, WIFSIGNALED(status));
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
    *ret_end = end;
    return true;
}
