/*
 * preflight_request.h: the requirements of a cluster file on AWS, with Ray's meaning of each key.
 * Pure.
 *
 * Launch template settings apply where the file has none. As in Ray, network interfaces define
 * their own subnets and groups. A SubnetId outside of them is treated as a list of one; Ray ignores
 * it.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* Distinct strings, in file order. */
struct requested_texts {
    struct str *items;
    size_t count;
    size_t capacity;
};

/* One entry of BlockDeviceMappings. */
struct requested_disk {
    struct str device;
    int64_t gib;     /* 0: not set */
    struct str kind; /* "gp3"; empty: not set */
    bool is_extra;   /* more than its size costs money, or it is unknown what it is */
    bool is_free;    /* not a volume */
    bool is_encrypted;
    struct str key; /* KmsKeyId; may be empty */
};

struct requested_type {
    struct str name;
    struct str path;    /* "available_node_types.NAME.node_config" */
    struct str machine; /* empty: a launch template may set it */
    struct str image;   /* image as written in the file */
    struct requested_texts subnets;
    const char *subnets_key;
    struct requested_texts groups;
    const char *groups_key;
    const struct requested_disk *disks;
    size_t disk_count;
    struct str key;     /* KeyName */
    struct str profile; /* ARN or name of the instance profile */
    bool wants_disk; /* neither the file nor its launch template says anything of image or disks */
    bool is_head;
    bool is_spot;
    int64_t least, most; /* limits as in provider_type */
    bool is_persistent;  /* EC2 replaces its spot instance whenever it terminates */
    bool has_template;
    bool is_blind; /* the settings of its launch template are unknown */
    bool has_template_interfaces;
    struct str template;     /* template name or id */
    const struct param *own; /* the file's node_config */
    bool asks_public;        /* the first interface requests a public address itself */
};

struct preflight_request {
    struct str region; /* may be empty */
    struct requested_texts zones;
    bool uses_private; /* provider.use_internal_ips */
    bool has_keys;     /* credentials are in the file */
    bool has_head_policies;
    struct str key_pair;    /* provider.key_pair.key_name */
    struct str private_key; /* auth.ssh_private_key */
    struct requested_type *types;
    size_t type_count;
    struct requested_texts machines; /* instance types of all node types */
    struct requested_texts images;   /* named in the file */
    struct requested_texts groups;
    struct requested_texts profiles; /* by name */
};

/*
 * Strings are shared with the parameters. `templates` has the launch template settings of each
 * type, NULL if unknown or none; `templates` itself may be NULL.
 */
void preflight_request_read(const struct provider_cluster *cluster,
                            const struct param *const *templates, struct arena *arena,
                            struct preflight_request *ret_request);

/* "arn:aws:iam::1:instance-profile/path/name" gives "name"; a plain name is returned unchanged. */
struct str preflight_profile_name(struct str profile);
