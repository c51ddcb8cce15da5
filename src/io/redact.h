/*
 * redact.h: secrets taken out of text that people will read.
 *
 * Two ways, together: values that were registered are found wherever they stand, also written in
 * base64, with URL or JSON escapes; and what looks like a secret is hidden unasked: access keys,
 * private keys, tokens of well-known makers, NAME=value and "name": "value" by the name. A secret
 * that was cut in pieces before it got here is not found.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

struct redact;

struct redact *redact_new(void);
void redact_free(struct redact *redact); /* wipes the secrets */

/*
 * From now on this value never passes. Of several lines each long one counts by itself, for logs
 * are written in lines. Values shorter than REDACT_BYTES_MIN are ignored: they would hide half of
 * every text and protect nothing.
 */
enum { REDACT_BYTES_MIN = 4 };
void redact_add(struct redact *redact, struct str secret);

/* A value that counts no more, such as a key that has ended, is not looked for any more, unless it
 * was added more often than this was called. */
void redact_drop(struct redact *redact, struct str secret);

/* Adds the text to `out` with every secret in it replaced by asterisks. */
void redact_clean(const struct redact *redact, struct str text, struct buf *out);
