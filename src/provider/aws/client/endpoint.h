/*
 * endpoint.h: the endpoint of an AWS service in a region, and its signing region and name.
 *
 * Uses a small table of partitions instead of AWS's list of every service in every region. User
 * overrides come first, in botocore's order: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, the
 * [services] section of the profile, the profile's endpoint_url. FIPS and dual-stack endpoints are
 * used if the user wants them, and rejected together with an override, as in botocore.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/config/profile.h"

#include <stdbool.h>

enum aws_service {
    AWS_EC2,
    AWS_STS,
    AWS_IAM,
    AWS_SSM,
    AWS_S3,
    AWS_PRICING,
    AWS_SSO,      /* single sign-on portal */
    AWS_SSO_OIDC, /* single sign-on tokens */
    AWS_QUOTAS,   /* Service Quotas */
    AWS_SERVICE_COUNT
};

struct aws_endpoint {
    bool is_tls;
    struct str host;           /* with ":port" unless it is the default */
    struct str path;           /* prefix of the service's path; no trailing '/', often empty */
    struct str signing_region; /* for global IAM its home region, not the caller's */
    struct str signing_name;
    bool is_override;
};

/* "aws", "aws-cn", "aws-us-gov", ...: the second part of ARNs in this region. */
const char *aws_partition(struct str region);

/* "ec2.amazonaws.com" or, in China, "ec2.amazonaws.com.cn": EC2 in policies. */
const char *aws_ec2_principal(struct str region);

/* "ec2", "sts", ...: for messages. */
const char *aws_service_name(enum aws_service service);

/*
 * `profiles` may be NULL: no overrides. Fails for a region that cannot be part of a host name, for
 * a service that the region's partition does not have, and for an override that is not a URL.
 */
bool aws_endpoint_find(const struct aws_profiles *profiles, enum aws_service service,
                       struct str region, struct arena *arena, struct aws_endpoint *ret_endpoint,
                       struct err *err) MUST_USE;
