/*
 * foreground.h: a program that has our own terminal until it ends: ssh with a shell, rsync with its
 * progress.
 *
 * It stays in our process group, so that keys (Ctrl-C, Ctrl-Z) and resizes reach it; meanwhile we
 * ignore what they send to us. SIGTERM and SIGHUP that come to us are passed on. Needs no loop, and
 * none may run meanwhile.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>

/*
 * `argv` ends with NULL; argv[0] is found along PATH. It has all our variables and our standard
 * three descriptors. ret_status is what a shell would say: its exit status, 128 and the number for
 * a signal. Fails when it cannot be started: ERR_NOT_FOUND when there is no such program.
 */
bool foreground_run(const char *const *argv, int *ret_status, struct err *err) MUST_USE;
