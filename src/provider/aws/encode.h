/* encode.h: bytes as text the way AWS wants them in URLs, forms and headers. */
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
void encode_base64(struct buf *out, struct str bytes);                /* with padding, one line */
