/*
 * ssh_key.h: ed25519 key pairs for ssh, in OpenSSH's own words.
 *
 * A pair follows from its 32-byte seed. What OpenSSH puts at random into the private form follows
 * from the key here, so that the same seed gives the same text, byte for byte.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SSH_SEED_BYTES = 32,
    SSH_PUBLIC_BYTES = 32,
    SSH_SECRET_BYTES_MIN = 32,    /* of a cluster's secret: as much as a seed */
    SSH_KEY_TEXT_BYTES_MAX = 2048 /* of a private key's text with the longest comment */
};

struct ssh_key {
    uint8_t seed[SSH_SEED_BYTES]; /* secret: it is the private key */
    uint8_t public[SSH_PUBLIC_BYTES];
};

bool ssh_key_from_seed(const uint8_t seed[SSH_SEED_BYTES], struct ssh_key *ret_key,
                       struct err *err) MUST_USE;

bool ssh_key_random(struct ssh_key *ret_key, struct err *err) MUST_USE;

/*
 * The host key that machines of one launch are given at their first boot. It follows from the
 * cluster's secret and the launch's number: a launch that is repeated after a crash is the same
 * request to the last byte, which its idempotency token demands, and nothing has to be stored.
 * Without the secret neither this key nor that of another launch can be found.
 */
bool ssh_key_of_launch(struct str cluster_secret, uint64_t launch, struct ssh_key *ret_key,
                       struct err *err) MUST_USE;

/* Takes the secret out of memory. */
void ssh_key_wipe(struct ssh_key *key);

/* The private key as OpenSSH's files have it, not encrypted. `comment` may be empty. */
void ssh_key_add_private(struct buf *out, const struct ssh_key *key, struct str comment);

/* "ssh-ed25519 AAAA...", and the comment if there is one; no line end. */
void ssh_key_add_public(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES],
                        struct str comment);

/* "SHA256:...", as ssh and cloud-init print it. */
void ssh_key_add_fingerprint(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES]);
