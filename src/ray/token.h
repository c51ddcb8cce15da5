/*
 * token.h: the authentication token of a Ray cluster, on the head.
 *
 * The head's own setup would create it minutes later, after the user's commands. Workers need it
 * before that, so the service creates it if it is first.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

enum { RAY_TOKEN_BYTES_MAX = 4096 };

/* Does nothing if it exists. `path` is where Ray looks; creates its parent folders. */
bool ray_token_make(const char *path, struct err *err) MUST_USE;

/* Without surrounding blanks. ERR_NOT_FOUND: missing or still empty. */
bool ray_token_read(const char *path, struct buf *out, struct err *err) MUST_USE;
