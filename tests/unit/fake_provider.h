/*
 * fake_provider.h: a cloud in memory behind provider.h, for tests of whoever drives one.
 *
 * It keeps the rules of docs/providers.md: answers come from the loop, the same call is the same
 * launch, one at a time has the lease. What a test may turn: how the next operation of a kind is
 * answered, how long answers take, how long a machine takes to run. Every call is written down.
 */
#pragma once

#include "base/buf.h"
#include "io/loop.h"
#include "provider/provider.h"

enum fake_verb {
    FAKE_SURVEY,
    FAKE_TAKE,
    FAKE_RENEW,
    FAKE_RELEASE,
    FAKE_PREPARE,
    FAKE_LIST,
    FAKE_LAUNCH,
    FAKE_TERMINATE,
    FAKE_STOP,
    FAKE_START,
    FAKE_TAG,
    FAKE_VERB_COUNT,
};

/* As the cloud has it; outlives the providers that talk to it. */
struct fake_cloud {
    struct arena arena;
    struct buf calls; /* a line each: "launch 1.1", "terminate i-1 i-2" */
    struct buf sent;  /* the bytes of all launch calls, a line each */
    struct machine *machines;
    int64_t *made_at;
    size_t count, capacity;
    struct str uid;
    uint64_t epoch; /* 0: nobody has it */
    struct str holder;
    bool is_released;
    /* ---- what a test turns ---- */
    enum outcome next[FAKE_VERB_COUNT]; /* of the next call alone; OUTCOME_DONE: as it is */
    enum outcome always[FAKE_VERB_COUNT];
    bool acts_anyway;              /* what is answered as unknown takes effect */
    bool is_mute[FAKE_VERB_COUNT]; /* takes effect and is never answered */
    int64_t delay_ms[FAKE_VERB_COUNT];
    bool hides_lease;     /* a renewal that is refused does not say by whom */
    bool is_blind;        /* listings show nothing yet */
    const char *zones[4]; /* of every type, up to the first NULL */
    int64_t boot_ms;      /* until a machine runs; 0: at once */
    unsigned counts[FAKE_VERB_COUNT];
};

void fake_cloud_init(struct fake_cloud *cloud);
void fake_cloud_clear(struct fake_cloud *cloud);
size_t fake_cloud_living(const struct fake_cloud *cloud);
struct machine *fake_cloud_find(struct fake_cloud *cloud, const char *id);

/* As one process has it. Close it with its own close(). */
struct provider *fake_provider_new(struct fake_cloud *cloud, struct loop *loop);
