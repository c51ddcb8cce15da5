/*
 * service.h: the service on the head, `shoal autoscaler`.
 *
 * Takes the handover and the lease, keeps the required workers running (control/), sets them up
 * (worker_setup.h), watches them join Ray, and answers on the control socket.
 */
#pragma once

#define SERVICE_HOLDER "head " /* prefix of its lease holder name */

struct service_setup {
    const char *folder; /* NULL for ~/.shoal/cluster */
};

/* Returns the exit status of the process: 0 after it stood down. */
int service_run(const struct service_setup *setup);
