/*
 * redact.h: removes secrets from text for humans.
 *
 * Two methods together: registered values are found everywhere, also in base64 and with URL or JSON
 * escapes; and text that looks like a secret is masked without registration: access keys, private
 * keys, tokens of well-known vendors, and NAME=value and "name": "value" by the name. A secret that
 * was split before it gets here is not found.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

struct redact;

struct redact *redact_new(void);
void redact_free(struct redact *redact); /* erases the secrets */

/*
 * Masks this value from now on. Each long line of a multi-line value is also registered alone,
 * because logs are written by line. Values shorter than REDACT_BYTES_MIN are ignored: they would
 * mask half of every text and protect nothing.
 */
enum { REDACT_BYTES_MIN = 4 };
void redact_add(struct redact *redact, struct str secret);

/* Undoes one redact_add(), for example for an expired key. The value stays registered while it was
 * added more often than dropped. */
void redact_drop(struct redact *redact, struct str secret);

/* Appends the text to `out` with every secret replaced by asterisks. */
void redact_clean(const struct redact *redact, struct str text, struct buf *out);
