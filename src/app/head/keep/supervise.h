/*
 * supervise.h: whoever starts the service again when it dies.
 *
 * A process of its own, as small as can be: it starts the service, writes what that says into the
 * log, and waits. One per folder; where systemd may be asked, a unit of its (systemd_unit.h).
 *
 * A service that dies again and again is started frozen: it answers, says why, and does nothing,
 * until somebody has looked: `shoal up` or SIGHUP let it act again.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUPERVISE_DEATHS = 10, /* so many ... */
    SUPERVISE_WINDOW_MS = 60 * 1000,
    SUPERVISE_PAUSE_MS = 30 * 1000, /* ... in that time are a loop; of a frozen one: a pause */
    SUPERVISE_WELL_MS = 10 * 1000,  /* who lived so long was well: the waits begin anew */
    SUPERVISE_FIRST_MS = 100,
    SUPERVISE_MOST_MS = 4 * 1000,               /* so that it answers again within five seconds */
    SUPERVISE_LOG_BYTES_MAX = 10 * 1000 * 1000, /* then it begins anew, and the old one stays */
};

/* In the environment of a frozen service: how it died last. */
#define SUPERVISE_FROZEN "SHOAL_FROZEN"

/* When it has died so far. */
struct supervise_deaths {
    int64_t at_ms[SUPERVISE_DEATHS]; /* a ring */
    size_t count;
    int64_t delay_ms; /* of the last */
    bool is_frozen;   /* so it is to be started; forgotten with all the rest */
};

/* It died now, having lived for `lived_ms`: how long to wait before it is started again. */
int64_t supervise_delay(struct supervise_deaths *deaths, int64_t now_ms, int64_t lived_ms);

/*
 * Runs `argv` (which ends with NULL) until it ends with status 0, or until SIGTERM, which it hands
 * on. SIGHUP ends a pause, and goes to a frozen service. The log is FOLDER/service.log. Returns an
 * exit status; ERR_EXISTS when there is one for this folder already.
 */
int supervise_run(const char *folder, const char *const *argv, struct err *err);

/* Is there one for this folder? Its process id, or 0. */
int supervise_pid(const char *folder);
