/* aws_names.h: names of the resources that we create in an account. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define TAG_LEASE_UNTIL "shoal-lease-until" /* tag of the lease object */
#define TAG_LEASE_ROLE "shoal-role" /* of the lease object; "none": the cluster made no role */
#define ROLE_PATH "/shoal/"

/*
 * The launch template that is the lease object of a cluster: unique for a cluster name in an
 * account and region. If the cluster's name is too long or has characters that AWS rejects, a hash
 * is appended.
 */
struct str aws_lease_name(struct str cluster, struct arena *arena);

/* "shoal-NAME-01234567" and a suffix: at most 64 characters. The part of the uid makes it
 * unique. */
struct str aws_own_name(struct str cluster, struct str uid, const char *suffix,
                        struct arena *arena);
