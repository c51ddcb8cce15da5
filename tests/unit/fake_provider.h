/*
 * fake_provider.h: a cloud in memory behind provider.h, for tests of code that uses a provider.
 *
 * It keeps the rules of docs/dev/providers.md: answers come from the loop, a repeated call does not
 * launch again, and one process at a time holds the lease. A test can set how the next operation of
 * a kind is answered, how long answers take and how long an instance is pending. It records every
 * call.
 */
#pragma once

#include "base/buf.h"
#include "io/loop.h"
#include "provider/provider.h"

enum { FAKE_TYPES_MAX = 8 };

enum fake_verb {
    FAKE_PREFLIGHT,
    FAKE_TAKE,
    FAKE_RENEW,
    FAKE_RELEASE,
    FAKE_PREPARE,
    FAKE_FIND,
    FAKE_REMOVE,
    FAKE_LIST,
    FAKE_LIST_BY,
    FAKE_LAUNCH,
    FAKE_TERMINATE,
    FAKE_STOP,
    FAKE_START,
    FAKE_TAG,
    FAKE_VERB_COUNT,
};

/* The state of the cloud; outlives the providers that use it. */
struct fake_cloud {
    struct arena arena;
    struct buf calls; /* a line each: "launch 1.1", "terminate i-1 i-2" */
    struct buf sent;  /* the bytes of all launch calls, a line each */
    struct machine *machines;
    int64_t *made_at;
    size_t count, capacity;
    struct str uid;
    uint64_t epoch; /* 0: not held */
    struct str holder;
    bool is_released;
    bool has_no_lease; /* the lease object was deleted; instances and uid stay */
    unsigned restarts; /* how often the holder renews its lease before a take-over succeeds */
    /* ---- what a test can set ---- */
    enum outcome next[FAKE_VERB_COUNT]; /* of the next call only; OUTCOME_DONE: no change */
    enum outcome always[FAKE_VERB_COUNT];
    bool acts_anyway;              /* a call that is answered as unknown takes effect */
    bool is_mute[FAKE_VERB_COUNT]; /* takes effect and is never answered */
    int64_t delay_ms[FAKE_VERB_COUNT];
    int64_t lease_until; /* the answer of find(), in seconds since 1970; 0: not known */
    const char *refused; /* the instance whose termination is refused, alone or with others */
    const struct provider_resource *things; /* what remove() reports */
    size_t thing_count;
    bool hides_lease;     /* a refused renewal does not say by whom */
    bool has_lapsed;      /* the provider cannot be sure any more that it holds the lease */
    bool is_blind;        /* listings show nothing yet */
    const char *zones[4]; /* of every type, up to the first NULL */
    struct provider_type_facts type_facts[FAKE_TYPES_MAX];
    const struct finding *findings; /* of every completed preflight */
    size_t finding_count;
    int64_t boot_ms; /* until an instance runs; 0: at once */
    unsigned counts[FAKE_VERB_COUNT];
};

void fake_cloud_init(struct fake_cloud *cloud);
void fake_cloud_clear(struct fake_cloud *cloud);
size_t fake_cloud_living(const struct fake_cloud *cloud);
struct machine *fake_cloud_find(struct fake_cloud *cloud, const char *id);
/* Adds a running instance; `uid` NULL: of another launcher. */
struct machine *fake_cloud_add(struct fake_cloud *cloud, const char *uid, const char *kind,
                               const char *launch);

/* The view of one process. Close it with its own close(). */
struct provider *fake_provider_new(struct fake_cloud *cloud, struct loop *loop);
