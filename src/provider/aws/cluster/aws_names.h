/* aws_names.h: what the things are called that we make in an account. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define TAG_LEASE_UNTIL "shoal-lease-until" /* on the anchor */
#define ROLE_PATH "/shoal/"

/*
 * The launch template that anchors a cluster: one name for one cluster in an account and region. A
 * cluster's name with characters that AWS does not take there, or too long, is marked by its hash.
 */
struct str aws_anchor_name(struct str cluster, struct arena *arena);

/* "shoal-NAME-01234567" and a suffix: at most 64 characters. The uid makes it nobody else's. */
struct str aws_own_name(struct str cluster, struct str uid, const char *suffix,
                        struct arena *arena);
