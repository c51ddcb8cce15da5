/*
 * worker_setup.h: the set-up of all workers, from the head.
 *
 *     host key pinned -> ssh answers -> mounts copied over that connection -> steps -> done
 *
 * All of them at once, as many as the pool of children lets. Asked again for a worker whose set-up
 * runs, nothing happens; for one after a restart of this process, its steps are found running and
 * are followed. What happens is told as progress, which is kept until the worker is forgotten.
 */
#pragma once

#include "app/cluster_state.h"
#include "app/view.h"
#include "base/arena.h"
#include "base/attr.h"
#include "config/config.h"
#include "core/event.h"
#include "io/child.h"
#include "io/loop.h"

struct worker_setups;

/* Where a worker's set-up is. */
struct worker_progress {
    enum node_phase phase; /* from PHASE_CONNECTING to PHASE_JOINING, or PHASE_FAILED */
    int64_t since_ms;      /* wall clock */
    size_t step, steps;
    struct str detail;
    struct node_failure failure;
};

struct worker_setup_hooks {
    void *context;
    void (*changed)(void *context, uint64_t instance);
    void (*news)(void *context, uint64_t instance, enum setup_news news);
    /* The value of ray-node-status. */
    void (*tag)(void *context, uint64_t instance, struct str status);
    /* May it be told what the head has made for all, such as its synced files? Asked again after
     * worker_setups_go_on(). */
    bool (*is_head_ready)(void *context);
    bool (*payload)(void *context, struct str machine, struct arena *arena, struct str *ret_path,
                    struct err *err);
};

struct worker_setups_setup {
    struct loop *loop;
    struct child_pool *children;
    const struct config *config;
    const struct cluster_state *state;
    const char *identity;    /* the key that workers let in */
    struct str head_ip;      /* that they reach the head by */
    const char *token_path;  /* of Ray's authentication; NULL: the file says how that is done */
    struct str runtime_hash; /* of the mounts' contents: another one, and all steps run again */
    struct worker_setup_hooks hooks;
};

/* What is given must outlive it. */
struct worker_setups *worker_setups_open(const struct worker_setups_setup *setup);
void worker_setups_close(struct worker_setups *setups); /* NULL is fine; what runs there goes on */

struct worker_machine {
    uint64_t instance;
    uint64_t launch;
    struct str name; /* "worker-2": of its log */
    struct str id;   /* the cloud's */
    struct str address;
    struct str machine; /* "m5.large" */
    const struct config_node_type *type;
    struct str run; /* the name of its request: 32 hexadecimal digits */
    bool is_spot;
    bool keeps_ray; /* its start commands are left out */
};

/* What its steps are, start commands included, as a key of STEP_KEY_SIZE bytes: the same for as
 * long as nothing is to be done otherwise. */
bool worker_setups_key(const struct worker_setups *setups, const struct worker_machine *machine,
                       char *ret_key, struct err *err) MUST_USE;

/* Everything is copied. */
void worker_setups_begin(struct worker_setups *setups, const struct worker_machine *machine);
/* Whoever decides about it has given it up, for this reason: it counts as failed in what it did. */
void worker_setups_give_up(struct worker_setups *setups, uint64_t instance, struct str why);
/* Its machine is ending or gone: the session ends without a word, and nothing is known of it any
 * more; but of those that failed the last ones are remembered. Not from a hook. */
void worker_setups_end(struct worker_setups *setups, uint64_t instance);
/* Something that set-ups may wait for has happened. */
void worker_setups_go_on(struct worker_setups *setups);

/* NULL: nothing is known of it. Valid until the loop goes on. */
const struct worker_progress *worker_setups_progress(const struct worker_setups *setups,
                                                     uint64_t instance);
/* Those that failed, the last first. */
typedef void worker_machine_fn(void *context, const struct worker_machine *machine);
void worker_setups_each_failed(const struct worker_setups *setups, worker_machine_fn *take,
                               void *context);
/* How many are being set up now. */
size_t worker_setups_running(const struct worker_setups *setups);
