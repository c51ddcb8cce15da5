/*
 * aws_facts.h: the results of a preflight, in the form that launches use.
 *
 * Allocated in an arena of the provider and valid until the next preflight. Everything here exists
 * already; the `makes_` flags say what prepare() still has to create.
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
    bool maps_public; /* assigns public addresses */
    struct str arn;   /* with the account of its owner, who may share it; may be empty */
};

struct aws_type_facts {
    struct str machine; /* instance type */
    struct str arch;    /* "x86_64", "arm64"; empty: unknown */
    struct str image;
    struct str image_name;  /* may be empty */
    struct str image_from;  /* for display: "the file", "Ray's default", "/aws/service/..." */
    struct str root_device; /* root device of the image: "/dev/sda1" */
    int64_t root_gib;       /* size of the root disk; 0: the file or the image decides */
    const struct aws_subnet *subnets; /* usable ones, in the order of use */
    size_t subnet_count;
    const struct str *groups; /* ids from the file */
    size_t group_count;
    bool makes_group;     /* none in the file: create the cluster's own */
    struct str key;       /* key pair from the file */
    bool makes_key;       /* none in the file: create one */
    struct str profile;   /* ARN or name of the instance profile from the file */
    bool makes_profile;   /* a head without a profile: create one */
    struct str disks;     /* as in struct provider_type_facts */
    struct str template;  /* id of the launch template from the file; empty: none or unknown */
    struct str user_data; /* of that template, not encoded */
    const struct param *metadata; /* MetadataOptions of that template; may be NULL */
};

struct aws_facts {
    struct str account;
    struct str arn; /* ARN of the caller */
    struct str region;
    struct str vpc;    /* VPC of the subnets */
    bool uses_private; /* provider.use_internal_ips */
    enum {
        SPOT_ROLE_FINE, /* there, or not needed */
        SPOT_ROLE_MISSING,
        SPOT_ROLE_UNKNOWN,
    } spot_role;                 /* the account's role for spot instances */
    const struct str *disk_keys; /* customers' KMS keys of the volumes */
    size_t disk_key_count;
    struct aws_type_facts *types; /* same order as in provider_cluster */
};
