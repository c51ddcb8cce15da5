/* sha256.h: SHA-256 and HMAC-SHA-256. Their failure is a bug or a lack of memory, and aborts. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(struct str bytes, uint8_t ret_digest[SHA256_BYTES]);
void sha256_mac(struct str key, struct str text, uint8_t ret_mac[SHA256_BYTES]);

/* In constant time. */
bool sha256_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);

/* ---- in pieces ---- */

struct sha256_state;

struct sha256_state *sha256_begin(void);
void sha256_add(struct sha256_state *state, struct str bytes);
/* Frees the state. `ret_digest` may be NULL. */
void sha256_end(struct sha256_state *state, uint8_t ret_digest[SHA256_BYTES]);
