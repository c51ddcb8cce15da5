/* world_checks.h: the invariants, checked against the actual state of the world. */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;
struct sim_process;
struct sim_instance;

enum sim_verb {
    VERB_PREFLIGHT,
    VERB_TAKE,
    VERB_RENEW,
    VERB_RELEASE,
    VERB_PREPARE,
    VERB_LIST,
    VERB_LAUNCH,
    VERB_TERMINATE,
    VERB_STOP,
    VERB_START,
    VERB_TAG,
    VERB_COUNT,
};

void world_violate(struct world *world, const char *invariant, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* A process makes a call; `epoch` and `confirmed_ms` are those of its lease. */
void checks_on_call(struct sim_process *process, enum sim_verb verb, uint64_t epoch,
                    int64_t confirmed_ms);
void checks_on_launch_call(struct sim_process *process, struct str call);
void checks_on_terminate_call(struct sim_process *process, const struct str *ids, size_t count);
/* Before an instance is stopped or terminated, and after one was added or started. */
void checks_on_end(struct world *world, struct sim_instance *instance, bool is_stop);
void checks_on_growth(struct world *world);
/* Has the cluster reached its goal? Otherwise `ret_why` says what is missing. */
bool checks_are_reached(struct world *world, char ret_why[256]);
