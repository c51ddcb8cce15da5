/*
 * failpoint.h: places where a test can kill this process, to test recovery.
 *
 * There is one before every side effect, one after the effect but before its result is known here
 * ("reply"), and one after the result was handled. A failpoint is named by process, operation,
 * subject and moment: "up:aws:RunInstances:before".
 *
 *   SHOAL_FAILPOINT=NAME[#N]      SIGKILL when the failpoint is reached the N-th time (default: 1)
 *   SHOAL_FAILPOINT_FILE=FILE     the same, read from a file that may appear later; the process
 *                                 removes it before it dies, so that only one process dies
 *   SHOAL_FAILPOINT_LOG=FILE      logs every failpoint that is reached: "PID NAME"
 *
 * Only in builds with -Dfailpoints=true; other builds contain no trace of it. While no variable is
 * set, a failpoint costs one branch.
 */
#pragma once

#ifdef SHOAL_FAILPOINTS

#include <stdbool.h>

extern bool failpoint_is_on;

void failpoint_reach(const char *operation, const char *subject, const char *moment);

/* `subject` may be a path, of which the last component is used; NULL: none. */
static inline void failpoint(const char *operation, const char *subject, const char *moment)
{
    if (__builtin_expect(failpoint_is_on, false)) {
        failpoint_reach(operation, subject, moment);
    }
}

#else

/* Evaluates nothing, but marks the arguments as used. */
#define failpoint(operation, subject, moment) \
    ((void)sizeof(operation), (void)sizeof(subject), (void)sizeof(moment))

#endif
