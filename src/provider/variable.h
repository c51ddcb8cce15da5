/* variable.h: looks up an environment variable in a list, so that a test can provide its own. */
#pragma once

/* `env` has "NAME=value" strings and ends with NULL; it may be NULL. Returns NULL if the
 * variable is not set. An empty value is set. */
const char *variable_get(const char *const *env, const char *name);
