/*
 * script_kind.h: how scripts of each kind save on request, and where their state is. Pure.
 *
 * A plain script handles SIGTERM: it saves and ends. Lightning's own handler for SIGTERM can hang
 * in a collective operation, so Lightning runs as under SLURM, where SIGUSR1 makes it save and
 * continue.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

enum script_kind {
    SCRIPT_PLAIN,     /* torch.distributed: rank 0 saves on SIGTERM, then all end */
    SCRIPT_LIGHTNING, /* saves hpc_ckpt_N.ckpt on SIGUSR1 */
    SCRIPT_SHARDED,   /* torch.distributed.checkpoint, Accelerate: every rank writes files */
    SCRIPT_ADAPTDL,
    SCRIPT_KIND_COUNT,
};

struct script_traits {
    const char *name;  /* "plain", ... */
    const char *words; /* for users */
    int stop_signal;
    bool is_sharded;     /* the state is the union of what all replicas wrote */
    bool continues;      /* does not end after it saved; the agent looks for `prefix` */
    const char *prefix;  /* of the file that is complete when the state is saved */
    const char *preload; /* modules to import before the first start, separated by commas */
};
extern const struct script_traits script_traits[SCRIPT_KIND_COUNT];

/* From the imports in the text of the script. */
enum script_kind script_kind_detect(struct str text);
/* False if there is no such name. */
bool script_kind_read(struct str name, enum script_kind *ret_kind) MUST_USE;
