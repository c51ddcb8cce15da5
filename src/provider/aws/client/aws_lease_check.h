/*
 * aws_lease_check.h: sends calls that create something only while we certainly hold the lease.
 *
 * This is the only place that decides it, for every try: before a call gets its connection, and
 * again when it is connected, directly before the first byte is sent. A machine that was suspended
 * before that creates nothing. Two clocks must agree: the loop's, which includes suspended time and
 * cannot be set, and AWS's.
 */
#pragma once

#include "base/str.h"
#include "provider/aws/client/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

struct aws_client;

enum { AWS_LEASE_MARGIN_MS = 3000 }; /* network latency, and Date's resolution of one second */

struct aws_lease {
    int64_t ends_ms;  /* end of the lease on the loop's clock; 0: not held */
    int64_t until_ms; /* ms since 1970, on the servers' clock */
};

/* True if this action creates a resource of a cluster. `body` is the request body: a dry run
 * creates nothing. Cluster resources belong to EC2 and IAM; what other services create, such as a
 * single sign-on token, belongs to this process. The lease object itself and tags are not covered:
 * they decide who holds the lease. */
bool aws_lease_covers(enum aws_service service, const char *action, struct str body);

/* NULL: the lease was lost or released. */
void aws_client_set_lease(struct aws_client *client, const struct aws_lease *lease);
/* True if the lease is certainly ours, including the margin. */
bool aws_client_has_lease(const struct aws_client *client);
