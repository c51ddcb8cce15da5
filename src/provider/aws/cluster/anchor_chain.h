/*
 * anchor_chain.h: who holds a cluster, read from the versions of its anchor.
 *
 * The anchor is a launch template that nothing is launched from. AWS numbers its versions 1, 2, 3,
 * ... and gives no number twice, but cannot make a version only if another one is the last. So a
 * version says in its description which version its maker took for the last that counts, and a
 * version counts only if that is true: of all who act on the same sight the first one wins, and all
 * readers agree on who that is. What counts is decided when a version is made and never changes.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANCHOR_CLAIM_MAX = 255, ANCHOR_NONCE_LEN = 16 };

/* One version. */
struct anchor_claim {
    uint64_t number;   /* AWS's */
    uint64_t after;    /* the last version that counts, as its maker saw it; 0: none */
    int64_t since;     /* seconds since 1970, by the server's clock */
    int64_t until;     /* of the first lease; renewed ones stand in a tag */
    struct str nonce;  /* by which its maker knows it again */
    struct str holder; /* for people */
    bool is_readable;  /* false: not written by us; never counts */
};

/* The description of a version: at most ANCHOR_CLAIM_MAX bytes; a long holder is cut. */
struct str anchor_claim_write(const struct anchor_claim *claim, struct arena *arena);
struct anchor_claim anchor_claim_read(uint64_t number, struct str description, struct arena *arena);

struct anchor_chain {
    const struct anchor_claim *last; /* that counts; NULL: none */
    bool is_whole;                   /* no number is missing from the base to the highest */
    uint64_t highest;                /* number of all that were seen */
};

/*
 * Sorts the claims by number. `base`, the template's default version, counts by itself and those
 * before it do not matter: it is moved to a claim that is settled before older ones are deleted, so
 * that it does not matter either which of them are gone already.
 */
struct anchor_chain anchor_chain_walk(struct anchor_claim *claims, size_t count, uint64_t base);

/* ---- the lease's end, in a tag of the anchor ---- */

/* "EPOCH UNTIL"; one of another epoch says nothing about this one. */
struct str anchor_lease_write(uint64_t epoch, int64_t until, struct arena *arena);

/* When the lease of `claim` ends: what the tag says, else what the claim said. */
int64_t anchor_lease_end(const struct anchor_claim *claim, struct str tag);

/*
 * May somebody else take it now? Only when it ended ANCHOR_GRACE_S ago: a renewal that was made in
 * time may become visible late, and servers' clocks differ a little.
 */
enum { ANCHOR_GRACE_S = 10 };
bool anchor_is_free(const struct anchor_claim *claim, struct str tag, int64_t now);
