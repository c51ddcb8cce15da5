/* foreground.c: spawns the program, waits, forwards signals and restores the terminal. */
#include "io/foreground.h"

#include "base/arena.h"
#include "base/secret_text.h"
#include "io/failpoint.h"
#include "io/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/*
 * Blocked and received with os_wait_signal(), so that none gets lost: the child's exit, and signals
 * to forward. For SIGINT and SIGQUIT from the keyboard, the kernel signals the child too.
 */
static const int waited[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};

enum { SIGNAL_BASE = 128 };

struct before {
    sigset_t mask;
    struct sigaction actions[ARRAY_LEN(waited)];
    struct sigaction output; /* SIGTTOU: restoring the terminal must not stop us */
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

static void foreground_prepare(struct before *before)
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

/* A killed program may have left the terminal without echo. Signals that arrived too late to be
 * forwarded are dropped by ignoring them. */
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

/* The child gets our original signal dispositions, and the default for SIGPIPE, which we ignore. */
static void set_signals(posix_spawnattr_t *attributes, const struct before *before)
{
    sigset_t defaults;
    sigset_t ignored;
    sigemptyset(&defaults);
    sigemptyset(&ignored);
    sigaddset(&defaults, SIGPIPE);
    for (size_t i = 0; i < ARRAY_LEN(waited); i++) {
        if (before->actions[i].sa_handler == SIG_IGN && waited[i] != SIGCHLD) {
            signal(waited[i], SIG_IGN); /* started by nohup: the child inherits that */
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

/* ---- the child's environment ---- */

/* SSH_AUTH_SOCK and SSH_ASKPASS look like secrets but are needed by ssh; PWD is harmless. */
static bool is_for_ssh(struct str name)
{
    return str_starts(name, "SSH_") || str_is(name, "PWD") || str_is(name, "OLDPWD");
}

static bool holds_secret(struct str variable, struct arena *arena)
{
    struct str value = variable;
    struct str name = str_cut(&value, '=');
    return !is_for_ssh(name) &&
           (secret_is_name(name) || !str_eq(secret_mask_text(arena, value), value));
}

static char **safe_variables(struct arena *arena)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **kept = ARENA_ARRAY(arena, count + 1, char *);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!holds_secret(str_from(environ[i]), arena)) {
            kept[used++] = environ[i];
        }
    }
    kept[used] = NULL;
    return kept;
}

/* ---- the child ---- */

static int spawn(const char *const *argv, enum foreground_output output,
                 const struct before *before, pid_t *ret_pid)
{
    struct arena arena;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    union {
        const char *const *given;
        char *const *wanted; /* posix_spawnp() does not modify it */
    } words = {.given = argv};
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    set_signals(&attributes, before);
    if (output == FOREGROUND_TO_ERROR) {
        posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    } else if (output == FOREGROUND_NOWHERE) {
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    failpoint("child", argv[0], "before");
    arena_init_secret(&arena);
    int problem = posix_spawnp(ret_pid, argv[0], &files, &attributes, words.wanted,
                               safe_variables(&arena));
    arena_clear(&arena);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

/* The keyboard's signals that arrived before the child existed went to us alone. */
static void forward_early_keys(pid_t pid)
{
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGINT) == 1) {
        kill(pid, SIGINT);
    }
    if (sigismember(&pending, SIGQUIT) == 1) {
        kill(pid, SIGQUIT);
    }
}

/* Waits for the child to exit and returns its wait status. */
static int wait_for(pid_t pid, struct foreground_end *end)
{
    sigset_t set;
    int status = 0;
    waited_set(&set);
    for (;;) {
        bool is_sent = false;
        int number = os_wait_signal(&set, &is_sent);
        if (number > 0 && number != SIGCHLD) {
            end->is_interrupted = end->is_interrupted || number == SIGINT;
            end->signal = end->signal ? end->signal : number;
            if (is_sent) { /* by a process, not by the keyboard */
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
        /* It stopped itself (ssh's ~^Z): stop too, or the shell would wait forever. */
        raise(SIGSTOP);
        kill(pid, SIGCONT);
    }
}

bool foreground_run(const char *const *argv, enum foreground_output output, struct str notice,
                    struct foreground_end *ret_end, struct err *err)
{
    struct before before;
    struct foreground_end end = {0};
    pid_t pid = 0;
    foreground_prepare(&before);
    fprintf(stderr, "%.*s", STR_ARG(notice));
    int problem = spawn(argv, output, &before, &pid);
    if (problem != 0) {
        restore(&before, false);
        return err_set(err, problem == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", argv[0],
                       problem == ENOENT ? "program not found; install it" : strerror(problem));
    }
    forward_early_keys(pid);
    int status = wait_for(pid, &end);
    restore(&before, WIFSIGNALED(status));
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
    *ret_end = end;
    return true;
}
