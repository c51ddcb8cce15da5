/*
 * spot_watcher.h: the watcher on a spot instance: detects the cloud's interruption notice and
 * reports it to the cluster.
 *
 * One small process per machine. It polls the metadata service every second; after a notice it asks
 * Ray to drain this node within the remaining time, so that no new work is scheduled here and
 * running work can move. The head sees a drain that it did not order, and launches a replacement:
 * this needs no port or message of ours.
 */
#pragma once

#include "base/err.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"

#include <stdbool.h>

#define WATCH_LOCK "~/.shoal/watch.lock"
#define WATCH_LOG "~/.shoal/watch.log"

struct node_watch_setup {
    const char *provider;    /* provider.type in the file */
    const char *instance_id; /* the cloud's id, as passed to `ray start` */
    const char *gcs;         /* "10.0.0.4:6379" */
    const char *token_file;  /* NULL without authentication */
    bool heeds_advice;       /* metadata.shoal.rebalance */
    bool is_foreground;      /* run in the foreground, for tests and debugging */
};

/*
 * Starts a watcher in the background and replaces a running one. A `shoal node` subcommand: returns
 * the exit status, which is 0 even if no watcher is possible, because the machine works without
 * one.
 */
int node_watch(const struct node_watch_setup *setup);

/* Watches until Ray on this machine is stopped, or until SIGTERM. */
bool watch_run(const struct node_watch_setup *setup, const struct log *log,
               struct err *err) MUST_USE;
