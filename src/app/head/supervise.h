/*
 * supervise.h: whoever starts the service again when it dies.
 *
 * A process of its own, as small as can be: it starts the service, writes what that says into the
 * log, and waits. One per folder. Where systemd runs it could be a unit instead: service_start() is
 * the place.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SUPERVISE_DEATHS = 10, /* so many ... */
    SUPERVISE_WINDOW_MS = 60 * 1000,
    SUPERVISE_PAUSE_MS = 30 * 1000, /* ... in that time are a loop, which is given a pause */
    SUPERVISE_FIRST_MS = 100,
    SUPERVISE_MOST_MS = 5 * 1000,
    SUPERVISE_LOG_BYTES_MAX = 10 * 1000 * 1000, /* then it begins anew, and the old one stays */
};

/* When it has died so far. */
struct supervise_deaths {
    int64_t at_ms[SUPERVISE_DEATHS]; /* a ring */
    size_t count;
    int64_t delay_ms; /* of the last */
};

/* It died now, having lived for `lived_ms`: how long to wait before it is started again. */
int64_t supervise_delay(struct supervise_deaths *deaths, int64_t now_ms, int64_t lived_ms);

/*
 * Runs `argv` (which ends with NULL) until it ends with status 0, or until SIGTERM, which it hands
 * on. SIGHUP ends a pause. The log is FOLDER/service.log. Returns an exit status; ERR_EXISTS when
 * there is one for this folder already.
 */
int supervise_run(const char *folder, const char *const *argv, struct err *err);

/* Is there one for this folder? Its process id, or 0. */
int supervise_pid(const char *folder);
