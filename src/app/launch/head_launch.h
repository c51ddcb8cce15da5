/*
 * head_launch.h: the one machine that the core does not launch.
 *
 * As every launch it is written down before the call is made. One that was written down and not
 * answered is made again with the same bytes, so that there is one head whatever is killed when. A
 * zone without capacity is followed by the next.
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
    struct str uid, secret;
    uint64_t epoch;
    void *context;
    /* Once. NULL: no head, and the error says why. Valid during the call. */
    void (*done)(void *context, const struct machine *machine, uint64_t launch,
                 const struct err *err);
};

/* Needs survey(), take() and prepare(). Everything given must outlive it. */
struct head_launch *head_launch_start(const struct head_launch_setup *setup);
/* NULL is fine. The provider must have been closed before: a call may be under way. */
void head_launch_end(struct head_launch *launch);
