/*
 * aws_facts.h: what a survey has found out, in the form in which launches use it.
 *
 * Lives in an arena of the provider until the next survey. Nothing in here was made by us: what is
 * still missing is said by the `makes_` flags, and prepare() makes it.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_subnet {
    struct str id;
    struct str zone;
    struct str vpc;
    int64_t free_addresses;
    bool maps_public; /* machines get a public address */
};

struct aws_type_facts {
    struct str machine; /* the instance type */
    struct str arch;    /* "x86_64", "arm64"; empty: AWS did not say */
    struct str image;
    struct str image_from;  /* for people: "the file", "Ray's default", "/aws/service/..." */
    struct str root_device; /* of the image: "/dev/sda1" */
    const struct aws_subnet *subnets; /* usable ones, in the order in which they are tried */
    size_t subnet_count;
    const struct str *groups; /* ids that the file names */
    size_t group_count;
    bool makes_group;   /* the file names none: the cluster's own */
    struct str key;     /* the key pair that the file names */
    bool makes_key;     /* it names none */
    struct str profile; /* ARN or name of the instance profile that the file names */
    bool makes_profile; /* a head without one */
};

struct aws_facts {
    struct str account;
    struct str arn; /* of the caller */
    struct str region;
    struct str vpc;               /* that the subnets are in */
    bool uses_private;            /* provider.use_internal_ips */
    struct aws_type_facts *types; /* as in provider_cluster */
};
