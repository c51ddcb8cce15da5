/*
 * ec2_reply.h: reads EC2, IAM and SSM replies about the resources that instances need.
 *
 * Each reader takes all pages of one listing (aws_pages.h) and keeps the fields we use. A page of
 * another type, or an item without its name, is an error: partial listings are rejected. Everything
 * is copied to the arena; unknown values are kept unchanged.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/wire/xml_tree.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The roots of the pages, in order. */
struct ec2_pages {
    const struct xml_element *const *roots;
    size_t count;
};

/* ---- networks ---- */

struct ec2_subnet {
    struct str id;
    struct str zone;
    struct str vpc;
    struct str state;       /* "available" */
    int64_t free_addresses; /* INT64_MAX: unknown */
    bool maps_public;       /* instances get a public address */
    bool is_default;        /* made with the default VPC */
    struct str arn;
};

struct ec2_subnets {
    struct ec2_subnet *items;
    size_t count;
};
bool ec2_subnets_read(struct ec2_pages pages, struct arena *arena, struct ec2_subnets *ret_subnets,
                      struct err *err) MUST_USE;

struct ec2_group {
    struct str id;
    struct str name;
    struct str vpc;
};

struct ec2_groups {
    struct ec2_group *items;
    size_t count;
};
bool ec2_groups_read(struct ec2_pages pages, struct arena *arena, struct ec2_groups *ret_groups,
                     struct err *err) MUST_USE;

struct ec2_vpc {
    struct str id;
    struct str cidr;
    bool is_default;
};

struct ec2_vpcs {
    struct ec2_vpc *items;
    size_t count;
};
bool ec2_vpcs_read(struct ec2_pages pages, struct arena *arena, struct ec2_vpcs *ret_vpcs,
                   struct err *err) MUST_USE;

/* ---- instances ---- */

struct ec2_image {
    struct str id;
    struct str name;  /* may be empty */
    struct str state; /* "available" */
    struct str arch;  /* "x86_64", "arm64", "i386", ... */
    struct str root_device;
    struct str created_at; /* EC2's format; may be empty */
    int64_t root_gib;      /* 0: unknown */
    struct str root_kind;  /* "gp2"; may be empty */
    struct str disks;      /* the other volumes, "gp2 100 "; empty: none */
    bool is_windows;
};

struct ec2_images {
    struct ec2_image *items;
    size_t count;
};
bool ec2_images_read(struct ec2_pages pages, struct arena *arena, struct ec2_images *ret_images,
                     struct err *err) MUST_USE;

enum { EC2_ARCH_MAX = 4 };

struct ec2_type {
    struct str name;
    struct str archs[EC2_ARCH_MAX]; /* supported architectures; the rest is empty */
    int64_t vcpus;                  /* 0: unknown */
    int64_t memory_mib;             /* 0: unknown */
    int64_t gpus;
    bool has_spot;
};

struct ec2_types {
    struct ec2_type *items;
    size_t count;
};
bool ec2_types_read(struct ec2_pages pages, struct arena *arena, struct ec2_types *ret_types,
                    struct err *err) MUST_USE;

/* A type is offered in a zone or a region, depending on the request. */
struct ec2_offering {
    struct str type;
    struct str location;
};

struct ec2_offerings {
    struct ec2_offering *items;
    size_t count;
};
bool ec2_offerings_read(struct ec2_pages pages, struct arena *arena,
                        struct ec2_offerings *ret_offerings, struct err *err) MUST_USE;

/*
 * The settings of a launch template version, with boto3's names: only the parts that a preflight
 * uses, and the template's id. From DescribeLaunchTemplateVersions with exactly one version.
 */
bool ec2_template_read(struct ec2_pages pages, struct arena *arena, struct param **ret_data,
                       struct err *err) MUST_USE;

/* ---- access ---- */

struct ec2_key {
    struct str name;
    struct str id;
    struct str fingerprint;
    struct str public_key; /* "ssh-ed25519 AAAA..."; empty: unknown */
};

struct ec2_keys {
    struct ec2_key *items;
    size_t count;
};
bool ec2_keys_read(struct ec2_pages pages, struct arena *arena, struct ec2_keys *ret_keys,
                   struct err *err) MUST_USE;

struct iam_profile {
    struct str name;
    struct str arn;
    struct str role; /* role name; empty: none */
};

/* From GetInstanceProfile. */
bool iam_profile_read(const struct xml_element *root, struct arena *arena,
                      struct iam_profile *ret_profile, struct err *err) MUST_USE;

/* From GetServiceQuota: the limit, rounded down. */
bool quota_limit_read(struct str json, int64_t *ret_limit, struct err *err) MUST_USE;

enum { SSM_BYTES_MAX = 64 * 1024 };

/* From GetParameter: visible ASCII, in `arena`. */
bool ssm_parameter_read(struct str json, struct arena *arena, struct str *ret_value,
                        struct err *err) MUST_USE;
