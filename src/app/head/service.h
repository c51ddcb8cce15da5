/*
 * service.h: what runs on the head for good: `shoal autoscaler`.
 *
 * Takes the handover in, holds the lease, keeps the workers that there should be (control/), sets
 * them up (worker_setup.h), watches who joins Ray, and answers on the control channel.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#define SERVICE_FOLDER "~/.shoal/cluster"
#define SERVICE_SOCKET "ctl.sock" /* what follows is in the folder */
#define SERVICE_LOG "service.log"
#define SERVICE_LOCK "supervisor.lock"

/* The full path of a folder that was given, or of the usual one for NULL. */
const char *service_folder(const char *given, struct arena *arena);

#define SERVICE_HOLDER "head " /* so begins what it says of itself as the holder of the lease */

struct service_setup {
    const char *folder; /* NULL: ~/.shoal/cluster */
};

/* Returns the exit status of the process: 0 after it stood down. */
int service_run(const struct service_setup *setup);

/*
 * Starts it in the background under a supervisor that starts it again when it dies, unless one is
 * there already. Returns when the control socket answers.
 */
bool service_start(const char *folder, struct err *err) MUST_USE;

/* The supervisor, in the foreground: for systemd (systemd_unit.h). `err` is filled when the status
 * is not 0. Where there is one already it has nothing to do. */
int service_supervise(const char *folder, struct err *err);
