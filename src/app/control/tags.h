/* tags.h: sets tags of machines soon, batched, best effort. */
#pragma once

#include "app/control/calls.h"
#include "app/control/machine_table.h"
#include "provider/provider.h"

struct pending_tag;

struct tags {
    /* Set by the owner. */
    struct loop *loop;
    struct provider *provider;
    struct call_list *calls;
    const struct machine_table *machines;
    struct arena *scratch;
    /* Its own. */
    struct loop_timer *timer;
    struct pending_tag *wanted; /* heap */
    size_t wanted_count, wanted_capacity;
};

void tags_init(struct tags *tags);
void tags_clear(struct tags *tags);

/* A passing value is set only if it persists for a while. */
void tags_add(struct tags *tags, uint64_t instance, struct str key, struct str value,
              bool is_passing);
/* Sends all pending tags now. */
void tags_flush(struct tags *tags);
