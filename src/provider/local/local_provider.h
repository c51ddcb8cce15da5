/*
 * local_provider.h: own machines behind provider.h.
 *
 * The machines are hosts that already run. A launch takes free hosts for the cluster, a termination
 * stops Ray and containers on them and frees them. The state of the cluster is a record on the
 * head (host_record.h); each worker has a record that keeps other clusters away. There are no
 * zones, no spot market, and hosts cannot be stopped.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"
#include "provider/local/host_reach.h"
#include "provider/provider.h"

#include <stdbool.h>

struct local_setup {
    struct loop *loop;
    struct host_reach reach;
    /* Runs in the service on the head: a host that does not answer is given up instead of being
     * reported as left, and hosts are checked from time to time. */
    bool is_service;
    struct str watch;     /* the dead-man switch of a worker, a shell script; empty: none */
    struct str by;        /* who uses the hosts, for others: "me@laptop" */
    struct str container; /* name of the container on each host; empty: none */
    bool is_podman;
};

/* Sends no request. `cluster` must outlive the provider; the strings too. */
bool local_provider_open(const struct local_setup *setup, const struct provider_cluster *cluster,
                         struct provider **ret_provider, struct err *err) MUST_USE;

/* The address in the id of a machine: "10.0.0.2" of "10.0.0.2@3.1". */
struct str local_address(struct str id);
