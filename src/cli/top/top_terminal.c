/* top_terminal.c: sets up termios, escape sequences and signal handlers that restore the
 * terminal. */
#include "cli/top/top_terminal.h"

#include "base/buf.h"
#include "cli/progress/progress.h"
#include "io/fd_reader.h"
#include "io/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* Alternate screen, hidden cursor, no line wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[0m\033[?1049l"

enum { SCREEN_BYTES_MAX = 4 * 1024 * 1024 };

struct top_terminal {
    struct loop *loop;
    struct top_terminal_hooks hooks;
    struct fd_reader *reader;
    struct loop_signal *resize, *stop, *hangup;
    struct buf shown; /* current screen content */
};

/* Global, because a signal handler has no context. */
static struct termios before;
static volatile sig_atomic_t is_taken;

/* Signals that end the program immediately. */
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};

bool top_terminal_is_there(void)
{
    return isatty(STDIN_FILENO) == 1 && progress_can_redraw(stdout);
}

/* ---- taking over and restoring ---- */

/* Calls only async-signal-safe functions. */
static void top_terminal_give_back(void)
{
    if (is_taken) {
        is_taken = 0;
        ssize_t ignored = write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);
        (void)ignored; /* no way to report it */
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
}

static void on_deadly(int number)
{
    top_terminal_give_back();
    raise(number); /* the handler runs once; now the default action applies */
}

static void watch_deadly(bool watches)
{
    struct sigaction action = {0};
    action.sa_handler = watches ? on_deadly : SIG_DFL;
    action.sa_flags = watches ? (int)SA_RESETHAND | SA_NODEFER : 0;
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
        sigaction(deadly[i], &action, NULL);
    }
}

static bool top_terminal_write_all(struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t size = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        if (size < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&wait, 1, -1);
        } else if (size < 0 && errno != EINTR) {
            return false;
        }
        bytes = str_sub(bytes, size > 0 ? (size_t)size : 0, bytes.len);
    }
    return true;
}

/* Ctrl-C and Ctrl-Z still send signals. */
static bool top_terminal_take(struct top_terminal *terminal, struct err *err)
{
    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        return err_set(err, ERR_IO, "cannot read the terminal settings");
    }
    struct termios now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    now.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    is_taken = 1;
    terminal->shown.len = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &now) != 0 || !top_terminal_write_all(STR(ENTER))) {
        top_terminal_give_back();
        return err_set(err, ERR_IO, "cannot change the terminal settings");
    }
    return true;
}

/* ---- terminal events ---- */

static void top_terminal_on_keys(void *context, struct str bytes)
{
    struct top_terminal *terminal = context;
    if (bytes.len > 0) {
        terminal->hooks.keys(terminal->hooks.context, bytes);
    } else {
        terminal->hooks.gone(terminal->hooks.context);
    }
}

static void top_terminal_on_resize(void *context, int number)
{
    struct top_terminal *terminal = context;
    (void)number;
    terminal->shown.len = 0;
    top_terminal_write_all(STR("\033[2J"));
    terminal->hooks.changed(terminal->hooks.context);
}

/* Ctrl-Z: restores the terminal for the shell, and takes it over again on continue. */
static void on_stop(void *context, int number)
{
    struct top_terminal *terminal = context;
    struct err err;
    (void)number;
    top_terminal_give_back();
    kill(getpid(), SIGSTOP);
    if (top_terminal_take(terminal, &err)) {
        terminal->hooks.changed(terminal->hooks.context);
    } else {
        terminal->hooks.gone(terminal->hooks.context);
    }
}

static void top_terminal_on_hangup(void *context, int number)
{
    struct top_terminal *terminal = context;
    (void)number;
    terminal->hooks.gone(terminal->hooks.context);
}

bool top_terminal_open(struct loop *loop, const struct top_terminal_hooks *hooks,
                       struct top_terminal **ret_terminal, struct err *err)
{
    struct top_terminal *terminal = HEAP_NEW(struct top_terminal);
    terminal->loop = loop;
    terminal->hooks = *hooks;
    buf_init(&terminal->shown, SCREEN_BYTES_MAX);
    bool ok = loop_signal_new(loop, SIGWINCH, top_terminal_on_resize, terminal, &terminal->resize,
                              err) &&
              loop_signal_new(loop, SIGTSTP, on_stop, terminal, &terminal->stop, err) &&
              loop_signal_new(loop, SIGHUP, top_terminal_on_hangup, terminal, &terminal->hangup,
                              err) &&
              top_terminal_take(terminal, err);
    if (!ok) {
        top_terminal_close(terminal);
        return false;
    }
    watch_deadly(true);
    terminal->reader = fd_reader_start(loop, STDIN_FILENO, top_terminal_on_keys, terminal);
    *ret_terminal = terminal;
    return true;
}

void top_terminal_close(struct top_terminal *terminal)
{
    if (!terminal) {
        return;
    }
    top_terminal_give_back();
    watch_deadly(false);
    struct loop_signal *watches[] = {terminal->resize, terminal->stop, terminal->hangup};
    for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
        if (watches[i]) {
            loop_signal_free(watches[i]);
        }
    }
    fd_reader_end(terminal->reader);
    buf_clear(&terminal->shown);
    free(terminal);
}

/* ---- drawing ---- */

void top_terminal_show(struct top_terminal *terminal, struct str lines)
{
    AUTO_BUF struct buf out;
    struct str rest = lines;
    struct str shown = buf_str(&terminal->shown);
    bool is_first = terminal->shown.len == 0;
    buf_init(&out, SCREEN_BYTES_MAX);
    for (size_t row = 1; rest.len > 0; row++) {
        struct str line = str_cut(&rest, '\n');
        if (!str_eq(line, str_cut(&shown, '\n')) || is_first) {
            buf_addf(&out, "\033[%zu;1H", row);
            buf_add(&out, line);
            buf_add_c(&out, "\033[K");
        }
    }
    terminal->shown.len = 0;
    buf_add(&terminal->shown, lines);
    if (!top_terminal_write_all(buf_str(&out))) {
        terminal->hooks.gone(terminal->hooks.context);
    }
}
