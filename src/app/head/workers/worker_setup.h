/*
 * worker_setup.h: sets up all workers from the head.
 *
 *     host key pinned -> ssh answers -> mounts copied over that connection -> steps -> done
 *
 * Workers are set up concurrently, limited by the pool of children. Starting a setup that is
 * already running does nothing; after a restart of this process, running steps are found and
 * followed. Progress is kept until the worker is forgotten.
 */
#pragma once

#include "app/cluster_state.h"
#include "app/model/node_view.h"
#include "base/arena.h"
#include "base/attr.h"
#include "config/config.h"
#include "core/event.h"
#include "io/child.h"
#include "io/loop.h"
#include "provider/provider.h"

struct worker_setups;

/* Progress of a worker's setup. */
struct worker_progress {
    enum node_phase phase; /* from PHASE_CONNECTING to PHASE_JOINING, or PHASE_FAILED */
    int64_t since_ms;      /* wall clock */
    size_t step, steps;
    struct str detail;
    bool is_outdated; /* failed for a Ray on the head that is being replaced; will be repeated */
    bool is_unused;   /* this setup failed before it could start Ray */
    struct node_failure failure;
};

struct worker_setup_hooks {
    void *context;
    void (*changed)(void *context, uint64_t instance);
    void (*news)(void *context, uint64_t instance, enum setup_news news);
    /* Called before a failure is reported. True if Ray on the head is being replaced: the setup is
     * repeated for the new one and the failure is not reported. */
    bool (*is_outdated)(void *context, uint64_t instance);
    /* Sets the tag ray-node-status. */
    void (*tag)(void *context, uint64_t instance, struct str status);
    /* The host key of its first boot, which is visible in its user data, could not be replaced. */
    void (*kept_host_key)(void *context, struct str name, struct str why);
    /* Its dead-man switch does not run. */
    void (*has_no_switch)(void *context, struct str name);
    /* Can synced files be copied (head's setup done)? Asked again after worker_setups_go_on(). */
    bool (*is_head_ready)(void *context);
    bool (*payload)(void *context, struct str machine, struct arena *arena, struct str *ret_path,
                    struct err *err);
};

struct worker_setups_setup {
    struct loop *loop;
    struct child_pool *children;
    const struct config *config;
    const struct cluster_state *state;
    struct provider *provider; /* for host keys that machines report to the cloud */
    const char *identity;      /* private key for ssh to workers */
    struct str head_ip;        /* address of the head for workers */
    const char *token_path;    /* Ray's authentication token; NULL if the file configures it */
    struct str runtime_hash; /* hash of the mounts' contents; if it changes, all steps run again */
    struct worker_setup_hooks hooks;
};

/* All arguments must outlive the result. */
struct worker_setups *worker_setups_open(const struct worker_setups_setup *setup);
void worker_setups_close(struct worker_setups *setups); /* NULL is fine; running steps continue */

struct worker_machine {
    uint64_t instance;
    uint64_t launch;
    struct str name; /* "worker-2", also the name of its log */
    struct str id;   /* cloud id */
    struct str zone;
    struct str address;
    struct str machine; /* "m5.large" */
    const struct config_node_type *type;
    struct str run; /* name of its request: 32 hexadecimal digits */
    bool is_spot;
    bool keeps_ray;   /* skip its start commands */
    bool only_copies; /* it is set up: copy the mounts, run no step */
};

/* The key of its steps, including start commands, STEP_KEY_SIZE bytes: changes if a step does. */
bool worker_setups_key(const struct worker_setups *setups, const struct worker_machine *machine,
                       char *ret_key, struct err *err) MUST_USE;

/* Copies everything. */
void worker_setups_begin(struct worker_setups *setups, const struct worker_machine *machine);
/* The core gave up on it for this reason; its current phase is recorded as failed. */
void worker_setups_give_up(struct worker_setups *setups, uint64_t instance, struct str why);
/* Its machine is terminating or gone: closes the session and forgets its progress, except for the
 * last failed setups. Not from a hook. */
void worker_setups_end(struct worker_setups *setups, uint64_t instance);
/* Continues setups that wait for the head. */
void worker_setups_go_on(struct worker_setups *setups);

/* NULL if unknown. Valid until control returns to the loop. */
const struct worker_progress *worker_setups_progress(const struct worker_setups *setups,
                                                     uint64_t instance);
/* Failed workers, the latest first. */
typedef void worker_machine_fn(void *context, const struct worker_machine *machine);
void worker_setups_each_failed(const struct worker_setups *setups, worker_machine_fn *take,
                               void *context);
