/*
 * watch.h: the watcher on a spot machine: hears from the cloud that the machine will be taken away,
 * and tells the cluster.
 *
 * One small process per machine. It asks the metadata service every second; after a notice it has
 * Ray drain this node, with the time that is left, so that no new work comes here and the work
 * that is here can move. The head sees a drain that it did not order, and launches a replacement:
 * no port and no message of ours are needed for that.
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
    const char *provider;    /* provider.type of the file */
    const char *instance_id; /* the cloud's, as Ray was started with it */
    const char *gcs;         /* "10.0.0.4:6379" */
    const char *token_file;  /* NULL: no authentication */
    bool heeds_advice;       /* metadata.shoal.rebalance */
    bool is_foreground;      /* for tests and for looking */
};

/*
 * Leaves a watcher behind, in place of one that runs already. A job of `shoal node`: returns the
 * exit status, which is 0 also when there can be none: a machine without a watcher works.
 */
int node_watch(const struct node_watch_setup *setup);

/* Watches until Ray on this machine is gone for good, or until SIGTERM. */
bool watch_run(const struct node_watch_setup *setup, const struct log *log,
               struct err *err) MUST_USE;
