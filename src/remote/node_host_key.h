/*
 * node_host_key.h: replaces the host key from user-data at the first login.
 *
 * The first key is in the instance's user-data, where others may read it. The new one is generated
 * on the machine and announced before it is used: the client pins it in addition to the first and
 * confirms that in its request. Only then it is installed, so a broken link never locks the client
 * out.
 *
 *     ~/.shoal/host_key          the new key, until it is installed
 *     ~/.shoal/host_key_rotated  its public line, once it is installed
 *
 * SHOAL_HOST_KEY overrides /etc/ssh/ssh_host_ed25519_key, for tests.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/child.h"

#include <stdbool.h>

struct arena;

/* The public line of the new key; stays the same until the key is installed. Empty if the key was
 * replaced already or cannot be generated now. */
struct str node_host_key_next(struct arena *arena, const char *folder);

/* The public line of the installed key; empty if none was installed. */
struct str node_host_key_shown(struct arena *arena, const char *folder);

/* Installs the key in a child process, as root with `sudo -n`. Calls `done` once. */
typedef void node_host_key_fn(void *context, bool is_ok, struct str why);
void node_host_key_rotate(struct child_pool *pool, const char *folder, node_host_key_fn *done,
                          void *context);

/* The main function of that child process. Reads the private key followed by the public line from
 * standard input. Returns the exit status; errors go to standard error. */
int node_host_key_install(void);
