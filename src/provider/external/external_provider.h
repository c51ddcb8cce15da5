/*
 * external_provider.h: any cloud behind provider.h, through a program of the user that speaks JSON
 * lines: `provider: {type: external, command: [...]}`.
 *
 * The plug-in stores one text for the cluster, the record, which has the lease. Where the cloud
 * lacks tags or idempotency tokens, the record also has the launches.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/child.h"
#include "io/loop.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stdint.h>

struct external_setup {
    struct loop *loop;
    struct child_pool *children;
    const char *const *argv; /* of the plug-in */
    const char *const *env;  /* "NAME=value"; ends with NULL */
    int64_t deadline_ms;     /* of a request; 0: the default */
    const char *what;        /* for messages; NULL: "the plug-in (provider.command)" */
    const char *path;        /* its key in the cluster file; NULL: provider.command */
    const char *more;        /* "ray" in hello, as JSON; may be NULL */
};

/* Starts nothing yet. `cluster` and the strings of the setup must outlive the provider. */
bool external_provider_open(const struct external_setup *setup,
                            const struct provider_cluster *cluster, struct provider **ret_provider,
                            struct err *err) MUST_USE;
