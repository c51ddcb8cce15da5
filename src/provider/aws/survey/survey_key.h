/*
 * survey_key.h: the public half of a private key, as EC2 lists it, so that a key that would not
 * open the machines is noticed before there are any.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { SURVEY_KEY_BYTES_MAX = 64 * 1024 };

enum survey_key {
    SURVEY_KEY_READ,
    SURVEY_KEY_LOCKED, /* by a passphrase: its public half cannot be seen */
    SURVEY_KEY_UNREAD, /* not a private key of a kind that EC2 has (RSA, ed25519) */
};

/*
 * `text` is what the file holds, in OpenSSH's own form or in PEM. The half is the middle word of a
 * public key ("AAAAC3Nz..."), in `arena`. Never asks for a passphrase.
 */
enum survey_key survey_key_public(struct str text, struct arena *arena, struct str *ret_half);

/* Is this the half of the key "ssh-ed25519 AAAA... comment"? */
bool survey_key_fits(struct str public_key, struct str half);
