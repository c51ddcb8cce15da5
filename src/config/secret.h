/*
 * secret.h: masks secrets, so that a printed configuration can be shared.
 *
 * Secrets are recognized by name; secret.c lists the names. A secret in an unexpected place is not
 * found.
 */
#pragma once

#include "base/arena.h"
#include "base/secret_text.h"
#include "config/document/value.h"

/*
 * A copy of a configuration with secrets replaced by SECRET_MASK: values of keys that suggest one
 * (password, token, aws_secret_access_key, ...), and inside any text the values of NAME=value, of
 * options such as --password, of `login -p`, of URLs with a password, and of Bearer headers.
 */
struct value *secret_mask(struct arena *arena, const struct value *config);
