/*
 * service.h: the service on the head, `shoal autoscaler`.
 *
 * Takes the handover and the lease, keeps the required workers running (control/), sets them up
 * (worker_setup.h), watches them join Ray, and answers on the control socket.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#define SERVICE_FOLDER "~/.shoal/cluster"
#define SERVICE_SOCKET "ctl.sock" /* names in the service's folder */
#define SERVICE_LOG "service.log"
#define SERVICE_LOCK "supervisor.lock"

/* The full path of the given folder; the default for NULL. */
const char *service_folder(const char *given, struct arena *arena);

#define SERVICE_HOLDER "head " /* prefix of its lease holder name */

struct service_setup {
    const char *folder; /* NULL for ~/.shoal/cluster */
};

/* Returns the exit status of the process: 0 after it stood down. */
int service_run(const struct service_setup *setup);

/* Starts the service in the background under a supervisor that restarts it when it dies, unless one
 * is running. Returns when the control socket answers. */
bool service_start(const char *folder, struct err *err) MUST_USE;

/* Runs the supervisor in the foreground, for systemd (systemd_unit.h). Sets `err` if the status is
 * not 0. Does nothing if a supervisor is already running. */
int service_supervise(const char *folder, struct err *err);
