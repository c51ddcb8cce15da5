/*
 * drain_notifier.h: reports to Ray that this node will be terminated: finds the node by its
 * instance id and drains it.
 *
 * Retries until the drain is accepted: the GCS may be unavailable, or Ray here may not have joined
 * yet.
 */
#pragma once

#include "app/node/notice.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"

struct drain_notifier;

struct drain_notifier_setup {
    struct loop *loop;
    struct http *http;
    const struct log *log;
    const char *gcs;         /* "10.0.0.4:6379" */
    const char *token_file;  /* path; NULL without authentication */
    const char *instance_id; /* all strings must outlive the notifier */
};

struct drain_notifier *drain_notifier_open(const struct drain_notifier_setup *setup);
void drain_notifier_close(struct drain_notifier *notifier); /* NULL is allowed */

/* Replaces the notice being reported, if any. */
void drain_notifier_tell(struct drain_notifier *notifier, const struct notice *notice);
/* Withdraws the notice. */
void drain_notifier_stop(struct drain_notifier *notifier);
