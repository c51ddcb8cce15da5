/*
 * survey_wish.h: what a cluster file wants of AWS, read once from its parameters, with Ray's
 * meaning of each key. Pure.
 *
 * What a launch template sets counts where the file is silent. Network interfaces say where their
 * subnets and groups are, as in Ray. A bare SubnetId counts as a list of one; Ray ignores it.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* Each text once, in the order of the file. */
struct wish_texts {
    struct str *items;
    size_t count;
    size_t capacity;
};

/* One of BlockDeviceMappings. */
struct wish_disk {
    struct str device;
    int64_t gib; /* 0: the file does not say */
};

struct wish_type {
    struct str name;
    struct str path;    /* "available_node_types.NAME.node_config" */
    struct str machine; /* empty: a launch template may say it */
    struct str image;   /* as it stands in the file */
    struct wish_texts subnets;
    const char *subnets_key;
    struct wish_texts groups;
    const char *groups_key;
    const struct wish_disk *disks;
    size_t disk_count;
    struct str key;     /* KeyName */
    struct str profile; /* ARN or name of the instance profile */
    bool is_head;
    bool is_spot;
    bool has_user_data;
    bool has_template;
    bool is_blind; /* what its launch template sets is not known */
    bool has_template_interfaces;
    struct str template;     /* its name or id */
    const struct param *own; /* the file's node_config */
    bool asks_public;        /* its first interface asks for a public address by itself */
};

struct survey_wish {
    struct str region; /* empty: the file does not say */
    struct wish_texts zones;
    bool uses_private;      /* provider.use_internal_ips */
    bool has_keys;          /* credentials stand in the file */
    struct str key_pair;    /* provider.key_pair.key_name */
    struct str private_key; /* auth.ssh_private_key */
    struct wish_type *types;
    size_t type_count;
    struct wish_texts machines; /* of all types together */
    struct wish_texts images;   /* those that the file names */
    struct wish_texts groups;
    struct wish_texts profiles; /* by name */
};

/*
 * Texts are shared with the parameters. `templates` has what the launch template of each type sets,
 * NULL where that is not known or there is none; NULL alone: nothing is known.
 */
void survey_wish_read(const struct provider_cluster *cluster, const struct param *const *templates,
                      struct arena *arena, struct survey_wish *ret_wish);

/* "arn:aws:iam::1:instance-profile/path/name" is "name"; a name is itself. */
struct str survey_profile_name(struct str profile);
