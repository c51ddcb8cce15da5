/*
 * foreground.h: runs a program in our terminal until it exits: an interactive ssh, rsync with
 * progress.
 *
 * It stays in our process group, so that keys (Ctrl-C, Ctrl-Z) and resizes reach it; we ignore the
 * signals that they send to us while it runs. Signals sent to us alone are forwarded. Uses no loop,
 * and none may run at the same time.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

/* Where its standard output goes. */
enum foreground_output { FOREGROUND_OURS, FOREGROUND_TO_ERROR, FOREGROUND_NOWHERE };

struct foreground_end {
    int status;          /* as in a shell: 128 plus the signal number if killed */
    bool is_interrupted; /* Ctrl-C was pressed, however the program reacted */
    int signal;          /* the first of SIGINT, SIGTERM, SIGHUP, SIGQUIT received; 0: none */
};

/*
 * `argv` ends with NULL; argv[0] is searched in PATH. The program gets our standard three
 * descriptors and our environment, except variables whose name or value suggests a secret: cloud
 * credentials, tokens, passwords, URLs with a password. ssh and rsync need none of them. Fails if
 * it cannot be started: ERR_NOT_FOUND if there is no such program.
 *
 * `notice` is written to standard error first, when signals are already handled: from then on
 * Ctrl-C ends the program and not this process.
 */
bool foreground_run(const char *const *argv, enum foreground_output output, struct str notice,
                    struct foreground_end *ret_end, struct err *err) MUST_USE;
