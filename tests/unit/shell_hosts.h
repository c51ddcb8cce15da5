/*
 * shell_hosts.h: stands in for the hosts of own machines: each is a folder, in which a shell runs
 * that sees no processes of others.
 *
 * Files in the folder of a host:
 *
 *     down     the host does not answer
 *     mute     scripts run, and their output is lost; only the text of this file arrives
 *     ray      a raylet runs there as long as a script; the text is its RAY_CLOUD_INSTANCE_ID
 *     host/    what /var/tmp/shoal-host is on a real host
 */
#pragma once

#include "io/child.h"
#include "provider/local/host_reach.h"

struct shell_hosts {
    struct child_pool *children;
    const char *folder;
    /* Called before a script runs; may be NULL. */
    void (*before)(void *context, const struct host_task *task);
    void *context;
};

/* `hosts` must outlive the result. */
struct host_reach shell_hosts_reach(struct shell_hosts *hosts);

/* The status of a command, as from waitpid(). */
int shell_run(const char *command);
