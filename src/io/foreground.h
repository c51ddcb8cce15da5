/*
 * foreground.h: a program that has our own terminal until it ends: ssh with a shell, rsync with its
 * progress.
 *
 * It stays in our process group, so that keys (Ctrl-C, Ctrl-Z) and resizes reach it; meanwhile we
 * ignore what they send to us. Signals that somebody sends to us alone are passed on. It needs no
 * loop,
 * and none may run meanwhile.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>

/* Where its standard output goes. */
enum foreground_output { FOREGROUND_OURS, FOREGROUND_TO_ERROR, FOREGROUND_NOWHERE };

struct foreground_end {
    int status;          /* as a shell says it: 128 and the number for a signal */
    bool is_interrupted; /* Ctrl-C, whatever it made of that */
};

/*
 * `argv` ends with NULL; argv[0] is found along PATH. It has all our variables and our standard
 * three descriptors. Fails when it cannot be started: ERR_NOT_FOUND when there is no such program.
 */
bool foreground_run(const char *const *argv, enum foreground_output output,
                    struct foreground_end *ret_end, struct err *err) MUST_USE;
