/*
 * plugin.h: runs a plug-in and exchanges one JSON object per line with it (docs/dev/plug-ins.md).
 *
 * The program is started for the first request and again when it has ended. A plug-in that exits,
 * does not reply in time, or sends something that is not a reply is terminated. The requests that
 * it had not answered then have an unknown outcome; those that were not sent yet are sent to the
 * next one.
 */
#pragma once

#include "base/attr.h"
#include "io/child.h"
#include "io/loop.h"
#include "provider/external/plugin_reply.h"

struct plugin;
struct plugin_call;

enum { PLUGIN_LINE_MAX = 16 << 20 };

/* Must outlive the plug-in. Zero fields take the default given in their comment. */
struct plugin_setup {
    struct loop *loop;
    struct child_pool *children;
    const char *const *argv;
    const char *const *env; /* "NAME=value"; ends with NULL */
    const char *cluster;
    const json_t *settings; /* the provider section of the file */
    const json_t *more;     /* "ray" in hello; may be NULL */
    const char *what;       /* for messages; default "the plug-in (provider.command)" */
    int64_t deadline_ms;    /* of a request; default 60 s */
    int64_t pause_ms;       /* before the first restart, doubled for each further one; 500 ms */
};

/* Starts nothing yet. */
struct plugin *plugin_new(const struct plugin_setup *setup);
/* Terminates the program, without callbacks. */
void plugin_free(struct plugin *plugin);

/* The reply is valid during the call. */
typedef void plugin_done_fn(void *context, const struct plugin_reply *reply);

/* Asked when the request is sent, which may be later. False: it is not sent, and the outcome is
 * OUTCOME_NO_LEASE. */
typedef bool plugin_may_fn(const void *context);

/*
 * Sends a request with these fields, which it takes over. `done` is called once, later. `op` must
 * be a literal; `may` may be NULL. A swap is sent before other requests that wait, because the
 * lease depends on it.
 *
 * An outcome other than OUTCOME_UNKNOWN is certain: a request that was never sent had no effect.
 */
struct plugin_call *plugin_ask(struct plugin *plugin, const char *op, json_t *fields,
                               plugin_may_fn *may, plugin_done_fn *done, void *context);
/* No callback any more. */
void plugin_drop(struct plugin_call *call);

/* Of the last start that succeeded; NULL before that. */
const struct plugin_hello *plugin_greeting(const struct plugin *plugin);
