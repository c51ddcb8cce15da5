/*
 * endpoint.h: where a service of AWS is reached for a region, and for which region and name its
 * requests are signed.
 *
 * A small table of partitions instead of AWS's list of every service in every region. Overrides by
 * the user come first, in botocore's order: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, the
 * [services] section of the profile, the profile's endpoint_url. FIPS and dual-stack endpoints are
 * found where the user wants them, and refused together with an override, as botocore does.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/login/profile.h"

#include <stdbool.h>

enum aws_service {
    AWS_EC2,
    AWS_STS,
    AWS_IAM,
    AWS_SSM,
    AWS_S3,
    AWS_PRICING,
    AWS_SSO,      /* single sign-on's portal */
    AWS_SSO_OIDC, /* its tokens */
    AWS_QUOTAS,   /* Service Quotas */
    AWS_SERVICE_COUNT
};

struct aws_endpoint {
    bool is_tls;
    struct str host;           /* with ":port" where it is not the usual one */
    struct str path;           /* before the service's own; no '/' at its end, often empty */
    struct str signing_region; /* where IAM is global, its home and not the caller's */
    struct str signing_name;
    bool is_override;
};

/* "ec2", "sts", ...: for messages. */
const char *aws_service_name(enum aws_service service);

/*
 * `profiles` may be NULL: no overrides. Fails for a region that cannot be a part of a host name,
 * for a service that the region's partition does not have, and for an override that is no URL.
 */
bool aws_endpoint_find(const struct aws_profiles *profiles, enum aws_service service,
                       struct str region, struct arena *arena, struct aws_endpoint *ret_endpoint,
                       struct err *err) MUST_USE;
