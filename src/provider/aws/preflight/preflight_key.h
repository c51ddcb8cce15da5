/*
 * preflight_key.h: the public half of a private key, as EC2 lists it, to detect a key that does not
 * match before instances are launched.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { PREFLIGHT_KEY_BYTES_MAX = 64 * 1024 };

enum preflight_key {
    PREFLIGHT_KEY_READ,
    PREFLIGHT_KEY_LOCKED, /* encrypted with a passphrase: public half not readable */
    PREFLIGHT_KEY_UNREAD, /* not a private key of a type that EC2 supports (RSA, ed25519) */
};

/*
 * `text` is the file's content, in OpenSSH format or PEM. The result is the base64 part of the
 * public key ("AAAAC3Nz..."), in `arena`. Never asks for a passphrase.
 */
enum preflight_key preflight_key_public(struct str text, struct arena *arena, struct str *ret_half);

/* True if `half` belongs to the key "ssh-ed25519 AAAA... comment". */
bool preflight_key_fits(struct str public_key, struct str half);
