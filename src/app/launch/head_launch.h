/*
 * head_launch.h: launches the head, the only machine that the core does not launch.
 *
 * Like every launch, it is recorded before the call is sent. A recorded launch without a reply is
 * repeated with the same bytes, so there is exactly one head even if processes are killed. If a
 * zone has no capacity, the next one is tried.
 *
 * The head is launched only when the controller permits it: with a lease that was just confirmed,
 * and after a listing would show everything that another process may have launched. If a head
 * appears in a listing first, that one is used.
 */
#pragma once

#include "app/control/controller.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "provider/provider.h"
#include "store/journal.h"

struct head_launch;

struct head_launch_setup {
    struct loop *loop;
    struct provider *provider;
    struct journal *journal;
    const struct config *config;
    const struct core_setup *core;
    struct controller *controller; /* decides when the head may be launched */
    struct str uid, secret, cluster_key;
    uint64_t epoch;
    void *context;
    /* Called at most once, if permission to launch the head may take minutes. */
    void (*waits)(void *context);
    /* Called once. `machine` is NULL on failure; then `err` says why. Valid during the call. */
    void (*done)(void *context, const struct machine *machine, uint64_t launch,
                 const struct err *err);
};

/* Requires that preflight(), take() and prepare() have succeeded. Everything in `setup` must
 * outlive it. */
struct head_launch *head_launch_start(const struct head_launch_setup *setup);
/* NULL is allowed. Close the provider first: a call may be in flight. */
void head_launch_end(struct head_launch *launch);
