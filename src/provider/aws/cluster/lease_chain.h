/*
 * lease_chain.h: determines who holds a cluster's lease from the versions of its lease object.
 *
 * The lease object is a launch template from which nothing is launched. AWS numbers its versions 1,
 * 2, 3, ... and never reuses a number, but cannot create a version on the condition that another
 * one is the latest. So the description of a version names the version that its author saw as the
 * latest valid one, and a version is valid only if that was true when it was created: of all who
 * act on the same state the first one wins, and all readers agree on it. Validity is decided at
 * creation and never changes.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEASE_CLAIM_MAX = 255, LEASE_NONCE_LEN = 16 };

/* One version. */
struct lease_claim {
    uint64_t number;   /* version number, assigned by AWS */
    uint64_t base;     /* of the lease object: its epochs are base + number (lease_claim_epoch()) */
    uint64_t after;    /* the latest valid version seen by its author; 0: none */
    int64_t since;     /* seconds since 1970, on the servers' clock */
    int64_t until;     /* end of the first lease; renewals are in a tag */
    struct str nonce;  /* the author recognizes its claim by this nonce */
    struct str holder; /* for display */
    bool is_readable;  /* false: not written by us, never valid */
};

/*
 * The epoch of a claim. The base is 0 unless the lease object was recreated after a deletion: AWS
 * then numbers from 1 again, but epochs must keep increasing.
 */
static inline uint64_t lease_claim_epoch(const struct lease_claim *claim)
{
    return claim->base + claim->number;
}

/* The description of a version: at most LEASE_CLAIM_MAX bytes; a long holder is truncated. */
struct str lease_claim_write(const struct lease_claim *claim, struct arena *arena);
struct lease_claim lease_claim_read(uint64_t number, struct str description, struct arena *arena);

struct lease_chain {
    const struct lease_claim *last; /* latest valid claim; NULL: none */
    bool is_whole;                  /* no number is missing between base and highest */
    uint64_t highest;               /* highest number seen */
};

/*
 * Sorts the claims by number. `base`, the template's default version, is valid by definition, and
 * earlier ones are ignored: the default is moved to a settled claim before older ones are deleted,
 * so it does not matter which of them are deleted already.
 */
struct lease_chain lease_chain_walk(struct lease_claim *claims, size_t count, uint64_t base);

/* ---- expiry, in a tag of the lease object ---- */

/* "EPOCH UNTIL"; a tag with another epoch is ignored. */
struct str lease_tag_write(uint64_t epoch, int64_t until, struct arena *arena);

/* When the lease of `claim` expires: from the tag if it matches, otherwise from the claim. */
int64_t lease_tag_end(const struct lease_claim *claim, struct str tag);

/*
 * True if another process may take the lease now: LEASE_GRACE_S after its expiry, because a renewal
 * made in time may become visible late, and servers' clocks differ a little.
 */
enum { LEASE_GRACE_S = 10 };
bool lease_is_free(const struct lease_claim *claim, struct str tag, int64_t now);
