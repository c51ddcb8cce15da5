/*
 * node_host_key.h: the key a machine was given at its first boot, replaced at the first login.
 *
 * The first key stands in the machine's user-data, where others may read it. The new one is made on
 * the machine and told before it is used: whoever logs in pins it beside the first, and only the
 * request that comes then says that it is pinned. So a link that breaks locks nobody out.
 *
 *     ~/.shoal/host_key          the new key, until it is in place
 *     ~/.shoal/host_key_rotated  it is
 *
 * SHOAL_HOST_KEY names another file than /etc/ssh/ssh_host_ed25519_key, for tests.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/child.h"

#include <stdbool.h>

struct arena;

/* The public line of the key to come, the same until it is in place; empty when nothing is to be
 * replaced, or it cannot be made now. */
struct str node_host_key_next(struct arena *arena, const char *folder);

/* Puts it in place, as root by `sudo -n`, in a process of its own. `done` is told once. */
typedef void node_host_key_fn(void *context, bool is_ok, struct str why);
void node_host_key_rotate(struct child_pool *pool, const char *folder, node_host_key_fn *done,
                          void *context);

/* That process: both halves of the key on standard input, the private one first. Returns its exit
 * status; why not goes to standard error. */
int node_host_key_install(void);
