/*
 * token.h: the token by which the nodes of a Ray cluster know each other, on the head.
 *
 * The head's own set-up would make it, minutes later, after the user's commands. The workers need
 * it before, so the service makes it when it is the first to ask.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

enum { RAY_TOKEN_BYTES_MAX = 4096 };

/* What is there stays. `path` is where Ray looks; folders above it are made. */
bool ray_token_make(const char *path, struct err *err) MUST_USE;

/* Without blanks around it. ERR_NOT_FOUND: not there, or empty so far. */
bool ray_token_read(const char *path, struct buf *out, struct err *err) MUST_USE;
