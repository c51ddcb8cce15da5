/*
 * secret.h: hiding what must not be shown, so that a printed configuration can be shared.
 *
 * By name: there is no other way to tell a secret from any other text. What is looked for is
 * listed in secret.c; a secret in a place nobody would expect is not found.
 */
#pragma once

#include "base/arena.h"
#include "base/secret_text.h"
#include "config/document/value.h"

/*
 * A copy of a configuration with secrets replaced by SECRET_MASK: values under keys that name one
 * (password, token, aws_secret_access_key, ...), and inside any text those of NAME=value, of
 * options such as --password, of `login -p`, of URLs with a password, and of Bearer headers.
 */
struct value *secret_mask(struct arena *arena, const struct value *config);
