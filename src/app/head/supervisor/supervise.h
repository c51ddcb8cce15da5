/*
 * supervise.h: restarts the service when it dies.
 *
 * A small separate process: it starts the service, writes its output to the log, and waits. There
 * is one per folder, as a systemd unit where possible (systemd_unit.h).
 *
 * A service that dies repeatedly is started frozen: it only answers requests and reports the
 * reason, until `shoal up` or SIGHUP lets it act again.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUPERVISE_DEATHS = 10, /* after this many deaths ... */
    SUPERVISE_WINDOW_MS = 60 * 1000,
    SUPERVISE_PAUSE_MS = 30 * 1000, /* ... in that time are a crash loop; a frozen service then
                                     * pauses this long */
    SUPERVISE_WELL_MS = 10 * 1000,  /* after this uptime the delays start over */
    SUPERVISE_FIRST_MS = 100,
    SUPERVISE_MOST_MS = 4 * 1000, /* short enough for an answer within five seconds */
};

/* Environment of a frozen service: how it died last. */
#define SUPERVISE_CRASH_LOOPING "SHOAL_FROZEN"

/* Recent deaths. */
struct supervise_deaths {
    int64_t at_ms[SUPERVISE_DEATHS]; /* ring */
    size_t count;
    int64_t delay_ms; /* the last delay */
    bool is_frozen;   /* start it frozen; reset with the rest */
};

/* It died now after `lived_ms`: returns the delay before the restart. */
int64_t supervise_delay(struct supervise_deaths *deaths, int64_t now_ms, int64_t lived_ms);

/*
 * Runs `argv` (NULL-terminated) until it exits with status 0 or SIGTERM arrives, which is passed on
 * to it. SIGHUP ends a pause, and is passed on to a frozen service. The log is FOLDER/service.log;
 * when it is full it becomes service.log.1 (retention.h). Returns an exit status; ERR_EXISTS if
 * this folder already has a supervisor.
 */
int supervise_run(const char *folder, const char *const *argv, struct err *err);

/* The pid of the supervisor of this folder, or 0. */
int supervise_pid(const char *folder);

/* Starts the service in the background under a supervisor that restarts it when it dies, unless one
 * is running. Returns when the control socket answers. */
bool service_start(const char *folder, struct err *err) MUST_USE;

/* Runs the supervisor in the foreground, for systemd (systemd_unit.h). Sets `err` if the status is
 * not 0. Does nothing if a supervisor is already running. */
int service_supervise(const char *folder, struct err *err);
