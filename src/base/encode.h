/* encode.h: bytes as text, for URLs, forms, headers and files: percent, hexadecimal, base64. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/*
 * Percent-encodes every byte but letters, digits, "-._~" and those of `safe`, which may be empty.
 * A blank becomes %20, never '+'.
 */
void encode_uri(struct buf *out, struct str text, const char *safe);

void encode_hex(struct buf *out, const uint8_t *bytes, size_t count); /* lower case */
/* The same into room for 2 * count digits and a zero byte. */
void encode_hex_to(char *ret_text, const uint8_t *bytes, size_t count);
void encode_base64(struct buf *out, struct str bytes); /* with padding, one line */

/* The same in lines of `line_len` letters, each with its end, the last one too. */
void encode_base64_lines(struct buf *out, struct str bytes, size_t line_len);

/* With or without its padding; the first letter that is none of base64's ends it. */
void decode_base64(struct buf *out, struct str text);
