/* secret.h: hiding what must not be shown, so that a printed configuration can be shared. */
#pragma once

#include "base/arena.h"
#include "config/document/value.h"

#define SECRET_MASK "********"

/*
 * A copy of a configuration with every secret replaced by SECRET_MASK: values under keys that name
 * one (password, token, aws_secret_access_key, ...), and the value part of NAME=value inside any
 * text (docker run options, set-up commands) when NAME names one.
 */
struct value *secret_mask(struct arena *arena, const struct value *config);
