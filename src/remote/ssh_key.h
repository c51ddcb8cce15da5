/*
 * ssh_key.h: ed25519 key pairs in OpenSSH's formats.
 *
 * A pair is derived from a 32-byte seed. The values that OpenSSH picks at random in the private
 * format are derived from the key, so the same seed gives the same text, byte for byte.
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
    SSH_SECRET_BYTES_MIN = 32,    /* minimum length of a cluster's secret, the size of a seed */
    SSH_KEY_TEXT_BYTES_MAX = 2048 /* private key text with the longest comment */
};

struct ssh_key {
    uint8_t seed[SSH_SEED_BYTES]; /* secret: this is the private key */
    uint8_t public[SSH_PUBLIC_BYTES];
};

bool ssh_key_from_seed(const uint8_t seed[SSH_SEED_BYTES], struct ssh_key *ret_key,
                       struct err *err) MUST_USE;

bool ssh_key_random(struct ssh_key *ret_key, struct err *err) MUST_USE;

/*
 * The host key that the machines of one launch get at first boot. It is derived from the cluster's
 * secret and the launch number: a launch repeated after a crash is the same request byte for byte,
 * as its idempotency token requires, and no key has to be stored. Without the secret neither this
 * key nor that of another launch can be computed.
 */
bool ssh_key_of_launch(struct str cluster_secret, uint64_t launch, struct ssh_key *ret_key,
                       struct err *err) MUST_USE;

/* Erases the secret from memory. */
void ssh_key_wipe(struct ssh_key *key);

/* The private key in OpenSSH's file format, not encrypted. `comment` may be empty. */
void ssh_key_add_private(struct buf *out, const struct ssh_key *key, struct str comment);

/* "ssh-ed25519 AAAA...", followed by the comment if it is not empty; no newline. */
void ssh_key_add_public(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES],
                        struct str comment);

/* "SHA256:...", as ssh and cloud-init print it. */
void ssh_key_add_fingerprint(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES]);
