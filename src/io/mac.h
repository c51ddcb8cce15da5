/* mac.h: message authentication codes: proves that the other side knows a secret. */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

enum { MAC_TEXT_SIZE = 65 }; /* 64 hexadecimal digits and a NUL */

/* HMAC-SHA256 of `text`. */
void mac_sha256(struct str key, struct str text, char ret_mac[MAC_TEXT_SIZE]);

/* 32 random bytes, as text. Aborts if the system has no randomness. */
void mac_random(char ret_text[MAC_TEXT_SIZE]);

/* Takes the same time wherever the texts differ. */
bool mac_is_equal(struct str a, struct str b) MUST_USE;
