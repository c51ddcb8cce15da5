/* encode.h: encodes bytes as text: percent, hexadecimal, base64. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/*
 * Percent-encodes every byte except letters, digits, "-._~" and the characters in `safe`, which may
 * be empty. A blank becomes %20, never '+'.
 */
void encode_uri(struct buf *out, struct str text, const char *safe);

void encode_hex(struct buf *out, const uint8_t *bytes, size_t count); /* lower case */
/* The same into an array of 2 * count digits and a NUL. */
void encode_hex_to(char *ret_text, const uint8_t *bytes, size_t count);
void encode_base64(struct buf *out, struct str bytes); /* encodes with padding, in one line */

/* The same in lines of `line_len` characters, each with a newline, including the last. */
void encode_base64_lines(struct buf *out, struct str bytes, size_t line_len);

/* With or without padding; stops at the first invalid character. */
void decode_base64(struct buf *out, struct str text);
