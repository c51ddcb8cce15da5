/*
 * config.h: a cluster file, read, completed with defaults and typed: the public interface of this
 * folder.
 *
 * Everything is allocated in the arena given to config_load() and points into its tree. Settings
 * that do not depend on the provider are typed; those that only one provider reads (`provider` and
 * node_config) stay a tree.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"
#include "config/host.h"
#include "core/resource.h"

struct config_texts {
    const struct str *items;
    size_t count;
};

struct config_label {
    struct str name, value;
};

struct config_mount {
    struct str remote, local;
};

/* Container settings of a node. `image` empty: no container. */
struct config_docker {
    struct str image;
    struct str container_name;
    struct config_texts run_options;
    bool pull_before_run;
    bool use_podman;
    bool detect_runtime;
    bool detect_shm_size;
};

/* A node type, with all settings that apply to it resolved. */
struct config_node_type {
    struct str name;
    struct place place;
    bool is_head;
    const struct value *node_config;
    struct resource_set resources;
    const struct config_label *labels;
    size_t label_count;
    int64_t min_workers;
    int64_t max_workers;
    int64_t idle_timeout_ms;
    int64_t priority;
    struct config_docker docker;
    struct config_texts initialization_commands;
    struct config_texts setup_commands;
    struct config_texts start_commands;
    /* What applies to a worker of this type: the type itself, except for the head's type. */
    const struct config_node_type *as_worker;
};

/* Whose cluster it is. Filled in when it is known: app/cluster_folder.h. */
struct config_owner {
    struct str text; /* "account 123456789012"; empty: not known yet */
};

struct config {
    const struct value *tree; /* with defaults; printed by `shoal config` */
    struct str cluster_name;
    struct str provider_type;
    const struct value *provider;
    const struct value *auth;
    struct str ssh_user;
    struct str ssh_private_key;   /* empty: the cluster's own key */
    struct str ssh_proxy_command; /* may be empty */
    bool uses_sessions;           /* the head is reached through AWS Session Manager */
    int64_t max_workers;
    int64_t idle_timeout_ms;
    double upscaling_speed;
    const struct config_mount *mounts;
    size_t mount_count;
    struct config_texts cluster_synced_files;
    struct config_texts rsync_exclude;
    struct config_texts rsync_filter;
    const struct config_node_type *node_types;
    size_t node_type_count;
    size_t head_type;          /* index in node_types */
    const struct value *shoal; /* metadata.shoal, or NULL */
    struct config_owner *owner;
};

/* Own machines: they are taken and freed, not launched and terminated. */
static inline bool config_is_local(const struct config *config)
{
    return str_is(config->provider_type, "local");
}

/* The words of provider.command, a list of strings; NULL if the provider is not a plug-in. Ray's
 * provider.module has precedence: its class may have a key of that name. */
static inline const struct value *config_plugin(const struct config *config)
{
    const struct value *command = value_get_c(config->provider, "command");
    bool is_plugin = str_is(config->provider_type, "external") &&
                     !value_get_c(config->provider, "module") && value_is(command, VALUE_LIST);
    return is_plugin ? command : NULL;
}

/* A node provider class of Ray, behind an adapter in Python (app/ray_class.h). */
static inline bool config_is_ray_class(const struct config *config)
{
    return str_is(config->provider_type, "azure") || str_is(config->provider_type, "vsphere") ||
           (str_is(config->provider_type, "external") && value_get_c(config->provider, "module"));
}

/* Where in a node_config the class takes user data. Empty: nowhere. */
static inline struct str config_user_data_key(const struct config *config)
{
    return config_is_ray_class(config) ? value_text(value_get_c(config->shoal, "user_data_key"))
                                       : STR("UserData");
}

/* The host key of a new machine cannot be set, so the first one that it shows is trusted. */
static inline bool config_trusts_first_key(const struct config *config)
{
    return config_is_ray_class(config) && config_user_data_key(config).len == 0;
}

/*
 * Reads the file in `source` and fills in defaults. Findings go to `diags`; if they include an
 * error, Ray would reject the file, and the result is NULL.
 */
struct config *config_load(struct arena *arena, const struct source *source,
                           struct diag_list *diags) MUST_USE;

/*
 * Finds problems that would show only after launch: unknown types, missing files, keys that ssh
 * would refuse. Checks as much as possible even if config_load() found errors; pass the tree of
 * config_parse() for that.
 */
void config_check(const struct value *tree, const struct host *host, struct diag_list *diags);

/* The two halves of config_load(): the tree with defaults (NULL if there is none), then the
 * types. */
struct value *config_parse(struct arena *arena, const struct source *source,
                           struct diag_list *diags) MUST_USE;
struct config *config_type(struct arena *arena, const struct value *tree) MUST_USE;
